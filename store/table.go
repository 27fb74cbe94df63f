package store

import (
	"iter"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// A slot is a number: chunk, page in the chunk, cell in the page.
const (
	pageBits  = 4
	pageCells = 1 << pageBits
	chunkBits = 6
	chunkLen  = 1 << chunkBits
	slotBits  = pageBits + chunkBits // of a slot in its chunk
)

// cell keeps key and value side by side, on one cache line mostly. The bytes of a page's keys in one block, instead of a string
// each, would save 13 bytes per object and a tenth of a look-up; but listing a namespace then takes half as long again or twice as
// long, because an object's value and its key's length are on different lines (bench's ListNamespace).
type cell[V any] struct {
	key string
	val V
}

// page holds 16 neighbouring slots. Readers of the newest version may see the writer change it: a value, by the table's
// set; never a key once it has its value. A cell that is not live has the zero value.
type page[V any] [pageCells]cell[V]

// chunk holds 64 neighbouring pages. Readers of the newest version may see the writer put another page in.
type chunk[V any] struct {
	owner uint64
	owned uint64                            // a bit per page that was made since owner was given out
	live  [chunkLen]uint16                  // a bit per cell; for the writer, and in snapshots
	pages [chunkLen]atomic.Pointer[page[V]] // nil: no live cell
}

// split takes a slot apart: the page in its chunk, the cell in its page.
func split(slot uint32) (page, cell uint32) {
	return slot >> pageBits & (chunkLen - 1), slot & (pageCells - 1)
}

// content is one version of a table: values under string keys, each in a slot. The struct and its list never change once
// others can reach it.
type content[V any] struct {
	owner  uint64
	of     unsafe.Pointer // see ref
	hints  *hints
	chunks []*chunk[V]
}

// lookup returns the cell of a slot, or nil if it is not live. For the writer, and in snapshots.
func (c *content[V]) lookup(slot uint32) *cell[V] {
	i := int(slot >> slotBits)
	if i >= len(c.chunks) {
		return nil
	}
	j, k := split(slot)
	if ch := c.chunks[i]; ch.live[j]>>k&1 != 0 {
		return &ch.pages[j].Load()[k]
	}
	return nil
}

// at returns the cell of a slot known to be live.
func (c *content[V]) at(slot uint32) *cell[V] {
	j, k := split(slot)
	return &c.chunks[slot>>slotBits].pages[j].Load()[k]
}

// find returns where key is, or a nil cell. For the writer, and in snapshots.
func (c *content[V]) find(hash uint32, key string) (slot uint32, at *cell[V]) {
	h := c.hints
	for i := h.start(hash); ; {
		e := h.entries[i].Load()
		if e == 0 {
			return 0, nil
		}
		if uint32(e>>hintHash) == hash {
			slot := uint32(e) - 1
			if at := c.lookup(slot); at != nil && at.key == key {
				return slot, at
			}
		}
		if i++; i == len(h.entries) {
			i = 0
		}
	}
}

// all iterates in order of slots.
func (c *content[V]) all() iter.Seq2[uint32, *cell[V]] {
	return func(yield func(uint32, *cell[V]) bool) {
		for i, ch := range c.chunks {
			for j, m := range &ch.live {
				if m == 0 {
					continue
				}
				p := ch.pages[j].Load()
				base := uint32(i<<slotBits | j<<pageBits)
				for ; m != 0; m &= m - 1 {
					k := bits.TrailingZeros16(m)
					if !yield(base+uint32(k), &p[k]) {
						return
					}
				}
			}
		}
	}
}

// mapped returns a version beside c in which f was applied to all values.
func (c *content[V]) mapped(f func(V) V) *content[V] {
	next := &content[V]{owner: aside, hints: c.hints, chunks: make([]*chunk[V], len(c.chunks))}
	for i, ch := range c.chunks {
		own := &chunk[V]{owner: aside, live: ch.live}
		for j, m := range &ch.live {
			if m == 0 {
				continue
			}
			from, to := ch.pages[j].Load(), new(page[V])
			for ; m != 0; m &= m - 1 {
				k := bits.TrailingZeros16(m)
				to[k] = cell[V]{from[k].key, f(from[k].val)}
			}
			own.pages[j].Store(to)
		}
		next.chunks[i] = own
	}
	return next
}

// stamp says what a change may do in place: that which carries the same number. Numbers are never used twice.
type stamp struct {
	made uint64 // pages and chunks that no snapshot can reach
	list uint64 // lists of chunks that nobody else can reach at all
}

// table is the writer's hand on the newest version of a content.
type table[V any] struct {
	cur   *content[V]
	n     int
	slots slots
	set   func(at *V, val V) // changes a value that others may be reading
}

func newTable[V any](set func(at *V, val V)) table[V] {
	return table[V]{cur: &content[V]{hints: newHints(0)}, set: set}
}

// setAlone is for tables that nobody reads but in snapshots.
func setAlone[V any](at *V, val V) { *at = val }

// insert adds a key that is absent.
func (t *table[V]) insert(hash uint32, key string, val V, st stamp) (slot uint32) {
	slot = t.slots.take()
	if t.cur.hints.full() {
		t.renewHints(st)
	}
	t.cur.hints.add(hash, slot)
	t.n++
	ch, p := t.ownPage(slot, st)
	j, k := split(slot)
	if was := p[k].key; was != key {
		if was != "" { // left by remove, and perhaps being read
			p = t.copyPage(ch, j)
		}
		p[k].key = key
	}
	t.set(&p[k].val, val)
	ch.live[j] |= 1 << k
	return slot
}

// update changes the value in a live slot.
func (t *table[V]) update(slot uint32, val V, st stamp) {
	_, p := t.ownPage(slot, st)
	t.set(&p[slot&(pageCells-1)].val, val)
}

func (t *table[V]) remove(hash, slot uint32, st stamp) {
	t.cur.hints.ghost(hash, slot)
	ch, p := t.ownPage(slot, st)
	j, k := split(slot)
	t.set(&p[k].val, *new(V))
	if ch.live[j] &^= 1 << k; ch.live[j] == 0 {
		ch.pages[j].Store(nil)
		ch.owned &^= 1 << j
	} else if p[k].key == "" { // else insert clears it: a reader may be looking at it
		t.copyPage(ch, j)
	}
	t.slots.give(slot)
	if t.n--; len(t.cur.hints.entries) > 64*minHints && t.n*16 < len(t.cur.hints.entries) {
		t.renewHints(st)
	}
}

// ownPage returns the page of a slot, and its chunk, both the writer's own.
func (t *table[V]) ownPage(slot uint32, st stamp) (*chunk[V], *page[V]) {
	ch := t.ownChunk(int(slot>>slotBits), st)
	j, _ := split(slot)
	if ch.owned>>j&1 != 0 {
		return ch, ch.pages[j].Load()
	}
	return ch, t.copyPage(ch, j)
}

// copyPage puts a copy of page j, with its live cells only, in its place in a chunk that is the writer's own.
func (t *table[V]) copyPage(ch *chunk[V], j uint32) *page[V] {
	next := new(page[V])
	if p := ch.pages[j].Load(); p != nil {
		*next = *p
		for m := ^ch.live[j]; m != 0; m &= m - 1 {
			next[bits.TrailingZeros16(m)] = cell[V]{}
		}
	}
	ch.pages[j].Store(next)
	ch.owned |= 1 << j
	return next
}

func (t *table[V]) ownChunk(i int, st stamp) *chunk[V] {
	if i < len(t.cur.chunks) && t.cur.chunks[i].owner == st.made {
		return t.cur.chunks[i]
	}
	own := t.ownList(st, max(i+1, len(t.cur.chunks)))
	next := &chunk[V]{owner: st.made}
	if old := own.chunks[i]; old != nil {
		next.live = old.live
		copyPointers(&next.pages, &old.pages)
	}
	own.chunks[i] = next
	return next
}

// ownList makes the newest version's struct and list of chunks the writer's own, n chunks long.
func (t *table[V]) ownList(st stamp, n int) *content[V] {
	if t.cur.owner != st.list || n > cap(t.cur.chunks) {
		chunks := make([]*chunk[V], n, n+n/8)
		copy(chunks, t.cur.chunks)
		t.cur = &content[V]{owner: st.list, of: t.cur.of, hints: t.cur.hints, chunks: chunks}
	}
	t.cur.chunks = t.cur.chunks[:n]
	return t.cur
}

func (t *table[V]) renewHints(st stamp) {
	own := t.ownList(st, len(t.cur.chunks))
	own.hints = own.hints.renewed(t.n + 1)
}
