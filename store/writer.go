package store

import (
	"maps"
	"sync"
	"time"
)

// Writer is the writing side of a [Store]. Safe for concurrent use: commits follow one another.
type Writer[T any] struct {
	s       *Store[T]
	same    func(prev, next T) bool
	mu      sync.Mutex // serializes transactions, guards the fields below
	indexes []*Index[T]
	failed  map[*Index[T]]map[string]Failure
}

// Change is what a commit did to one key. Old is set if HadOld, New if HasNew; never neither.
type Change[T any] struct {
	Key            string
	Old, New       T
	HadOld, HasNew bool
}

type op[T any] struct {
	key string
	obj T
	del bool
}

// Batch gathers what one transaction does. The zero value is empty and ready; reuse it to save allocations.
// Not safe for concurrent use. A later operation on a key overrides an earlier one of the same batch.
type Batch[T any] struct {
	// Revision becomes the store's revision; "" keeps the one it has.
	Revision string
	ops      []op[T]
	at       map[string]int
}

func (b *Batch[T]) add(o op[T]) {
	if b.at == nil {
		b.at = map[string]int{}
	}
	if i, ok := b.at[o.key]; ok {
		b.ops = append(b.ops[:i], b.ops[i+1:]...)
		for k, j := range b.at {
			if j > i {
				b.at[k] = j - 1
			}
		}
	}
	b.at[o.key] = len(b.ops)
	b.ops = append(b.ops, o)
}

// Put stores obj under key.
func (b *Batch[T]) Put(key string, obj T) { b.add(op[T]{key: key, obj: obj}) }

// Delete removes key. Of an absent key: no change.
func (b *Batch[T]) Delete(key string) { b.add(op[T]{key: key, del: true}) }

// Len is the number of keys the batch touches.
func (b *Batch[T]) Len() int { return len(b.ops) }

// Commit applies b as one version, empties it, and returns the changes in the order of b's operations (none for an
// object that is the Same and none for a delete of an absent key). The slice is b's: valid until its next use.
func (w *Writer[T]) Commit(b *Batch[T]) []Change[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	ch := w.applyLocked(b.ops, b.Revision)
	*b = Batch[T]{}
	return ch
}

func (w *Writer[T]) applyLocked(ops []op[T], revision string) []Change[T] {
	cur := w.s.Snapshot()
	next := &Snapshot[T]{objs: maps.Clone(cur.objs), version: cur.version + 1, revision: cur.revision}
	if revision != "" {
		next.revision = revision
	}
	var changes []Change[T]
	for _, o := range ops {
		old, had := next.objs[o.key]
		if o.del {
			if had {
				delete(next.objs, o.key)
				changes = append(changes, Change[T]{Key: o.key, Old: old, HadOld: true})
			}
		} else if !had || w.same == nil || !w.same(old, o.obj) {
			next.objs[o.key] = o.obj
			changes = append(changes, Change[T]{Key: o.key, Old: old, HadOld: had, New: o.obj, HasNew: true})
		}
	}
	for _, c := range changes {
		for _, ix := range w.indexes {
			w.noteLocked(ix, c.Key, c.New, c.HasNew)
		}
	}
	w.publishLocked(next)
	return changes
}

func (w *Writer[T]) noteLocked(ix *Index[T], key string, obj T, has bool) {
	prev, had := w.failed[ix][key]
	delete(w.failed[ix], key)
	if !has {
		return
	}
	if _, err := ix.call(obj); err != nil {
		f := Failure{Index: ix.name, Key: key, Err: err, Since: time.Now()}
		if had {
			f.Since = prev.Since
		}
		w.failed[ix][key] = f
	}
}

func (w *Writer[T]) publishLocked(next *Snapshot[T]) {
	var fails []Failure
	for _, ix := range w.indexes {
		for _, f := range w.failed[ix] {
			fails = append(fails, f)
		}
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.s.cur, w.s.fails = next, fails
}

// Replace starts a replacement of the whole content, built beside it: nothing is visible before Commit.
// Dropping it without Commit leaves the store as it was.
func (w *Writer[T]) Replace() *Replacement[T] { return &Replacement[T]{w: w} }

// Replacement is the next content in the making. Not safe for concurrent use.
type Replacement[T any] struct {
	w *Writer[T]
	b Batch[T]
}

// Put adds an object. Where the store already holds the Same, that one is kept and obj is not retained.
func (r *Replacement[T]) Put(key string, obj T) { r.b.Put(key, obj) }

// Len is the number of keys put so far.
func (r *Replacement[T]) Len() int { return r.b.Len() }

// Commit makes the replacement the store's content as one version and returns the changes: deletions of what is no
// longer there, then additions and updates in the order of Put. The slice is the caller's.
func (r *Replacement[T]) Commit(revision string) []Change[T] {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	var ops []op[T]
	for k := range r.w.s.Snapshot().All() {
		if _, ok := r.b.at[k]; !ok {
			ops = append(ops, op[T]{key: k, del: true})
		}
	}
	return r.w.applyLocked(append(ops, r.b.ops...), revision)
}
