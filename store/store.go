package store

import (
	"iter"
	"maps"
	"slices"
	"sync"
)

// Options configures a [Store]. The zero value works.
type Options[T any] struct {
	// Same reports that next says nothing that prev does not already say, so that prev is kept (same pointer) and no
	// change is reported. Nil: no two objects are the same. It must not block or call the store.
	Same func(prev, next T) bool
}

// New returns an empty store, and the only handle that can change it.
func New[T any](opts Options[T]) (*Store[T], *Writer[T]) {
	s := &Store[T]{cur: &Snapshot[T]{objs: map[string]T{}}}
	return s, &Writer[T]{s: s, same: opts.Same, failed: map[*Index[T]]map[string]Failure{}}
}

// Store is the reading side. Safe for concurrent use; no method waits for the writer.
type Store[T any] struct {
	mu    sync.RWMutex // guards the fields below
	cur   *Snapshot[T]
	fails []Failure
}

// Get returns the newest object under key. Lock-free.
func (s *Store[T]) Get(key string) (obj T, ok bool) { return s.Snapshot().Get(key) }

// Len is the number of objects now.
func (s *Store[T]) Len() int { return s.Snapshot().Len() }

// Revision is the revision of the newest version: what the last commit said, "" before the first that said any.
func (s *Store[T]) Revision() string { return s.Snapshot().Revision() }

// Snapshot returns the newest version.
func (s *Store[T]) Snapshot() *Snapshot[T] {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.cur
}

// Failures lists the objects that are stored but missing from an index because its function failed on them.
func (s *Store[T]) Failures() []Failure {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.fails)
}

// Snapshot is one version of a store. It never changes. Safe for concurrent use.
type Snapshot[T any] struct {
	objs     map[string]T
	version  uint64
	revision string
}

// Get returns the object under key.
func (s *Snapshot[T]) Get(key string) (obj T, ok bool) {
	obj, ok = s.objs[key]
	return obj, ok
}

// All iterates over all objects, in an unspecified but stable order.
func (s *Snapshot[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for _, k := range slices.Sorted(maps.Keys(s.objs)) {
			if !yield(k, s.objs[k]) {
				return
			}
		}
	}
}

// Len is the number of objects.
func (s *Snapshot[T]) Len() int { return len(s.objs) }

// Version counts commits, from 0 (empty).
func (s *Snapshot[T]) Version() uint64 { return s.version }

// Revision is the newest revision a commit gave.
func (s *Snapshot[T]) Revision() string { return s.revision }
