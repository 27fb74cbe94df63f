package informer

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/listwatch"
)

// projection shows objects, in whatever form they are held, as T.
type projection[T runtime.Object] struct {
	view View
	kind schema.GroupVersionKind // of the objects; empty if the scheme does not know it
	show func(runtime.Object) (T, error)
}

// errOnlyMetadata says that a whole object is wanted, and not there yet.
var errOnlyMetadata = errors.New("only metadata is held so far")

// newProjection finds out what T is. The error says that it is no view of the resource.
func newProjection[T runtime.Object](scheme *runtime.Scheme, resource schema.GroupVersionResource) (projection[T], error) {
	p := projection[T]{kind: kindOf(scheme, resource)}
	var none T
	switch any(none).(type) {
	case *metav1.PartialObjectMetadata:
		p.view = MetadataView
		p.show = func(obj runtime.Object) (T, error) { return as[T](metadataOf(obj, p.kind)) }
		return p, nil
	case *unstructured.Unstructured:
		p.view = UnstructuredView
		p.show = func(obj runtime.Object) (T, error) { return as[T](unstructuredOf(obj, p.kind)) }
		return p, nil
	}
	t := reflect.TypeFor[T]()
	if t.Kind() == reflect.Interface {
		p.view = UnstructuredView // at least; typed where it is held typed
		p.show = wholeOf[T]
		return p, nil
	}
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return p, fmt.Errorf("%v is no view: want a pointer to a struct", t)
	}
	p.view = TypedView
	p.show = func(obj runtime.Object) (T, error) { return typedOf[T](obj, t) }
	return p, p.check(scheme, resource, t)
}

// check compares the kind of a Go type with that of the resource.
func (p *projection[T]) check(scheme *runtime.Scheme, resource schema.GroupVersionResource, t reflect.Type) error {
	kinds, _, err := scheme.ObjectKinds(reflect.New(t.Elem()).Interface().(T))
	if runtime.IsNotRegisteredError(err) {
		if p.kind.Empty() {
			return nil // converted from unstructured objects
		}
		return fmt.Errorf("%v is not what the scheme has for it: %v", t, p.kind)
	}
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if kind.GroupVersion() == resource.GroupVersion() && (p.kind.Empty() || p.kind == kind) {
			p.kind = kind
			return nil
		}
	}
	return fmt.Errorf("%v is another kind: %v", t, kinds[0])
}

// kindOf finds the kind that the scheme has for a resource, by the usual way of naming resources; empty if there is none.
func kindOf(scheme *runtime.Scheme, resource schema.GroupVersionResource) schema.GroupVersionKind {
	for kind := range scheme.KnownTypes(resource.GroupVersion()) {
		gvk := resource.GroupVersion().WithKind(kind)
		if plural, _ := meta.UnsafeGuessKindToResource(gvk); plural == resource {
			return gvk
		}
	}
	return schema.GroupVersionKind{}
}

func as[T any](obj runtime.Object, err error) (T, error) {
	t, _ := obj.(T)
	return t, err
}

func isPartial(obj runtime.Object) bool {
	_, ok := obj.(*metav1.PartialObjectMetadata)
	return ok
}

// metadataOf shares what the metadata refers to with obj.
func metadataOf(obj runtime.Object, kind schema.GroupVersionKind) (runtime.Object, error) {
	partial := &metav1.PartialObjectMetadata{}
	switch o := obj.(type) {
	case *metav1.PartialObjectMetadata:
		return o, nil
	case *unstructured.Unstructured:
		fields, _ := o.Object["metadata"].(map[string]any)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &partial.ObjectMeta); err != nil {
			return nil, fmt.Errorf("metadata of %T: %w", obj, err)
		}
		partial.SetGroupVersionKind(o.GroupVersionKind())
		return partial, nil
	case metav1.ObjectMetaAccessor:
		if m, ok := o.GetObjectMeta().(*metav1.ObjectMeta); ok {
			partial.ObjectMeta = *m
			partial.SetGroupVersionKind(kind)
			return partial, nil
		}
	}
	return nil, &listwatch.WrongTypeError{Want: "an object with metadata", Got: fmt.Sprintf("%T", obj)}
}

func unstructuredOf(obj runtime.Object, kind schema.GroupVersionKind) (runtime.Object, error) {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		return o, nil
	case *metav1.PartialObjectMetadata:
		return nil, errOnlyMetadata
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("%T as unstructured: %w", obj, err)
	}
	u := &unstructured.Unstructured{Object: fields}
	if !kind.Empty() {
		u.SetGroupVersionKind(kind)
	}
	return u, nil
}

// wholeOf shows obj as it is held.
func wholeOf[T runtime.Object](obj runtime.Object) (T, error) {
	var none T
	if isPartial(obj) {
		return none, errOnlyMetadata
	}
	whole, ok := obj.(T)
	if !ok {
		return none, &listwatch.WrongTypeError{Want: reflect.TypeFor[T]().String(), Got: fmt.Sprintf("%T", obj)}
	}
	return whole, nil
}

func typedOf[T runtime.Object](obj runtime.Object, t reflect.Type) (T, error) {
	if typed, ok := obj.(T); ok {
		return typed, nil
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return wholeOf[T](obj)
	}
	typed := reflect.New(t.Elem()).Interface().(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, typed); err != nil {
		var none T
		return none, fmt.Errorf("as %v: %w", t, err)
	}
	typed.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // as typed clients give it
	return typed, nil
}
