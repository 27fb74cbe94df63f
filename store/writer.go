package store

import (
	"slices"
	"sync"
)

// Writer is the writing side of a [Store]. Safe for concurrent use: commits follow one another.
type Writer[T any] struct {
	s    *Store[T]
	same func(prev, next T) bool
	refs refs[T]

	// mu serializes transactions. It is held while Same and index functions run: they must not call the writer, and may
	// read the store. Taken before Store.mu.
	mu sync.Mutex

	// The newest version. The writer reads it under mu, and changes what snapshots take over under Store.mu too.
	objects  table[ref]
	indexes  []*indexing[T]
	orders   []*ordering[T]
	under    columns // of the indexes; the writer's alone
	version  uint64
	revision string

	stamps  uint64 // the last one given out, from aside on
	made    uint64 // what carries this stamp, of the objects, can be changed in place
	indexed uint64 // so can all of the indexes and orders with this one

	touched uint64  // see touch
	plan    plan[T] // scratch, empty between transactions
}

// Change is what a commit did to one key. Old is set if HadOld, New if HasNew; never neither.
type Change[T any] struct {
	Key            string
	Old, New       T
	HadOld, HasNew bool
}

// Commit applies b as one version, empties it, and returns the changes in the order of b's operations: one for each put that
// is not [Batch].Older, one for each delete of a key that was there. The slice is b's: valid until its next use, or Reset.
func (w *Writer[T]) Commit(b *Batch[T]) []Change[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.forget()
	w.plan.start(b.changes)
	defer w.plan.reset()
	w.planOpsLocked(b)
	w.applyLocked(b.Revision, false)
	b.changes = w.plan.changes
	b.empty()
	return b.changes
}

// Store is the reading side of what w writes.
func (w *Writer[T]) Store() *Store[T] { return w.s }

// RemoveIndex drops the index from the snapshots taken from now on, and its failures with it. Of an index that is not
// there: nothing.
func (w *Writer[T]) RemoveIndex(ix *Index[T]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.indexes, func(x *indexing[T]) bool { return x.ix == ix })
	if i < 0 {
		return
	}
	w.under.drop(w.indexes[i].col)
	w.restructureLocked(func() { w.indexes = slices.Concat(w.indexes[:i], w.indexes[i+1:]) })
}

func (w *Writer[T]) addIndex(ix *Index[T]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := newIndexing(ix, &w.under)
	x.fill(w.objects.cur, w.refs, stamp{aside, aside})
	w.restructureLocked(func() { w.indexes = append(slices.Clone(w.indexes), x) })
}

// restructureLocked makes a change to what a version consists of that is not a commit.
func (w *Writer[T]) restructureLocked(change func()) {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.latest.Store(nil)
	change()
}

// aside is the stamp of what is built before anybody knows of it. It is copied when it is first changed after that.
const aside = 1

// stampLocked returns a number that nothing carries. The caller holds Store.mu too, or has had the newest version frozen.
func (w *Writer[T]) stampLocked() uint64 {
	w.stamps++
	return w.stamps
}

// freezeLocked makes the newest version a snapshot: what carries the old stamps is copied from now on before it is changed.
// The caller holds Store.mu.
func (w *Writer[T]) freezeLocked() *Snapshot[T] {
	w.made, w.indexed = w.stampLocked(), w.stampLocked()
	s := &Snapshot[T]{objects: w.objects.cur, refs: w.refs, n: w.objects.n, version: w.version, revision: w.revision}
	if len(w.indexes) > 0 {
		s.indexes = make([]indexView[T], len(w.indexes))
		for i, x := range w.indexes {
			s.indexes[i] = x.view()
		}
	}
	if len(w.orders) > 0 {
		s.orders = make([]orderView[T], len(w.orders))
		for i, x := range w.orders {
			s.orders[i] = x.view()
		}
	}
	return s
}
