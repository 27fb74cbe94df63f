package store

import "slices"

// posting is what an index keeps under a value: the slots of the objects that have it, never none. Most values of many
// indexes (by UID, by address) belong to one object, which needs no set.
type posting struct {
	one uint32 // the slot, if set is nil
	set *set
}

func (p posting) len() int {
	if p.set == nil {
		return 1
	}
	return p.set.n
}

// fewIn returns the slots in block i of a posting without blocks.
func (p posting) fewIn(i int, buf *[1]uint32) []uint32 {
	if p.set == nil {
		if buf[0] = p.one; int(p.one>>blockBits) != i {
			return nil
		}
		return buf[:]
	}
	few := p.set.few
	lo, _ := slices.BinarySearch(few, uint32(i)<<blockBits)
	hi := lo
	for hi < len(few) && int(few[hi]>>blockBits) == i {
		hi++
	}
	return few[lo:hi]
}

func (p posting) from(i int) int {
	if p.set != nil {
		return p.set.from(i)
	}
	if int(p.one>>blockBits) >= i {
		return int(p.one >> blockBits)
	}
	return -1
}

func (p posting) has(slot uint32) bool {
	if p.set == nil {
		return p.one == slot
	}
	return p.set.has(slot)
}

// runSlots is the most that run returns at once, other than a whole short set.
const (
	runWords = 4
	runSlots = runWords * 64
	runsPer  = blockWords / runWords // per block
)

// run returns the next slots in ascending order, none at the end. at starts as 0 and is run's to change; buf is room that
// run may return.
func (p posting) run(at *int, buf *[runSlots]uint32) []uint32 {
	if p.set == nil || p.set.blocks == nil {
		if *at++; *at > 1 {
			return nil
		}
		if p.set != nil {
			return p.set.few
		}
		return append(buf[:0], p.one)
	}
	for i := *at / runsPer; i < len(p.set.blocks); i = *at / runsPer {
		b := p.set.blocks[i]
		switch {
		case b == nil:
			*at = (i + 1) * runsPer
		case b.words == nil:
			*at = (i + 1) * runsPer
			run := buf[:len(b.list)]
			for j, x := range b.list {
				run[j] = uint32(i<<blockBits) | uint32(x)
			}
			return run
		default:
			lo := *at % runsPer * runWords
			*at++
			run := buf[:0]
			for j, x := range b.words[lo : lo+runWords] {
				run = appendBits(run, uint32(i<<blockBits|(lo+j)<<6), x)
			}
			if len(run) > 0 {
				return run
			}
		}
	}
	return nil
}
