package store

import (
	"iter"
	"math/bits"
)

// Snapshot is one version of a store: objects, indexes and orders as one commit left them. It never changes, and holds up
// nobody; what it costs is that the objects it shows stay in memory while it is referenced. Safe for concurrent use.
type Snapshot[T any] struct {
	objects  *content[ref]
	refs     refs[T]
	n        int
	version  uint64
	revision string
	indexes  []indexView[T]
	orders   []orderView[T]
}

// indexView is an index in one version.
type indexView[T any] struct {
	ix       *Index[T]
	values   *content[posting]
	failures *content[Failure]
}

func (s *Snapshot[T]) index(ix *Index[T]) *indexView[T] {
	for i := range s.indexes {
		if s.indexes[i].ix == ix {
			return &s.indexes[i]
		}
	}
	return nil
}

func (s *Snapshot[T]) unpack(at *cell[ref]) T { return s.refs.unpack(s.objects.of, at.val) }

// Get returns the object under key.
func (s *Snapshot[T]) Get(key string) (obj T, ok bool) {
	if _, r := getRef(s.objects, hashOf(key), key); r.p != nil {
		return s.refs.unpack(s.objects.of, r), true
	}
	return obj, false
}

// All iterates over all objects, in an order that is unspecified, and the same each time.
func (s *Snapshot[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		f, of := s.refs, s.objects.of
		for _, ch := range s.objects.chunks {
			for j, m := range &ch.live {
				if m == 0 {
					continue
				}
				p := ch.pages[j].Load()
				for ; m != 0; m &= m - 1 {
					at := &p[bits.TrailingZeros16(m)]
					if !yield(at.key, f.unpack(of, at.val)) {
						return
					}
				}
			}
		}
	}
}

// Objects returns all objects, in the order of All, as a slice, which is the caller's.
func (s *Snapshot[T]) Objects() []T {
	objs := make([]T, 0, s.n)
	f, of := s.refs, s.objects.of
	for _, ch := range s.objects.chunks {
		for j, m := range &ch.live {
			if m == 0 {
				continue
			}
			p := ch.pages[j].Load()
			for ; m != 0; m &= m - 1 {
				objs = append(objs, f.unpack(of, p[bits.TrailingZeros16(m)].val))
			}
		}
	}
	return objs
}

// Len is the number of objects.
func (s *Snapshot[T]) Len() int { return s.n }

// Version counts the store's commits: 0 is the empty store before the first.
func (s *Snapshot[T]) Version() uint64 { return s.version }

// Revision is what the newest commit that gave a revision said, "" if none has.
func (s *Snapshot[T]) Revision() string { return s.revision }
