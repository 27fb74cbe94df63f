package store

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// IndexFunc gives the values under which an object is found in an index: any number of them, repeats count once.
// It must be pure. One that returns an error, or panics, leaves the object stored but out of this index ([Failure]).
type IndexFunc[T any] interface {
	func(obj T) []string | func(obj T) ([]string, error)
}

// AddIndex adds an index, filled from what is stored, from the next version on. The name is for people ([Failure]); the
// index is the returned value, and names need not differ.
func AddIndex[T any, F IndexFunc[T]](w *Writer[T], name string, fn F) *Index[T] {
	ix := &Index[T]{name: name}
	switch fn := any(fn).(type) {
	case func(T) []string:
		ix.fn = func(obj T) ([]string, error) { return fn(obj), nil }
	case func(T) ([]string, error):
		ix.fn = fn
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.indexes = append(w.indexes, ix)
	w.failed[ix] = map[string]Failure{}
	cur := w.s.Snapshot()
	for k, obj := range cur.All() {
		w.noteLocked(ix, k, obj, true)
	}
	w.publishLocked(cur)
	return ix
}

// RemoveIndex drops the index from later versions. Snapshots taken before keep it.
func (w *Writer[T]) RemoveIndex(ix *Index[T]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.indexes = slices.DeleteFunc(w.indexes, func(x *Index[T]) bool { return x == ix })
	delete(w.failed, ix)
	w.publishLocked(w.s.Snapshot())
}

// Index finds the objects of a snapshot by a value. Snapshots that do not have it (taken before AddIndex or after
// RemoveIndex) are searched object by object: slow, and right.
type Index[T any] struct {
	name string
	fn   func(T) ([]string, error)
}

func (ix *Index[T]) call(obj T) (values []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			values, err = nil, fmt.Errorf("index %q: function panicked: %v", ix.name, r)
		}
	}()
	return ix.fn(obj)
}

// Name is the name given to [AddIndex].
func (ix *Index[T]) Name() string { return ix.name }

// Get iterates over the objects that have value.
func (ix *Index[T]) Get(s *Snapshot[T], value string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for k, obj := range s.All() {
			if vs, err := ix.call(obj); err == nil && slices.Contains(vs, value) && !yield(k, obj) {
				return
			}
		}
	}
}

// Count is the number of objects that have value.
func (ix *Index[T]) Count(s *Snapshot[T], value string) int {
	n := 0
	for range ix.Get(s, value) {
		n++
	}
	return n
}

// Values iterates over the values that at least one object has, each once.
func (ix *Index[T]) Values(s *Snapshot[T]) iter.Seq[string] {
	return func(yield func(string) bool) {
		seen := map[string]bool{}
		for _, obj := range s.All() {
			vs, err := ix.call(obj)
			if err != nil {
				continue
			}
			for _, v := range vs {
				if !seen[v] {
					seen[v] = true
					if !yield(v) {
						return
					}
				}
			}
		}
	}
}

// Failure is an object that an index function failed on.
type Failure struct {
	Index, Key string
	Err        error
	Since      time.Time
}
