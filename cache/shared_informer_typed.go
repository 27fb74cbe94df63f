package cache

import (
	"errors"

	"k8s.io/klog/v2"
)

// TypedSharedIndexInformer is a [SharedIndexInformer] of objects of one type, with variants of its methods that need no
// casts.
type TypedSharedIndexInformer[T Object] interface {
	SharedIndexInformer

	// AddTypedEventHandler is AddEventHandlerWithOptions, or AddEventHandler without options. More than one is an error.
	// Objects of another type are reported, and the handler is not told of them.
	AddTypedEventHandler(handler TypedResourceEventHandler[T], options ...HandlerOptions) (ResourceEventHandlerRegistration, error)
	// AddTypedIndexers is AddIndexers.
	AddTypedIndexers(indexers TypedIndexers[T]) error
	// GetTypedIndexer is GetIndexer.
	GetTypedIndexer() TypedIndexer[T]
}

// NewTypedSharedIndexInformer gives informer, which is of objects of type T, the typed methods.
func NewTypedSharedIndexInformer[T Object](informer SharedIndexInformer) TypedSharedIndexInformer[T] {
	return typedInformer[T]{informer}
}

type typedInformer[T Object] struct{ SharedIndexInformer }

func (i typedInformer[T]) AddTypedEventHandler(handler TypedResourceEventHandler[T], options ...HandlerOptions) (ResourceEventHandlerRegistration, error) {
	if len(options) > 1 {
		return nil, errors.New("at most one HandlerOptions can be given")
	}
	var opts HandlerOptions
	if len(options) == 1 {
		opts = options[0]
	}
	logger := klog.Background()
	if opts.Logger != nil {
		logger = *opts.Logger
	}
	return i.AddEventHandlerWithOptions(untypedHandler[T]{handler, logger}, opts)
}

func (i typedInformer[T]) AddTypedIndexers(indexers TypedIndexers[T]) error {
	return i.AddIndexers(TypedIndexersToIndexers(indexers))
}

func (i typedInformer[T]) GetTypedIndexer() TypedIndexer[T] {
	return newTypedIndexer[T](i.GetIndexer())
}
