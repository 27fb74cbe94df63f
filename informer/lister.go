package informer

import (
	"iter"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/internal/labelindex"
	"github.com/informerkit/informerkit/store"
)

// Lister reads an informer by name, namespace and label selector. Its indexes make a read cost what it finds, and not what
// there is.
type Lister[T any] struct {
	informer   *Informer[T]
	opts       ListerOptions[T]
	namespaces *store.Index[T]
	labels     *store.Index[T]
}

// ListerOptions configures a [Lister]. The zero value works.
type ListerOptions[T any] struct {
	// Resource names the resource in NotFound errors. Zero: the informer's name is used.
	Resource schema.GroupResource
	// NoLabelIndex saves the memory of an index of all labels (some tens of bytes for each label of each object); selectors
	// are then matched object by object.
	NoLabelIndex bool
	// Copy makes a copy of each object that is read, for callers that change what they get: (*corev1.Pod).DeepCopy for
	// example. Nil: objects are shared and must not be changed.
	Copy func(T) T
}

// NewLister adds what it needs to the informer's store and returns a lister over it.
func NewLister[T any](i *Informer[T], opts ListerOptions[T]) *Lister[T] {
	if opts.Resource.Empty() {
		opts.Resource.Resource = i.opts.Name
	}
	l := &Lister[T]{informer: i, opts: opts}
	l.namespaces = AddIndex(i, "namespace", func(obj T) []string {
		if m := metaOf(obj); m != nil && m.GetNamespace() != "" {
			return []string{m.GetNamespace()}
		}
		return nil
	})
	if !opts.NoLabelIndex {
		l.labels = AddIndex(i, "labels", func(obj T) []string {
			if m := metaOf(obj); m != nil {
				return labelindex.Values(m.GetLabels())
			}
			return nil
		})
	}
	return l
}

// Close removes the lister's indexes. Reads after it search object by object.
func (l *Lister[T]) Close() {
	l.informer.RemoveIndex(l.namespaces)
	if l.labels != nil {
		l.informer.RemoveIndex(l.labels)
	}
}

// Get returns the object of that name; namespace is "" for a cluster-scoped one. The error is NotFound as the API server
// would give it (apierrors.IsNotFound), with the resource's name.
func (l *Lister[T]) Get(namespace, name string) (T, error) {
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	obj, ok := l.informer.Get(key)
	if !ok {
		return obj, apierrors.NewNotFound(l.opts.Resource, name)
	}
	return l.copy(obj), nil
}

// List yields the objects that selector matches, by key, all from one version; namespace "" means all namespaces. An empty
// selector, or nil, matches everything and evaluates no labels. The order is not specified.
func (l *Lister[T]) List(namespace string, selector labels.Selector) iter.Seq2[string, T] {
	s := l.informer.Snapshot()
	if selector == nil {
		selector = labels.Everything()
	}
	found, exact := l.find(s, namespace, selector)
	return func(yield func(string, T) bool) {
		for key, obj := range found {
			if !exact {
				if m := metaOf(obj); m == nil || !selector.Matches(labels.Set(m.GetLabels())) {
					continue
				}
			}
			if !yield(key, l.copy(obj)) {
				return
			}
		}
	}
}

// find yields a superset of what is wanted; exact: nothing else.
func (l *Lister[T]) find(s *store.Snapshot[T], namespace string, selector labels.Selector) (iter.Seq2[string, T], bool) {
	if selector.Empty() {
		if namespace == "" {
			return s.All(), true
		}
		return l.namespaces.Get(s, namespace), true
	}
	if l.labels != nil {
		if q, exact, ok := labelindex.Query(l.labels, selector); ok {
			if namespace != "" {
				q = store.And(l.namespaces.Is(namespace), q)
			}
			return s.Select(q), exact
		}
	}
	if namespace != "" {
		return l.namespaces.Get(s, namespace), false
	}
	return s.All(), false
}

// Slice is List as a slice, for callers that want one.
func (l *Lister[T]) Slice(namespace string, selector labels.Selector) []T {
	var objs []T
	if selector == nil || selector.Empty() {
		n := l.informer.Len()
		if namespace != "" {
			n = l.namespaces.Count(l.informer.Snapshot(), namespace)
		}
		objs = make([]T, 0, n)
	}
	for _, obj := range l.List(namespace, selector) {
		objs = append(objs, obj)
	}
	return slices.Clip(objs)
}

func (l *Lister[T]) copy(obj T) T {
	if l.opts.Copy == nil {
		return obj
	}
	return l.opts.Copy(obj)
}
