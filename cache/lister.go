package cache

import (
	"fmt"

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
// [LabelIndex], if it has one. A selector that is nil
// or empty selects all, without looking at them; with another one, an object without metadata is an error, and ends it.
func ListAll(store Store, selector labels.Selector, appendFn AppendFunc) error {
	if done, err := appendLabelled(store, metav1.NamespaceAll, selector, appendFn); done {
		return err
	}
	return appendMatching(store.List(), metav1.NamespaceAll, selector, appendFn)
}

// ListAllByNamespace is [ListAll] of the objects in a namespace; "" is all of them. It goes by indexer's
// [NamespaceIndex] or, if there is none, looks at all objects.
func ListAllByNamespace(indexer Indexer, namespace string, selector labels.Selector, appendFn AppendFunc) error {
	if done, err := appendLabelled(indexer, namespace, selector, appendFn); done {
		return err
	}
	candidates, complete := inNamespace(indexer, namespace)
	if complete {
		namespace = metav1.NamespaceAll
	}
	return appendMatching(candidates, namespace, selector, appendFn)
}

// appendLabelled is appendMatching through a label index, where store has one.
func appendLabelled(store Store, namespace string, selector labels.Selector, appendFn AppendFunc) (done bool, err error) {
	labelled, ok := store.(labelSelecting)
	if !ok {
		return false, nil
	}
	objs, exact, ok := labelled.selectLabelled(namespace, selector)
	if !ok {
		return false, nil
	}
	if exact {
		selector = nil
	}
	return true, appendMatching(objs, metav1.NamespaceAll, selector, appendFn)
}

// inNamespace returns the objects to look at for those of a namespace; complete means that all of them are in it.
func inNamespace(indexer Indexer, namespace string) (candidates []any, complete bool) {
	if namespace == metav1.NamespaceAll {
		return indexer.List(), true
	}
	objs, err := indexer.ByIndex(NamespaceIndex, namespace)
	if err != nil { // there is no such index
		return indexer.List(), false
	}
	return objs, true
}

// appendMatching calls appendFn on the objects in namespace ("": any) that selector (nil: any) selects.
func appendMatching(objs []any, namespace string, selector labels.Selector, appendFn AppendFunc) error {
	anyNamespace := namespace == metav1.NamespaceAll
	anyLabels := selector == nil || selector.Empty()
	for _, obj := range objs {
		if !anyNamespace || !anyLabels {
			accessor, err := meta.Accessor(obj)
			if err != nil {
				return fmt.Errorf("listing: %w", err)
			}
			if !anyNamespace && accessor.GetNamespace() != namespace {
				continue
			}
			if !anyLabels && !selector.Matches(labels.Set(accessor.GetLabels())) {
				continue
			}
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
