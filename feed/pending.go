package feed

import "time"

// keepPending is how many slots an empty pending keeps for the next changes.
const keepPending = 64

// pending is what waits under LatestState: one change per key, in the order of the first change that waits. The zero value
// is empty. Not safe for concurrent use.
type pending[T any] struct {
	index map[string]int32 // key -> its slot
	slots []slot[T]        // slots[0] is the ring's anchor; its next is the oldest, its prev the newest
	free  int32            // first unused slot, linked by next; 0: none
}

// slot is one key's change. Slots that wait form a ring by their numbers.
type slot[T any] struct {
	change     Change[T]
	first      Position      // of the first change merged into it
	at         time.Duration // when that one was appended
	prev, next int32
}

func (p *pending[T]) len() int { return len(p.index) }

// fold adds the change at pos.
func (p *pending[T]) fold(e *entry[T], pos Position) {
	if i, ok := p.index[e.change.Key]; ok {
		s := &p.slots[i]
		if s.change, ok = Merge(s.change, e.change); !ok {
			p.remove(i, e.change.Key)
		}
		return
	}
	if p.index == nil {
		p.index = make(map[string]int32)
		p.slots = make([]slot[T], 1, minSegment)
	}
	i := p.free
	if i != 0 {
		p.free = p.slots[i].next
	} else {
		i = int32(len(p.slots))
		p.slots = append(p.slots, slot[T]{})
	}
	newest := p.slots[0].prev
	p.slots[i] = slot[T]{change: e.change, first: pos, at: e.at, prev: newest}
	p.slots[newest].next = i
	p.slots[0].prev = i
	p.index[e.change.Key] = i
}

// oldest is the slot that waits longest; nil if none does.
func (p *pending[T]) oldest() *slot[T] {
	if len(p.index) == 0 {
		return nil
	}
	return &p.slots[p.slots[0].next]
}

// take moves changes that began to wait before until into dst, oldest first, and returns how many.
func (p *pending[T]) take(dst []Change[T], until Position) int {
	n := 0
	for n < len(dst) {
		s := p.oldest()
		if s == nil || s.first >= until {
			break
		}
		dst[n] = s.change
		p.remove(p.slots[0].next, s.change.Key)
		n++
	}
	return n
}

func (p *pending[T]) remove(i int32, key string) {
	s := &p.slots[i]
	p.slots[s.prev].next = s.next
	p.slots[s.next].prev = s.prev
	*s = slot[T]{next: p.free}
	p.free = i
	delete(p.index, key)
	if len(p.index) == 0 && len(p.slots) > keepPending {
		*p = pending[T]{}
	}
}
