package store

import (
	"hash/maphash"
	"sync/atomic"
)

// seed is one per process: a batch hashes its keys before it knows its store.
var seed = maphash.MakeSeed()

// hashBits is the width of a hash as kept in hints.
const hashBits = 31

func hashOf(key string) uint32 { return uint32(maphash.String(seed, key) >> (64 - hashBits)) }

// hints say in which slots a key may be found. They only say where to look: a slot's page decides what is there, so one
// set of hints serves every version made while it lasts. Entries are added in place, beside readers that take no lock;
// none is ever taken away or moved, because an older version may need it. An entry the newest version needs no
// more is a ghost, and is left behind when the writer outgrows the hints and makes new ones.
//
// It holds no pointers (the garbage collector skips it) and costs 10 to 16 bytes per key.
type hints struct {
	entries []atomic.Uint64 // open addressing, linear probing; see the constants
	used    int             // entries taken, ghosts too
	ghosts  int
}

// An entry: the hash, the ghost bit, the number plus one. 0 is an empty entry.
const (
	hintHash  = 64 - hashBits
	hintGhost = 1 << 32
)

const minHints = 16

func newHints(n int) *hints {
	return &hints{entries: make([]atomic.Uint64, max(minHints, 2*n))}
}

func (h *hints) start(hash uint32) int {
	return int(uint64(hash) * uint64(len(h.entries)) >> hashBits)
}

// full says that add needs room first: above 4/5, probes get long.
func (h *hints) full() bool { return h.used*5 >= len(h.entries)*4 }

// add notes that a key with this hash may be at number. The caller has seen to it that h is not full.
func (h *hints) add(hash, number uint32) {
	want := uint64(hash)<<hintHash | (uint64(number) + 1)
	for i := h.start(hash); ; {
		switch h.entries[i].Load() {
		case 0:
			h.used++
			h.entries[i].Store(want)
			return
		case want | hintGhost:
			h.ghosts--
			h.entries[i].Store(want)
			return
		case want: // another key with the same hash left it there
			return
		}
		if i++; i == len(h.entries) {
			i = 0
		}
	}
}

// ghost marks an entry as needed by older versions only.
func (h *hints) ghost(hash, number uint32) {
	want := uint64(hash)<<hintHash | (uint64(number) + 1)
	for i := h.start(hash); ; {
		switch h.entries[i].Load() {
		case want:
			h.ghosts++
			h.entries[i].Store(want | hintGhost)
			return
		case 0:
			panic("BUG: store: no hint for a stored key")
		}
		if i++; i == len(h.entries) {
			i = 0
		}
	}
}

// renewed returns hints with room for n keys, without the ghosts.
func (h *hints) renewed(n int) *hints {
	next := newHints(n)
	for i := range h.entries {
		if e := h.entries[i].Load(); e != 0 && e&hintGhost == 0 {
			next.add(uint32(e>>hintHash), uint32(e)-1)
		}
	}
	return next
}

// first and next walk the numbers that a key with this hash may be at. They return a position for next, and false at the
// end.
func (h *hints) first(hash uint32) (number uint32, pos int, ok bool) {
	return h.from(hash, h.start(hash))
}

func (h *hints) next(hash uint32, pos int) (number uint32, at int, ok bool) {
	if pos++; pos == len(h.entries) {
		pos = 0
	}
	return h.from(hash, pos)
}

func (h *hints) from(hash uint32, i int) (number uint32, pos int, ok bool) {
	for {
		e := h.entries[i].Load()
		if e == 0 {
			return 0, i, false
		}
		if uint32(e>>hintHash) == hash {
			return uint32(e) - 1, i, true
		}
		if i++; i == len(h.entries) {
			i = 0
		}
	}
}

// reset empties h, which nobody else reads.
func (h *hints) reset() {
	if h.used > 0 {
		clear(h.entries)
		h.used, h.ghosts = 0, 0
	}
}
