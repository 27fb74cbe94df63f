package cache

import "fmt"

// TypedIndexFunc is an [IndexFunc] of objects of one type.
type TypedIndexFunc[T any] func(obj T) ([]string, error)

// TypedIndexers are index functions by the names of their indexes.
type TypedIndexers[T any] map[string]TypedIndexFunc[T]

// TypedIndexer is an [Indexer] of objects of one type.
type TypedIndexer[T any] interface {
	Indexer

	// TypedIndex is Index. An object of another type in the store is an error.
	TypedIndex(indexName string, obj T) ([]T, error)
	// ByTypedIndex is ByIndex. An object of another type in the store is an error.
	ByTypedIndex(indexName, indexedValue string) ([]T, error)
	// AddTypedIndexers is AddIndexers.
	AddTypedIndexers(newIndexers TypedIndexers[T]) error
}

// TypedIndexerFuncToIndexerFunc makes an untyped function of a typed one. It fails on an object of another type.
func TypedIndexerFuncToIndexerFunc[T any](indexer TypedIndexFunc[T]) IndexFunc {
	return func(obj any) ([]string, error) {
		typed, err := typedObject[T](obj)
		if err != nil {
			return nil, err
		}
		return indexer(typed)
	}
}

// TypedIndexersToIndexers is [TypedIndexerFuncToIndexerFunc] of each.
func TypedIndexersToIndexers[T any](indexers TypedIndexers[T]) Indexers {
	untyped := make(Indexers, len(indexers))
	for name, indexer := range indexers {
		untyped[name] = TypedIndexerFuncToIndexerFunc(indexer)
	}
	return untyped
}

func typedObject[T any](obj any) (T, error) {
	typed, ok := obj.(T)
	if !ok {
		return typed, fmt.Errorf("object is a %T, not a %T", obj, typed)
	}
	return typed, nil
}

func typedObjects[T any](objs []any, err error) ([]T, error) {
	if err != nil {
		return nil, err
	}
	typed := make([]T, len(objs))
	for i, obj := range objs {
		if typed[i], err = typedObject[T](obj); err != nil {
			return nil, err
		}
	}
	return typed, nil
}

// typedIndexer is an Indexer that is believed to hold objects of one type.
type typedIndexer[T any] struct {
	Indexer
}

// newTypedIndexer gives indexer the typed methods.
func newTypedIndexer[T any](indexer Indexer) TypedIndexer[T] { return typedIndexer[T]{indexer} }

func (i typedIndexer[T]) TypedIndex(indexName string, obj T) ([]T, error) {
	return typedObjects[T](i.Index(indexName, obj))
}

func (i typedIndexer[T]) ByTypedIndex(indexName, indexedValue string) ([]T, error) {
	return typedObjects[T](i.ByIndex(indexName, indexedValue))
}

func (i typedIndexer[T]) AddTypedIndexers(newIndexers TypedIndexers[T]) error {
	return i.AddIndexers(TypedIndexersToIndexers(newIndexers))
}
