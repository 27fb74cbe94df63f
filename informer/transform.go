package informer

import (
	"maps"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Chain runs transforms one after another; the first error, [ErrDrop] included, ends it.
func Chain[T any](transforms ...func(T) (T, error)) func(T) (T, error) {
	return func(obj T) (T, error) {
		for _, transform := range transforms {
			var err error
			if obj, err = transform(obj); err != nil {
				return obj, err
			}
		}
		return obj, nil
	}
}

// Keep drops the objects that wanted says no to.
func Keep[T any](wanted func(T) bool) func(T) (T, error) {
	return func(obj T) (T, error) {
		if !wanted(obj) {
			return obj, ErrDrop
		}
		return obj, nil
	}
}

// StripManagedFields leaves out metadata.managedFields, often a quarter of an object. The object received is not changed: the
// result shares everything else with it.
func StripManagedFields[T any]() func(T) (T, error) {
	return func(obj T) (T, error) {
		if m := metaOf(obj); m == nil || len(m.GetManagedFields()) == 0 {
			return obj, nil
		}
		return withMeta(obj, func(m metav1.Object) { m.SetManagedFields(nil) }), nil
	}
}

// StripAnnotations leaves out the annotations of these names, "kubectl.kubernetes.io/last-applied-configuration" for
// example. The object received is not changed: the result shares everything else with it.
func StripAnnotations[T any](names ...string) func(T) (T, error) {
	return func(obj T) (T, error) {
		m := metaOf(obj)
		if m == nil {
			return obj, nil
		}
		had := m.GetAnnotations()
		kept := had
		for _, name := range names {
			if _, ok := kept[name]; !ok {
				continue
			}
			if len(kept) == len(had) {
				kept = maps.Clone(had)
			}
			delete(kept, name)
		}
		if len(kept) == len(had) {
			return obj, nil
		}
		if len(kept) == 0 {
			kept = nil
		}
		return withMeta(obj, func(m metav1.Object) { m.SetAnnotations(kept) }), nil
	}
}

// withMeta is a copy of obj, metadata changed by change, that shares the rest with obj. What has no struct to copy is copied whole.
func withMeta[T any](obj T, change func(metav1.Object)) T {
	var next any
	switch o := any(obj).(type) {
	case *unstructured.Unstructured:
		object := maps.Clone(o.Object)
		if metadata, ok := object["metadata"].(map[string]any); ok {
			object["metadata"] = maps.Clone(metadata)
		}
		next = &unstructured.Unstructured{Object: object}
	default:
		v := reflect.ValueOf(obj)
		if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
			return obj
		}
		shallow := reflect.New(v.Elem().Type())
		shallow.Elem().Set(v.Elem())
		next = shallow.Interface()
	}
	change(metaOf(next))
	return next.(T)
}
