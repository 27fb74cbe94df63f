package ownwrites

import (
	"container/heap"
	"time"

	"github.com/informerkit/informerkit/internal/versions"
)

// Options configures a [Table].
type Options struct {
	// Max is how many writes there is room for. The table tells when it is over ([Table.Full], [Table.Crowd]); whether a
	// write is refused then, or another one evicted ([Table.Evict]), is the driver's choice.
	Max int
	// TTL is for how long a write is held at most, from when it was put. With one, a deletion that the store has seen is
	// remembered for as long, against writes that are told late; of these, no more than Max are. 0: a write is held until the
	// store has seen it, and so is a deletion.
	TTL time.Duration
}

// Table holds the writes that a store has not seen: of each key the newest. Not safe for concurrent use; what it returns is a
// copy that can be read when the table has moved on.
type Table[T any] struct {
	opts    Options
	now     time.Time
	ids     uint64
	entries map[string]*entry[T]
	order   [kinds]order[T]
	indexes map[Index[T]]indexed[T]
}

type entry[T any] struct {
	Write[T]
	index int           // in the order of its kind; -1: the store has passed its version
	over  chan struct{} // closed when it is out of the table; nil: nobody waits
}

// NewTable makes an empty table.
func NewTable[T any](opts Options) *Table[T] {
	return &Table[T]{opts: opts, entries: map[string]*entry[T]{}, indexes: map[Index[T]]indexed[T]{}}
}

// Tick tells a table with a TTL the time; it drops what has been held for that long.
func (t *Table[T]) Tick(now time.Time) {
	t.now = now
	for k := range t.order {
		for o := &t.order[k]; len(*o) > 0 && !(*o)[0].until.After(now); {
			t.drop((*o)[0])
		}
	}
}

// Put holds w in the place of an earlier write of its key. It does nothing if a later one is held, or the deletion of that
// object.
func (t *Table[T]) Put(w Write[T]) {
	if former, ok := t.entries[w.Key]; ok {
		if w.yields(&former.Write) {
			return
		}
		w.known = w.known || former.known && former.uid == w.uid
		t.drop(former)
	}
	t.ids++
	w.id = t.ids
	t.enter(&entry[T]{Write: w})
}

func (t *Table[T]) enter(e *entry[T]) {
	if t.opts.TTL > 0 && e.Kind != Evicted { // an evicted one has been told before
		e.until = t.now.Add(t.opts.TTL)
	}
	t.entries[e.Key] = e
	heap.Push(&t.order[e.Kind], e)
	for ix, in := range t.indexes {
		in.add(ix, e)
	}
	for seen := &t.order[Deletion]; t.opts.TTL > 0 && len(*seen) > t.opts.Max; {
		t.drop((*seen)[0])
	}
}

// leave takes e out of its order and the indexes.
func (t *Table[T]) leave(e *entry[T]) {
	if e.index >= 0 {
		heap.Remove(&t.order[e.Kind], e.index)
	}
	for _, in := range t.indexes {
		in.remove(e)
	}
}

func (t *Table[T]) drop(e *entry[T]) {
	t.leave(e)
	delete(t.entries, e.Key)
	if e.over != nil {
		close(e.over)
	}
}

// become makes of e a write without its object.
func (t *Table[T]) become(e *entry[T], k Kind) {
	t.leave(e)
	e.giveUp(k)
	t.enter(e)
}

// settle does what e's standing asks for.
func (t *Table[T]) settle(e *entry[T], s Standing) {
	switch {
	case s.Unseen():
	case t.opts.TTL == 0 || s == Settled && e.Kind != Deletion:
		t.drop(e)
	case e.Kind != Deletion:
		t.become(e, Deletion)
	}
}

// Saw tells what the store has under w's key, as in [Write.Against], and returns how w stands against it. A later write of
// that key, which has come since w was read, is none the wiser.
func (t *Table[T]) Saw(w Write[T], current T, exists bool, revision string) Standing {
	s := w.Against(current, exists, revision)
	if e, ok := t.entries[w.Key]; ok && e.id == w.id {
		e.known = e.known || w.known
		t.settle(e, s)
	}
	return s
}

// Reached tells that the store has seen everything up to resource version revision; current says what it has under a key.
func (t *Table[T]) Reached(revision string, current func(key string) (T, bool)) {
	for k := range t.order {
		for o := &t.order[k]; len(*o) > 0 && !versions.Older(revision, (*o)[0].Version); {
			e := heap.Pop(o).(*entry[T])
			obj, exists := current(e.Key)
			t.settle(e, e.Against(obj, exists, revision))
		}
	}
}

// Clear drops everything.
func (t *Table[T]) Clear() {
	for _, e := range t.entries {
		t.drop(e)
	}
}

// Full reports that a write of key would be one too many.
func (t *Table[T]) Full(key string) bool {
	_, ok := t.entries[key]
	return !ok && len(t.entries) >= t.opts.Max
}

// Crowd returns everything if there are more than Max objects, else nothing. It is time to look which of them the store has
// caught up with, and then to call [Table.Evict].
func (t *Table[T]) Crowd() map[string]Write[T] {
	if len(t.order[Held]) <= t.opts.Max {
		return nil
	}
	return t.All()
}

// Evict takes their objects from the oldest writes, down to Max. They are not forgotten.
func (t *Table[T]) Evict() {
	for len(t.order[Held]) > t.opts.Max {
		t.become(t.order[Held][0], Evicted)
	}
}

// Len is the number of writes and deletions.
func (t *Table[T]) Len() int { return len(t.entries) }

// Get returns the write of key.
func (t *Table[T]) Get(key string) (w Write[T], ok bool) {
	if e, ok := t.entries[key]; ok {
		return e.Write, true
	}
	return w, false
}

// All returns everything, by key.
func (t *Table[T]) All() map[string]Write[T] {
	all := make(map[string]Write[T], len(t.entries))
	for key, e := range t.entries {
		all[key] = e.Write
	}
	return all
}

// Over returns a channel that closes when the write of key that is held now is not any more; nil if there is none.
func (t *Table[T]) Over(key string) <-chan struct{} {
	e, ok := t.entries[key]
	if !ok {
		return nil
	}
	if e.over == nil {
		e.over = make(chan struct{})
	}
	return e.over
}

// order is a container/heap: what is over first comes first or, without a TTL, the lowest version.
type order[T any] []*entry[T]

func (o order[T]) Len() int { return len(o) }
func (o order[T]) Less(a, b int) bool {
	if !o[a].until.Equal(o[b].until) {
		return o[a].until.Before(o[b].until)
	}
	return versions.Older(o[a].Version, o[b].Version)
}

func (o order[T]) Swap(a, b int) {
	o[a], o[b] = o[b], o[a]
	o[a].index, o[b].index = a, b
}

func (o *order[T]) Push(x any) {
	e := x.(*entry[T])
	e.index = len(*o)
	*o = append(*o, e)
}

func (o *order[T]) Pop() any {
	last := len(*o) - 1
	e := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	e.index = -1
	return e
}
