package cache

import (
	"fmt"
	"iter"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// AppendFunc is given each object found.
type AppendFunc func(obj any)

// ListAll calls appendFn on each object of store that selector selects, in no particular order; through the store's
// [LabelIndex], if it has one. A selector that is nil or empty selects all, without looking at them; with another one, an
// object without metadata is an error, and ends it.
func ListAll(store Store, selector labels.Selector, appendFn AppendFunc) error {
	if ours, ok := store.(selecting); ok {
		objs, left := ours.candidates(metav1.NamespaceAll, selector)
		return left.appendMatching(objs, appendFn)
	}
	return match{labels: selector}.appendMatching(slices.Values(store.List()), appendFn)
}

// ListAllByNamespace is [ListAll] of the objects in a namespace; "" is all of them. It goes by indexer's
// [NamespaceIndex] or, if there is none, looks at all objects.
func ListAllByNamespace(indexer Indexer, namespace string, selector labels.Selector, appendFn AppendFunc) error {
	if namespace == metav1.NamespaceAll {
		return ListAll(indexer, selector, appendFn)
	}
	if ours, ok := indexer.(selecting); ok {
		objs, left := ours.candidates(namespace, selector)
		return left.appendMatching(objs, appendFn)
	}
	objs, err := indexer.ByIndex(NamespaceIndex, namespace)
	if err != nil { // there is no such index
		return match{namespace, selector}.appendMatching(slices.Values(indexer.List()), appendFn)
	}
	return match{labels: selector}.appendMatching(slices.Values(objs), appendFn)
}

// match is what objects are to be checked for. Its zero value is met by all.
type match struct {
	namespace string          // "": any
	labels    labels.Selector // nil or empty: any
}

// appendMatching calls appendFn on the objects that match.
func (m match) appendMatching(objs iter.Seq[any], appendFn AppendFunc) error {
	anyNamespace := m.namespace == metav1.NamespaceAll
	anyLabels := m.labels == nil || m.labels.Empty()
	if anyNamespace && anyLabels {
		for obj := range objs {
			appendFn(obj)
		}
		return nil
	}
	for obj := range objs {
		accessor, err := meta.Accessor(obj)
		if err != nil {
			return fmt.Errorf("listing: %w", err)
		}
		if !anyNamespace && accessor.GetNamespace() != m.namespace {
			continue
		}
		if !anyLabels && !m.labels.Matches(labels.Set(accessor.GetLabels())) {
			continue
		}
		appendFn(obj)
	}
	return nil
}

// GenericLister reads objects of one resource, whatever their Go type.
type GenericLister interface {
	// List returns the selected objects of all namespaces. The slice is the caller's, the objects are not.
	List(selector labels.Selector) (ret []runtime.Object, err error)
	// Get returns the object of that name, of a cluster-scoped resource. The error is a NotFound if there is none.
	Get(name string) (runtime.Object, error)
	// ByNamespace reads the objects of one namespace.
	ByNamespace(namespace string) GenericNamespaceLister
}

// GenericNamespaceLister is a [GenericLister] for one namespace.
type GenericNamespaceLister interface {
	// List returns the selected objects of the namespace. The slice is the caller's, the objects are not.
	List(selector labels.Selector) (ret []runtime.Object, err error)
	// Get returns the object of that name in the namespace. The error is a NotFound if there is none.
	Get(name string) (runtime.Object, error)
}

// NewGenericLister returns a lister of what indexer holds, which is of that resource.
func NewGenericLister(indexer Indexer, resource schema.GroupResource) GenericLister {
	return genericLister{genericNamespaceLister{indexer: indexer, resource: resource}}
}

// genericLister is a genericNamespaceLister of namespace "", which is all of them.
type genericLister struct{ genericNamespaceLister }

func (l genericLister) ByNamespace(namespace string) GenericNamespaceLister {
	l.namespace = namespace
	return l.genericNamespaceLister
}

type genericNamespaceLister struct {
	indexer   Indexer
	resource  schema.GroupResource
	namespace string
}

func (l genericNamespaceLister) List(selector labels.Selector) (ret []runtime.Object, err error) {
	var odd error
	err = ListAllByNamespace(l.indexer, l.namespace, selector, func(obj any) {
		typed, err := l.object(obj)
		if err != nil {
			odd = err
			return
		}
		ret = append(ret, typed)
	})
	if err == nil {
		err = odd
	}
	if err != nil {
		return nil, err
	}
	return ret, nil
}

func (l genericNamespaceLister) Get(name string) (runtime.Object, error) {
	obj, exists, err := l.indexer.GetByKey(NewObjectName(l.namespace, name).String())
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, apierrors.NewNotFound(l.resource, name)
	}
	return l.object(obj)
}

func (l genericNamespaceLister) object(obj any) (runtime.Object, error) {
	typed, ok := obj.(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("lister of %s: a %T is not a runtime.Object", l.resource, obj)
	}
	return typed, nil
}
