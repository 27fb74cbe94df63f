package feed

import (
	"hash/maphash"
	"time"
)

const (
	minPending = 8
	// keepPending is how much room is kept even if hardly any of it is in use.
	keepPending = 1024
)

var hashSeed = maphash.MakeSeed()

// pending is what waits under LatestState: one change per key, in the order of the first change that waits. The zero value
// is empty. Not safe for concurrent use.
//
// It is a queue and, to find a key in it, a hash table with linear probing, whose entries are never removed: one that leads
// to a slot that is not in use any more finds nothing there. Both are made anew when the queue has no room left; so the
// table is never more than half full. (A map and a linked list,
// made anew for each backlog, took 260 ns per change instead of 25: BenchmarkRound, batch=64.)
type pending[T any] struct {
	slots []slot[T] // oldest first; not in use: those before head, and those whose change was cancelled out
	head  int
	live  int     // slots in use
	table []int32 // by hash, the number of a slot plus one; 0: none. Twice as many as slots has room for.
}

// slot is one key's change. The zero slot is not in use.
type slot[T any] struct {
	change Change[T]
	first  Position      // of the first change merged into it
	at     time.Duration // when that one was appended
	hash   uint32        // of the key, not 0
}

// fold adds the change at pos.
func (p *pending[T]) fold(e *entry[T], pos Position) {
	hash := uint32(maphash.String(hashSeed, e.change.Key)) | 1<<31
	if s := p.find(e.change.Key, hash); s != nil {
		var ok bool
		if s.change, ok = Merge(s.change, e.change); !ok {
			p.drop(s)
		}
		return
	}
	if len(p.slots) == cap(p.slots) {
		p.makeRoom()
	}
	p.slots = append(p.slots, slot[T]{change: e.change, first: pos, at: e.at, hash: hash})
	p.live++
	p.enter(hash, len(p.slots))
}

// find returns the slot in use for key, nil if there is none.
func (p *pending[T]) find(key string, hash uint32) *slot[T] {
	if p.live == 0 {
		return nil
	}
	mask := uint32(len(p.table) - 1)
	for i := hash & mask; p.table[i] != 0; i = (i + 1) & mask {
		if s := &p.slots[p.table[i]-1]; s.hash == hash && s.change.Key == key {
			return s
		}
	}
	return nil
}

func (p *pending[T]) enter(hash uint32, number int) {
	mask := uint32(len(p.table) - 1)
	i := hash & mask
	for p.table[i] != 0 {
		i = (i + 1) & mask
	}
	p.table[i] = int32(number)
}

// makeRoom moves the slots in use together, into a queue of another size if they are more than half or hardly any of it.
func (p *pending[T]) makeRoom() {
	old, size := p.slots, cap(p.slots)
	switch {
	case 2*p.live >= size:
		size = max(minPending, 2*size)
	case 8*p.live < size && size > keepPending:
		size /= 2
	}
	if size == cap(old) {
		p.slots = old[:0]
		clear(p.table)
	} else {
		p.slots, p.table = make([]slot[T], 0, size), make([]int32, 2*size)
	}
	for i := p.head; i < len(old); i++ {
		if old[i].hash != 0 {
			p.slots = append(p.slots, old[i])
			p.enter(old[i].hash, len(p.slots))
		}
	}
	if size == cap(old) {
		clear(old[len(p.slots):])
	}
	p.head = 0
}

// oldest is the slot that waits longest; nil if none does.
func (p *pending[T]) oldest() *slot[T] {
	if p.live == 0 {
		return nil
	}
	for p.slots[p.head].hash == 0 {
		p.head++
	}
	return &p.slots[p.head]
}

// take moves changes that began to wait before until into dst, oldest first, and returns how many.
func (p *pending[T]) take(dst []Change[T], until Position) int {
	n := 0
	for ; n < len(dst); n++ {
		s := p.oldest()
		if s == nil || s.first >= until {
			break
		}
		dst[n] = s.change
		p.drop(s)
	}
	return n
}

func (p *pending[T]) drop(s *slot[T]) {
	*s = slot[T]{}
	p.live--
}
