package cache

import "fmt"

// TransformFunc changes an object before anything else sees it, typically to drop what nobody reads. It may change
// obj in place and return it. It is called for each object that comes in, some of them more than once, so it must be
// idempotent and quick. An error keeps the object out: whoever passed it in gets that error.
type TransformFunc func(obj any) (any, error)

// TransformingStore is a [ReflectorStore] that tells its transform, for a reflector that holds objects elsewhere
// before it hands them over.
type TransformingStore interface {
	ReflectorStore
	Transformer() TransformFunc
}

// transformed applies transform (nil: none) to obj. A tombstone passes as it is: the object in it came through before.
func transformed(transform TransformFunc, key string, obj any) (any, error) {
	if transform == nil {
		return obj, nil
	}
	if _, ok := obj.(DeletedFinalStateUnknown); ok {
		return obj, nil
	}
	out, err := transform(obj)
	if err != nil {
		return nil, fmt.Errorf("transforming %q: %w", key, err)
	}
	return out, nil
}

// transformedList applies transform (nil: none) to a list in place, which is the callee's own by then. Objects before
// the failing one may have been transformed.
func transformedList(transform TransformFunc, keys []string, list []any) error {
	if transform == nil {
		return nil
	}
	for i, obj := range list {
		out, err := transformed(transform, keys[i], obj)
		if err != nil {
			return err
		}
		list[i] = out
	}
	return nil
}
