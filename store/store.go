package store

import (
	"sync"
	"sync/atomic"
)

// Options configures a [Store]. The zero value works.
type Options[T any] struct {
	// Same reports that next says nothing that prev does not already say, so that a [Replacement] keeps prev (the same
	// pointer) and reports no change. Nil: no two objects are the same. It must be pure, and must not block or call the
	// writer. A [Batch] does not ask: what is put there is a change.
	Same func(prev, next T) bool
}

// New returns an empty store, and the only handle that can change it.
func New[T any](opts Options[T]) (*Store[T], *Writer[T]) {
	s := &Store[T]{}
	w := &Writer[T]{s: s, same: opts.Same, refs: newRefs[T](), objects: newTable(setRef), stamps: aside}
	s.w, s.refs = w, w.refs
	s.objects.Store(w.objects.cur)
	s.revision.Store(new(string))
	return s, w
}

// Store is the reading side. Safe for concurrent use; no method waits for a transaction to be worked out.
type Store[T any] struct {
	objects  atomic.Pointer[content[ref]] // the newest version, for reads of one object
	refs     refs[T]
	n        atomic.Int64
	revision atomic.Pointer[string]

	latest atomic.Pointer[Snapshot[T]] // of the newest version; nil: not taken yet
	mu     sync.Mutex                  // held to take a snapshot, and by the writer to change in place what a snapshot would hold
	w      *Writer[T]                  // mu guards what the writer says it guards
}

// Get returns the newest object under key. Lock-free: it waits for nobody, whatever the writer does. Gets one after another
// never go back in time, and of a [Replacement] they see all or nothing; while a commit of several changes is going on,
// they see some of them before others. Who reads more than one object takes a [Snapshot].
func (s *Store[T]) Get(key string) (obj T, ok bool) {
	c := s.objects.Load()
	if _, r := getRef(c, hashOf(key), key); r.p != nil {
		return s.refs.unpack(c.of, r), true
	}
	return obj, false
}

// Len is the number of objects now.
func (s *Store[T]) Len() int { return int(s.n.Load()) }

// Revision is the revision of the newest version: what the last commit that gave one said, "" if none has. A Get that
// follows sees at least that revision.
func (s *Store[T]) Revision() string { return *s.revision.Load() }

// Snapshot returns the newest version. It costs O(1). If nobody has taken one since the last commit it may have to wait
// for a commit that is just being written, of up to 1,024 changes: some hundred microseconds at most. No user function runs then.
func (s *Store[T]) Snapshot() *Snapshot[T] {
	if latest := s.latest.Load(); latest != nil {
		return latest
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := s.latest.Load()
	if latest == nil {
		latest = s.w.freezeLocked()
		s.latest.Store(latest)
	}
	return latest
}

// lockSoon takes mu for the writer. Whoever takes a snapshot holds it for less than a microsecond; but a writer that goes to sleep
// over it is not back before some reader leaves a processor (bench's WriteLatency: p99 of 10 µs becomes 150).
func (s *Store[T]) lockSoon() {
	for range 2000 {
		if s.mu.TryLock() {
			return
		}
	}
	s.mu.Lock()
}

// Failures lists the objects that are stored but missing from an index because its function failed on them.
func (s *Store[T]) Failures() []Failure {
	var list []Failure
	for _, v := range s.Snapshot().indexes {
		for _, at := range v.failures.all() {
			list = append(list, at.val)
		}
	}
	return list
}
