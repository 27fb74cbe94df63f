package informer

import (
	"iter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// SharedLister is a [Lister] over a [Shared] handle. The indexes it needs are those of all listers of the scope, and stay as
// long as the informer does.
type SharedLister[T runtime.Object] struct {
	shared *Shared[T]
	opts   ListerOptions[T]
}

// Lister returns a lister. ListerOptions.Resource is the scope's if empty. Of a released handle it finds nothing.
func (s *Shared[T]) Lister(opts ListerOptions[T]) *SharedLister[T] {
	if opts.Resource.Empty() {
		opts.Resource = s.scope.Resource.GroupResource()
	}
	l := &SharedLister[T]{shared: s, opts: opts}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entry.Load(); e != nil && !s.closed {
		s.listers[listerNumber(opts.NoLabelIndex)].Store(e.lister(opts.NoLabelIndex))
	}
	return l
}

// Get returns the object of that name; namespace is "" for a cluster-scoped one. The error is NotFound as the API server
// would give it (apierrors.IsNotFound).
func (l *SharedLister[T]) Get(namespace, name string) (T, error) {
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	obj, ok := l.shared.Get(key)
	if !ok {
		return obj, apierrors.NewNotFound(l.opts.Resource, name)
	}
	return l.copy(obj), nil
}

// List yields the objects that selector matches, by key, all from one version; namespace "" means all namespaces. An empty
// selector, or nil, matches everything. The order is not specified.
func (l *SharedLister[T]) List(namespace string, selector labels.Selector) iter.Seq2[string, T] {
	base := l.shared.listers[listerNumber(l.opts.NoLabelIndex)].Load()
	if base == nil {
		return nothing[T]
	}
	found := showAll(l.shared, base.List(namespace, selector))
	return func(yield func(string, T) bool) {
		for key, obj := range found {
			if !yield(key, l.copy(obj)) {
				return
			}
		}
	}
}

// Slice is List as a slice, for callers that want one.
func (l *SharedLister[T]) Slice(namespace string, selector labels.Selector) []T {
	var objs []T
	for _, obj := range l.List(namespace, selector) {
		objs = append(objs, obj)
	}
	return objs
}

func (l *SharedLister[T]) copy(obj T) T {
	if l.opts.Copy == nil {
		return obj
	}
	return l.opts.Copy(obj)
}

// listerNumber is the place of a lister in entry.listers and Shared.listers.
func listerNumber(noLabels bool) int {
	if noLabels {
		return 0
	}
	return 1
}
