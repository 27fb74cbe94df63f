package cache

import "fmt"

// KeyFunc makes the key of an object. It must give equal keys for equal objects, and may be called concurrently.
type KeyFunc func(obj any) (string, error)

// KeyError says that a key function failed on Obj. Whatever was asked for has not been done, not in part either.
type KeyError struct {
	Obj any
	Err error
}

// Error says on what object the key function failed, and why.
func (k KeyError) Error() string {
	return fmt.Sprintf("couldn't create key for object %+v: %v", k.Obj, k.Err)
}

// Unwrap returns the key function's own error.
func (k KeyError) Unwrap() error { return k.Err }

// ExplicitKey is its own key: pass it to [MetaNamespaceKeyFunc], or to a store's Get and Delete, for want of the object.
type ExplicitKey string

// MetaNamespaceKeyFunc is the usual [KeyFunc]: "namespace/name", or only "name" without a namespace, of anything that
// has object metadata. An [ExplicitKey] is returned as it is.
func MetaNamespaceKeyFunc(obj any) (string, error) {
	if key, ok := obj.(ExplicitKey); ok {
		return string(key), nil
	}
	name, err := ObjectToName(obj)
	if err != nil {
		return "", err
	}
	return name.String(), nil
}

// DeletionHandlingMetaNamespaceKeyFunc is [MetaNamespaceKeyFunc] that also takes a [DeletedFinalStateUnknown], which
// carries its key.
func DeletionHandlingMetaNamespaceKeyFunc(obj any) (string, error) {
	if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
		return tombstone.Key, nil
	}
	return MetaNamespaceKeyFunc(obj)
}

// SplitMetaNamespaceKey takes a key that [MetaNamespaceKeyFunc] made apart. It fails on one of more than two parts.
func SplitMetaNamespaceKey(key string) (namespace, name string, err error) {
	objName, err := ParseObjectName(key)
	return objName.Namespace, objName.Name, err
}

// key calls f; what fails is a [KeyError].
func (f KeyFunc) key(obj any) (string, error) {
	key, err := f(obj)
	if err != nil {
		return "", KeyError{Obj: obj, Err: err}
	}
	return key, nil
}

// keysOf makes the keys of a whole list, or none.
func keysOf(list []any, keyOf func(obj any) (string, error)) ([]string, error) {
	keys := make([]string, len(list))
	for i, obj := range list {
		key, err := keyOf(obj)
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	return keys, nil
}
