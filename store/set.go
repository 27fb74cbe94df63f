package store

import (
	"math/bits"
	"slices"
)

// A set's slots are kept in blocks of 4,096, the unit in which sets are combined and copied.
const (
	blockBits  = 12
	blockSlots = 1 << blockBits
	blockWords = blockSlots / 64
)

// words is a block as one bit per slot.
type words [blockWords]uint64

// A set changes its form as it grows, and back well below that size, so that one at the border does not flap.
const (
	fewMax  = 256               // in one sorted list, whatever the blocks
	listMax = blockSlots/16 - 1 // in a block's sorted list: beyond that, words are no bigger
)

// set is a set of slots. The zero value is empty. One that a snapshot can reach never changes: see own.
type set struct {
	owner  uint64
	n      int
	few    []uint32 // all slots, ascending, if blocks is nil
	blocks []*block // by slot >> blockBits; nil: no slot of that block
}

type block struct {
	owner uint64
	n     int
	list  []uint16 // offsets in the block, ascending, if words is nil
	words *words
}

// own returns s if it carries gen already, and else a copy that does.
func (s *set) own(gen uint64) *set {
	if s.owner == gen {
		return s
	}
	return &set{owner: gen, n: s.n, few: withRoom(s.few), blocks: slices.Clone(s.blocks)}
}

// ownBlock is own for block i.
func (s *set) ownBlock(i int) *block {
	for i >= len(s.blocks) {
		s.blocks = append(s.blocks, nil)
	}
	b := s.blocks[i]
	if b == nil {
		b = &block{owner: s.owner}
	} else if b.owner != s.owner {
		b = &block{owner: s.owner, n: b.n, list: withRoom(b.list), words: b.words}
		if b.words != nil {
			w := *b.words
			b.words = &w
		}
	}
	s.blocks[i] = b
	return b
}

// withRoom clones list, with room for a few more: append would double it.
func withRoom[E any](list []E) []E {
	if list == nil {
		return nil
	}
	return append(make([]E, 0, len(list)+len(list)/4+2), list...)
}

// add adds a slot that is not in s. The caller owns s.
func (s *set) add(slot uint32) {
	if s.n++; s.blocks == nil {
		if s.n <= fewMax {
			s.few = insert(s.few, slot)
			return
		}
		for _, x := range s.few {
			s.ownBlock(int(x >> blockBits)).add(uint16(x & (blockSlots - 1)))
		}
		s.few = nil
	}
	s.ownBlock(int(slot >> blockBits)).add(uint16(slot & (blockSlots - 1)))
}

// remove removes a slot that is in s. The caller owns s.
func (s *set) remove(slot uint32) {
	if s.n--; s.blocks == nil {
		s.few = cut(s.few, slot)
		return
	}
	i := int(slot >> blockBits)
	b := s.ownBlock(i)
	if b.remove(uint16(slot & (blockSlots - 1))); b.n == 0 {
		s.blocks[i] = nil
	}
	if s.n <= fewMax/4 {
		s.few, s.blocks = s.appendTo(make([]uint32, 0, s.n+2)), nil
	}
}

func (b *block) add(x uint16) {
	if b.n++; b.words == nil {
		if b.n <= listMax {
			b.list = insert(b.list, x)
			return
		}
		b.words = new(words)
		for _, x := range b.list {
			b.words[x>>6] |= 1 << (x & 63)
		}
		b.list = nil
	}
	if b.words[x>>6]>>(x&63)&1 != 0 {
		panic("BUG: store: slot added to a set it is in")
	}
	b.words[x>>6] |= 1 << (x & 63)
}

func (b *block) remove(x uint16) {
	if b.n--; b.words == nil {
		b.list = cut(b.list, x)
		return
	}
	if b.words[x>>6]>>(x&63)&1 == 0 {
		panic("BUG: store: slot removed from a set it is not in")
	}
	if b.words[x>>6] &^= 1 << (x & 63); b.n <= listMax/2 {
		list := make([]uint16, 0, b.n+2)
		for i, w := range b.words {
			for ; w != 0; w &= w - 1 {
				list = append(list, uint16(i<<6|bits.TrailingZeros64(w)))
			}
		}
		b.list, b.words = list, nil
	}
}

func insert[E uint16 | uint32](list []E, x E) []E {
	i := len(list)
	if i > 0 && list[i-1] >= x {
		var found bool
		if i, found = slices.BinarySearch(list, x); found {
			panic("BUG: store: slot added to a set it is in")
		}
	}
	if len(list) == cap(list) {
		list = withRoom(list)
		if list == nil {
			list = make([]E, 0, 2)
		}
	}
	return slices.Insert(list, i, x)
}

func cut[E uint16 | uint32](list []E, x E) []E {
	i, found := slices.BinarySearch(list, x)
	if !found {
		panic("BUG: store: slot removed from a set it is not in")
	}
	return slices.Delete(list, i, i+1)
}

func (s *set) has(slot uint32) bool {
	if s.blocks == nil {
		_, found := slices.BinarySearch(s.few, slot)
		return found
	}
	x := uint16(slot & (blockSlots - 1))
	switch b := s.block(int(slot >> blockBits)); {
	case b == nil:
		return false
	case b.words != nil:
		return b.words[x>>6]>>(x&63)&1 != 0
	default:
		_, found := slices.BinarySearch(b.list, x)
		return found
	}
}

// block returns block i, nil if it is empty. s has blocks.
func (s *set) block(i int) *block {
	if i >= len(s.blocks) {
		return nil
	}
	return s.blocks[i]
}

// appendTo appends all slots, in ascending order.
func (s *set) appendTo(to []uint32) []uint32 {
	var buf [runSlots]uint32
	for at := 0; ; {
		run := posting{set: s}.run(&at, &buf)
		if len(run) == 0 {
			return to
		}
		to = append(to, run...)
	}
}

// from returns the first block not before i that has slots of s, or -1.
func (s *set) from(i int) int {
	if s.blocks == nil {
		lo, _ := slices.BinarySearch(s.few, uint32(i)<<blockBits)
		if lo == len(s.few) {
			return -1
		}
		return int(s.few[lo] >> blockBits)
	}
	for ; i < len(s.blocks); i++ {
		if s.blocks[i] != nil {
			return i
		}
	}
	return -1
}

// appendBits appends the numbers of x's bits, counted from base.
func appendBits(to []uint32, base uint32, x uint64) []uint32 {
	for ; x != 0; x &= x - 1 {
		to = append(to, base|uint32(bits.TrailingZeros64(x)))
	}
	return to
}
