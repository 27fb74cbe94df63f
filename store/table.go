package store

import (
	"iter"
	"math/bits"
	"sync/atomic"
)

// A slot is a number: chunk, page in the chunk, cell in the page.
const (
	pageBits  = 4
	pageCells = 1 << pageBits
	chunkBits = 6
	chunkLen  = 1 << chunkBits
	slotBits  = pageBits + chunkBits // slots of a chunk
)

type cell[V any] struct {
	key string
	val V
}

// page holds 16 neighbouring slots. A page that anybody else can reach never changes.
type page[V any] struct {
	owner uint64
	live  uint16 // a bit per cell in use; other cells are zero
	cells [pageCells]cell[V]
}

// chunk is a step of the way to a page. Readers of the newest version may see the writer put another page in.
type chunk[V any] struct {
	owner uint64
	pages [chunkLen]atomic.Pointer[page[V]]
}

// content is one version of a table: values under string keys, each in a slot. The struct never changes once others can
// reach it; its chunks and hints may, in the newest version (see table).
type content[V any] struct {
	owner  uint64
	hints  *hints
	chunks []*chunk[V]
}

// lookup returns the cell in use at slot, or nil.
func (c *content[V]) lookup(slot uint32) *cell[V] {
	i := int(slot >> slotBits)
	if i >= len(c.chunks) {
		return nil
	}
	p := c.chunks[i].pages[slot>>pageBits&(chunkLen-1)].Load()
	if p == nil || p.live>>(slot&(pageCells-1))&1 == 0 {
		return nil
	}
	return &p.cells[slot&(pageCells-1)]
}

// at returns the cell at a slot known to be in use.
func (c *content[V]) at(slot uint32) *cell[V] {
	return &c.chunks[slot>>slotBits].pages[slot>>pageBits&(chunkLen-1)].Load().cells[slot&(pageCells-1)]
}

// find returns where key is, or a nil cell.
func (c *content[V]) find(hash uint32, key string) (slot uint32, at *cell[V]) {
	for slot, pos, ok := c.hints.first(hash); ok; slot, pos, ok = c.hints.next(hash, pos) {
		if at := c.lookup(slot); at != nil && at.key == key {
			return slot, at
		}
	}
	return 0, nil
}

// all iterates in order of slots.
func (c *content[V]) all() iter.Seq2[uint32, *cell[V]] {
	return func(yield func(uint32, *cell[V]) bool) {
		for i, ch := range c.chunks {
			for j := range ch.pages {
				p := ch.pages[j].Load()
				if p == nil {
					continue
				}
				base := uint32(i<<slotBits | j<<pageBits)
				for m := p.live; m != 0; m &= m - 1 {
					k := bits.TrailingZeros16(m)
					if !yield(base+uint32(k), &p.cells[k]) {
						return
					}
				}
			}
		}
	}
}

// stamp says what a change may do in place: that which carries the same number. Numbers are never used twice.
type stamp struct {
	chunks uint64 // chunks made since the last snapshot
	pages  uint64 // pages and directories that nobody else can reach yet
}

// table is the writer's hand on the newest version of a content.
type table[V any] struct {
	cur   *content[V]
	n     int
	slots slots
}

func newTable[V any]() table[V] {
	return table[V]{cur: &content[V]{hints: newHints(0)}}
}

// insert adds a key that is absent.
func (t *table[V]) insert(hash uint32, key string, val V, st stamp) (slot uint32) {
	slot = t.slots.take()
	if t.cur.hints.full() {
		t.renewHints(st)
	}
	t.cur.hints.add(hash, slot)
	t.n++
	t.put(slot, cell[V]{key, val}, true, st)
	return slot
}

// update changes the value in a slot that is in use.
func (t *table[V]) update(slot uint32, val V, st stamp) {
	t.put(slot, cell[V]{t.cur.at(slot).key, val}, true, st)
}

func (t *table[V]) remove(hash, slot uint32, st stamp) {
	t.cur.hints.ghost(hash, slot)
	t.put(slot, cell[V]{}, false, st)
	t.slots.give(slot)
	if t.n--; len(t.cur.hints.entries) > 64*minHints && t.n*16 < len(t.cur.hints.entries) {
		t.renewHints(st)
	}
}

func (t *table[V]) renewHints(st stamp) {
	own := t.ownDirectory(st, len(t.cur.chunks))
	own.hints = own.hints.renewed(t.n + 1)
}

func (t *table[V]) put(slot uint32, c cell[V], live bool, st stamp) {
	at := &t.ownChunk(int(slot>>slotBits), st).pages[slot>>pageBits&(chunkLen-1)]
	old := at.Load()
	p := old
	if p == nil || p.owner != st.pages {
		p = new(page[V])
		if old != nil {
			*p = *old
		}
		p.owner = st.pages
	}
	p.cells[slot&(pageCells-1)] = c
	bit := uint16(1) << (slot & (pageCells - 1))
	if live {
		p.live |= bit
	} else if p.live &^= bit; p.live == 0 {
		p = nil
	}
	if p != old {
		at.Store(p)
	}
}

func (t *table[V]) ownChunk(i int, st stamp) *chunk[V] {
	if i < len(t.cur.chunks) && t.cur.chunks[i].owner == st.chunks {
		return t.cur.chunks[i]
	}
	own := t.ownDirectory(st, max(i+1, len(t.cur.chunks)))
	next := &chunk[V]{owner: st.chunks}
	if old := own.chunks[i]; old != nil {
		for j := range old.pages {
			if p := old.pages[j].Load(); p != nil {
				next.pages[j].Store(p)
			}
		}
	}
	own.chunks[i] = next
	return next
}

// ownDirectory makes the newest version's struct and list of chunks the writer's own, n chunks long.
func (t *table[V]) ownDirectory(st stamp, n int) *content[V] {
	if t.cur.owner != st.pages || n > cap(t.cur.chunks) {
		chunks := make([]*chunk[V], n, n+n/8)
		copy(chunks, t.cur.chunks)
		t.cur = &content[V]{owner: st.pages, hints: t.cur.hints, chunks: chunks}
	}
	t.cur.chunks = t.cur.chunks[:n]
	return t.cur
}
