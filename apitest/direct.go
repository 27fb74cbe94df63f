package apitest

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/listwatch"
)

// Create stores a copy of obj, status included, and returns the object as stored. It is the test's own hand: no request is recorded, no
// fault applies. The kind is that of obj's Go type, or for custom resources the one obj carries. A resource version in obj is
// ignored; UID and creation time are always new.
//
// Errors are API status errors (AlreadyExists, Invalid), or say that no such kind is served.
func Create[T runtime.Object](s *Server, obj T) (T, error) {
	return direct(s, obj, func(e endpoint, own runtime.Object) (*object, error) {
		return s.createLocked(e, mustMeta(own).GetNamespace(), own, writeOptions{part: wholePart, prepared: true})
	})
}

// Update stores a copy of obj, status included, in place of the object with its name, and returns the object as stored. A resource
// version in obj must be the stored one's; "" is no condition. Otherwise as [Create]. Errors are NotFound, Conflict and Invalid.
func Update[T runtime.Object](s *Server, obj T) (T, error) {
	return direct(s, obj, func(e endpoint, own runtime.Object) (*object, error) {
		m := mustMeta(own)
		old, err := e.getLocked(m.GetNamespace(), m.GetName())
		if err != nil {
			return nil, err
		}
		return s.updateLocked(e, old, own, writeOptions{part: wholePart, prepared: true})
	})
}

// Delete deletes the object with obj's kind, namespace and name, or marks it if it has finalizers. A UID in obj must be the
// stored one's. It returns the last state, under the resource version of the delete. Errors are NotFound and Conflict.
func Delete[T runtime.Object](s *Server, obj T) (T, error) {
	return direct(s, obj, func(e endpoint, own runtime.Object) (*object, error) {
		m := mustMeta(own)
		old, err := e.getLocked(m.GetNamespace(), m.GetName())
		if err != nil {
			return nil, err
		}
		opts := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: uidOrAny(m.GetUID())}}
		o, _, err := s.deleteLocked(e, old, opts, false)
		return o, err
	})
}

// direct runs write on a copy of obj in stored form, under the lock.
func direct[T runtime.Object](s *Server, obj T, write func(endpoint, runtime.Object) (*object, error)) (T, error) {
	var none T
	e, own, err := s.lookupObject(obj)
	if err != nil {
		return none, err
	}
	s.mu.Lock()
	o, err := write(e, own)
	s.mu.Unlock()
	if err != nil {
		return none, err
	}
	return convert[T](e, o)
}

// Get returns a copy of an object; namespace is "" for cluster-scoped ones. It is not a request, see [Create]. The error is NotFound if there is
// none, or says that T can't hold it. T may be the resource's Go type, *unstructured.Unstructured,
// *metav1.PartialObjectMetadata, or an interface such as runtime.Object.
func Get[T runtime.Object](s *Server, gvr schema.GroupVersionResource, namespace, name string) (T, error) {
	var none T
	e, err := s.lookup(gvr)
	if err != nil {
		return none, err
	}
	s.mu.Lock()
	o, err := e.getLocked(namespace, name)
	s.mu.Unlock()
	if err != nil {
		return none, err
	}
	return convert[T](e, o)
}

// List returns copies of all objects of a resource, by namespace and name; namespace "" means all. T and errors are as for [Get].
func List[T runtime.Object](s *Server, gvr schema.GroupVersionResource, namespace string) ([]T, error) {
	e, err := s.lookup(gvr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	objects := selection{namespace: namespace}.within(e.snapshotLocked(s.rv, s.rv).objects)
	s.mu.Unlock()
	items := make([]T, 0, len(objects))
	for _, o := range objects {
		item, err := convert[T](e, o)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// convert gives a copy of o as a T: what a typed, dynamic or metadata client would give.
func convert[T any](e endpoint, o *object) (T, error) {
	var out T
	switch any(out).(type) {
	case *unstructured.Unstructured:
		u, err := e.unstructuredCopy(o)
		if err != nil {
			return out, err
		}
		return any(u).(T), nil
	case *metav1.PartialObjectMetadata:
		return any(partial(o).DeepCopy()).(T), nil
	}
	if t, ok := e.copyOf(o).(T); ok {
		return t, nil
	}
	if e.typ == nil {
		if t, ok := newOf[T](); ok {
			u := e.copyOf(o).(*unstructured.Unstructured)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, t); err != nil {
				return out, fmt.Errorf("%s %s as %T: %w", e.gvk.Kind, o.key, out, err)
			}
			return t, nil
		}
	}
	return out, &listwatch.WrongTypeError{Key: o.key, Want: reflect.TypeFor[T]().String(), Got: fmt.Sprintf("%T", o.obj)}
}

// newOf makes what a pointer type T points to; false if T is no pointer to a struct.
func newOf[T any]() (T, bool) {
	var none T
	typ := reflect.TypeFor[T]()
	if typ.Kind() != reflect.Pointer || typ.Elem().Kind() != reflect.Struct {
		return none, false
	}
	return reflect.New(typ.Elem()).Interface().(T), true
}
