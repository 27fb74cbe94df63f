package informer

import (
	"iter"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/informerkit/informerkit/store"
)

// SharedSnapshot is one version of what a [Shared] handle shows. It never changes; its objects stay in memory while it is
// referenced.
type SharedSnapshot[T runtime.Object] struct {
	shared *Shared[T]
	base   *store.Snapshot[runtime.Object] // nil: empty
}

// Snapshot returns the newest version of the whole collection and its indexes, at the cost of a few pointers. Objects are
// converted as they are read. At a released handle it is empty.
func (s *Shared[T]) Snapshot() *SharedSnapshot[T] {
	snapshot := &SharedSnapshot[T]{shared: s}
	if e := s.entry.Load(); e != nil {
		snapshot.base = e.informer.Snapshot()
	}
	return snapshot
}

// Get returns the object under key.
func (v *SharedSnapshot[T]) Get(key string) (T, bool) {
	if v.base != nil {
		if obj, ok := v.base.Get(key); ok {
			return v.shared.show(key, obj)
		}
	}
	var none T
	return none, false
}

// All iterates over all objects, in an order that is unspecified, and the same each time.
func (v *SharedSnapshot[T]) All() iter.Seq2[string, T] {
	if v.base == nil {
		return nothing[T]
	}
	return showAll(v.shared, v.base.All())
}

// Len is the number of objects, those included that can't be shown as T.
func (v *SharedSnapshot[T]) Len() int {
	if v.base == nil {
		return 0
	}
	return v.base.Len()
}

// Revision is the resource version that the snapshot shows.
func (v *SharedSnapshot[T]) Revision() string {
	if v.base == nil {
		return ""
	}
	return v.base.Revision()
}

func nothing[T any](func(string, T) bool) {}

// showAll shows objects as they are iterated over.
func showAll[T runtime.Object](s *Shared[T], objs iter.Seq2[string, runtime.Object]) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for key, obj := range objs {
			if shown, ok := s.show(key, obj); ok && !yield(key, shown) {
				return
			}
		}
	}
}

// SharedIndex finds the objects of a [SharedSnapshot] by a value. It ends with its handle.
type SharedIndex[T runtime.Object] struct {
	shared *Shared[T]
	base   *store.Index[runtime.Object]
}

// AddIndex adds an index of the values that fn gives, at any time; it is complete when AddIndex returns. fn is called for each
// object that is stored or changes, converted to T; see [store.IndexFunc] for what it must keep to. An object that can't be
// shown is in no index. The name is for people and need not be unique.
func (s *Shared[T]) AddIndex(name string, fn func(obj T) []string) *SharedIndex[T] {
	ix := &SharedIndex[T]{shared: s}
	e := s.entry.Load()
	if e == nil {
		return ix
	}
	ix.base = AddIndex(e.informer, name, func(obj runtime.Object) ([]string, error) {
		shown, err := s.projection.show(obj)
		if err == errOnlyMetadata { // whole objects will come as updates
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return fn(shown), nil
	})
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.indexes[ix] = struct{}{}
	}
	s.mu.Unlock()
	if closed {
		e.informer.RemoveIndex(ix.base)
	}
	return ix
}

// Remove drops the index. Reads through it after that search object by object.
func (ix *SharedIndex[T]) Remove() {
	s := ix.shared
	s.mu.Lock()
	_, mine := s.indexes[ix]
	delete(s.indexes, ix)
	s.mu.Unlock()
	if e := s.entry.Load(); e != nil && mine {
		e.informer.RemoveIndex(ix.base)
	}
}

// Get iterates over the objects that have value, in the order of [SharedSnapshot.All].
func (ix *SharedIndex[T]) Get(v *SharedSnapshot[T], value string) iter.Seq2[string, T] {
	if ix.base == nil || v.base == nil {
		return nothing[T]
	}
	return showAll(v.shared, ix.base.Get(v.base, value))
}

// Count is the number of objects that have value.
func (ix *SharedIndex[T]) Count(v *SharedSnapshot[T], value string) int {
	if ix.base == nil || v.base == nil {
		return 0
	}
	return ix.base.Count(v.base, value)
}

// Values iterates over the values that at least one object has, each once, in an unspecified order.
func (ix *SharedIndex[T]) Values(v *SharedSnapshot[T]) iter.Seq[string] {
	if ix.base == nil || v.base == nil {
		return func(func(string) bool) {}
	}
	return ix.base.Values(v.base)
}
