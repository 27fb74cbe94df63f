package store

import (
	"fmt"
	"iter"
	"time"
)

// IndexFunc gives the values under which an object is found in an index: any number of them, repeats count once. It must be
// pure, and must not block or call the writer; values in a stable order are cheapest. One that returns an error, or panics, leaves the
// object stored but out of this index ([Failure]) until a version of the object comes that it can work with.
type IndexFunc[T any] interface {
	func(obj T) []string | func(obj T) ([]string, error)
}

// Index finds the objects of a snapshot by a value. Snapshots that do not have it (taken before [AddIndex] or after
// [Writer.RemoveIndex]) are searched object by object: slow, and right. Safe for concurrent use.
type Index[T any] struct {
	name string
	fn   func(T) ([]string, error)
}

// Failure is an object that an index function failed on.
type Failure struct {
	Index, Key string
	Err        error     // what the function said, or that it panicked
	Since      time.Time // when it began to fail on the object under this key
}

// AddIndex adds an index, filled from what is stored: snapshots taken from now on have it, complete. Readers do not wait for
// it, commits do. The name is for people ([Failure]); the index is the returned value, and names need not differ.
func AddIndex[T any, F IndexFunc[T]](w *Writer[T], name string, fn F) *Index[T] {
	ix := &Index[T]{name: name}
	switch fn := any(fn).(type) {
	case func(T) []string:
		ix.fn = func(obj T) ([]string, error) { return fn(obj), nil }
	case func(T) ([]string, error):
		ix.fn = fn
	}
	w.addIndex(ix)
	return ix
}

// call runs the function. A panic becomes an error.
func (ix *Index[T]) call(obj T) (values []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			values, err = nil, ix.panicked(r)
		}
	}()
	if values, err = ix.fn(obj); err != nil {
		values = nil
	}
	return values, err
}

// callAll calls the function for the objects that a block of operations puts.
func (ix *Index[T]) callAll(block []op[T], values *scratch, calls []call) {
	for n := 0; n < len(block); {
		n += ix.callSome(block[n:], values, calls[n:])
	}
}

// callSome goes on until a call panics, and returns how many operations it got through.
func (ix *Index[T]) callSome(block []op[T], values *scratch, calls []call) (n int) {
	defer func() {
		if r := recover(); r != nil {
			calls[n] = call{err: ix.panicked(r)}
			n++
		}
	}()
	for ; n < len(block); n++ {
		if block[n].kind != opPut {
			continue
		}
		found, err := ix.fn(block[n].obj)
		if err != nil {
			calls[n] = call{err: err}
			continue
		}
		calls[n].err = nil
		calls[n].lo, calls[n].hi = values.keep(found)
	}
	return n
}

func (ix *Index[T]) panicked(r any) error {
	return fmt.Errorf("index %q: function panicked: %v", ix.name, r)
}

// Of returns the values under which the index finds obj, as the function gave them, or why it fails on it.
func (ix *Index[T]) Of(obj T) ([]string, error) { return ix.call(obj) }

// Name is the name given to [AddIndex].
func (ix *Index[T]) Name() string { return ix.name }

// Get iterates over the objects that have value, in the order of [Snapshot.All].
func (ix *Index[T]) Get(s *Snapshot[T], value string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		p, ok := ix.posting(s, value)
		if !ok {
			return
		}
		f, of := s.refs, s.objects.of
		var buf [runSlots]uint32
		for at := 0; ; {
			run := p.run(&at, &buf)
			if len(run) == 0 {
				return
			}
			for _, slot := range run {
				if at := s.objects.at(slot); !yield(at.key, f.unpack(of, at.val)) {
					return
				}
			}
		}
	}
}

// Objects returns the objects that have value, in the order of Get, as a slice, which is the caller's.
func (ix *Index[T]) Objects(s *Snapshot[T], value string) []T {
	p, ok := ix.posting(s, value)
	if !ok {
		return []T{}
	}
	objs := make([]T, 0, p.len())
	f, of := s.refs, s.objects.of
	var buf [runSlots]uint32
	for at := 0; ; {
		run := p.run(&at, &buf)
		if len(run) == 0 {
			return objs
		}
		for _, slot := range run {
			objs = append(objs, f.unpack(of, s.objects.at(slot).val))
		}
	}
}

// Count is the number of objects that have value.
func (ix *Index[T]) Count(s *Snapshot[T], value string) int {
	if p, ok := ix.posting(s, value); ok {
		return p.len()
	}
	return 0
}

// Values iterates over the values that at least one object has, each once, in an unspecified order.
func (ix *Index[T]) Values(s *Snapshot[T]) iter.Seq[string] {
	return func(yield func(string) bool) {
		v := s.index(ix)
		if v == nil {
			v = ix.scan(s)
		}
		for _, at := range v.values.all() {
			if !yield(at.key) {
				return
			}
		}
	}
}

// posting returns the objects of s that have value.
func (ix *Index[T]) posting(s *Snapshot[T], value string) (posting, bool) {
	v := s.index(ix)
	if v == nil {
		v = ix.scan(s)
	}
	if _, at := v.values.find(hashOf(value), value); at != nil {
		return at.val, true
	}
	return posting{}, false
}

// scan makes the index for a snapshot that does not have it.
func (ix *Index[T]) scan(s *Snapshot[T]) *indexView[T] {
	x := newIndexing(ix, new(columns))
	x.fill(s.objects, s.refs, stamp{aside, aside})
	v := x.view()
	return &v
}
