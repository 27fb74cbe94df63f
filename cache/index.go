package cache

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
)

// NamespaceIndex is the usual name of the index by [MetaNamespaceIndexFunc].
const NamespaceIndex string = "namespace"

// Indexer is a [Store] that also finds objects by the values that named functions give for them. Every query is
// answered from one state of the store.
type Indexer interface {
	Store

	// Index returns the objects that share a value with obj, which need not be stored. Each is returned once.
	Index(indexName string, obj any) ([]any, error)
	// IndexKeys returns the keys of the objects with that value.
	IndexKeys(indexName, indexedValue string) ([]string, error)
	// ListIndexFuncValues returns all values that objects have; none for an unknown index.
	ListIndexFuncValues(indexName string) []string
	// ByIndex returns the objects with that value. The slice is the caller's, the objects are not.
	ByIndex(indexName, indexedValue string) ([]any, error)
	// GetIndexers returns the index functions. The map is the caller's.
	GetIndexers() Indexers
	// AddIndexers adds indexes, filled from what is stored. If one of the names is taken, it adds none.
	AddIndexers(newIndexers Indexers) error
}

// IndexFunc gives the values under which an object is found: none, one or several. It must depend on nothing but the
// object, and must not use the store. An object on which it fails (or panics) is stored but not found in that index,
// until it is written again.
type IndexFunc func(obj any) ([]string, error)

// values calls f; a panic is an error.
func (f IndexFunc) values(obj any) (values []string, err error) {
	defer func() {
		if r := recover(); r != nil {
			values, err = nil, fmt.Errorf("index function panicked: %v", r)
		}
	}()
	return f(obj)
}

// Indexers are index functions by the names of their indexes.
type Indexers map[string]IndexFunc

// Index is the content of an index: keys by value.
type Index map[string]sets.Set[string]

// Indices are indexes by name.
type Indices map[string]Index

// MetaNamespaceIndexFunc gives the namespace of an object.
func MetaNamespaceIndexFunc(obj any) ([]string, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, fmt.Errorf("object has no meta: %w", err)
	}
	return []string{accessor.GetNamespace()}, nil
}

// IndexFuncToKeyFuncAdapter makes a key function of an index function that gives each object one value of its own. No
// value, or several, are an error. An [ExplicitKey] is its own key.
func IndexFuncToKeyFuncAdapter(indexFunc IndexFunc) KeyFunc {
	return func(obj any) (string, error) {
		if key, ok := obj.(ExplicitKey); ok {
			return string(key), nil
		}
		values, err := indexFunc(obj)
		switch {
		case err != nil:
			return "", err
		case len(values) == 0:
			return "", errors.New("the index function gives no value to be the key")
		case len(values) > 1:
			return "", fmt.Errorf("the index function gives several values where one is the key: %v", values)
		}
		return values[0], nil
	}
}
