package listwatch

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Item is one object of a source: its identity, and the object on demand. An item is small, may be copied, and is used
// by one goroutine at a time.
type Item[T any] struct {
	Key             string // namespace/name, or name if cluster-scoped; "" if not even that could be read (Object errs)
	UID             string // "" unknown
	ResourceVersion string // "" unknown

	obj  T
	err  error
	load func() (T, error) // decodes; nil once obj or err is known
}

// Object gives the object, or why it can't be had: a [*DecodeError], a [*WrongTypeError], or whatever [BadItem] was
// given. It decodes at the first call and remembers. What it gives is the caller's.
func (it *Item[T]) Object() (T, error) {
	if it.load != nil {
		it.obj, it.err = it.decode()
		it.load = nil
	}
	return it.obj, it.err
}

// decode calls load. A type may decode itself, and panic over what it is given.
func (it *Item[T]) decode() (obj T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &DecodeError{Key: it.Key, Err: fmt.Errorf("panic: %v", v)}
		}
	}()
	return it.load()
}

// NewItem is an item with a decoded object. An obj without object metadata, or nil, gives an item whose Object errs.
func NewItem[T any](obj T) Item[T] {
	acc, ok := accessor(obj)
	if !ok {
		return Item[T]{err: &WrongTypeError{Want: "an object with metadata", Got: typeName(obj)}}
	}
	return Item[T]{
		Key:             ObjectKey(acc.GetNamespace(), acc.GetName()),
		UID:             string(acc.GetUID()),
		ResourceVersion: acc.GetResourceVersion(),
		obj:             obj,
	}
}

// LazyItem is an item whose object is decoded by load, at most once, when it is first asked for. What load holds on to
// stays in memory until then.
func LazyItem[T any](key, uid, resourceVersion string, load func() (T, error)) Item[T] {
	return Item[T]{Key: key, UID: uid, ResourceVersion: resourceVersion, load: load}
}

// BadItem is an item whose object can't be had, because of err; key, uid and resourceVersion are "" if unknown.
func BadItem[T any](key, uid, resourceVersion string, err error) Item[T] {
	if err == nil {
		panic("BUG: listwatch.BadItem without an error")
	}
	return Item[T]{Key: key, UID: uid, ResourceVersion: resourceVersion, err: err}
}

// ObjectKey is the key of an object: namespace/name, or only name for one without namespace.
func ObjectKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// SplitKey is the inverse of [ObjectKey].
func SplitKey(key string) (namespace, name string) {
	namespace, name, namespaced := strings.Cut(key, "/")
	if !namespaced {
		return "", namespace
	}
	return namespace, name
}

// itemOf is the item of what a client returned: a T, or an object of another type.
func itemOf[T any](obj any) Item[T] {
	if t, ok := obj.(T); ok {
		return NewItem(t)
	}
	wrong := &WrongTypeError{Want: nameOf[T](), Got: typeName(obj)}
	acc, ok := accessor(obj)
	if !ok {
		return Item[T]{err: wrong}
	}
	wrong.Key = ObjectKey(acc.GetNamespace(), acc.GetName())
	return BadItem[T](wrong.Key, string(acc.GetUID()), acc.GetResourceVersion(), wrong)
}

func accessor(obj any) (metav1.Object, bool) {
	if isNil(obj) {
		return nil, false
	}
	acc, err := meta.Accessor(obj)
	return acc, err == nil
}
