package cache

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/informer"
)

// InformerOptions configures [NewInformerWithOptions]. ListerWatcher and Handler are needed.
type InformerOptions struct {
	// Logger is where the informer logs. Nil: to the logger of the context it runs with.
	Logger *klog.Logger

	// ListerWatcher is where objects come from.
	ListerWatcher ListerWatcher

	// ObjectType is an object of the expected type; see [NewReflectorWithOptions]. Nil: any.
	ObjectType runtime.Object

	// Handler is told what happens.
	Handler ResourceEventHandler

	// ResyncPeriod is how often Handler is told every object again, as an update of the object to itself. 0: never.
	ResyncPeriod time.Duration

	// MinWatchTimeout is as in [ReflectorOptions].
	MinWatchTimeout time.Duration

	// Indexers are the indexes of the store. Nil: none.
	Indexers Indexers

	// Transform is called on each object before anything else sees it. Nil: none.
	Transform TransformFunc

	// Identifier is under what metrics are published. Zero: none are.
	Identifier InformerNameAndResource

	// InformerMetricsProvider makes the metrics. Nil: that of [SetInformerMetricsProvider].
	InformerMetricsProvider InformerMetricsProvider
}

// NewInformerWithOptions returns a store, and the controller that keeps it in step when it is run and tells a handler.
// The store is for reading: what others write there the handler is not told of.
//
// The handler is called while the store is in the very state that the call tells of; after a list, in that of the whole
// list. So the store waits for the handler. For a handler that must not hold it up, or for several, there is
// [NewSharedIndexInformer].
func NewInformerWithOptions(options InformerOptions) (Store, Controller) {
	return newInformer(options)
}

// NewInformer is [NewInformerWithOptions] with these options.
//
// Deprecated: use NewInformerWithOptions.
func NewInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler) (Store, Controller) {
	return newInformer(InformerOptions{ListerWatcher: lw, ObjectType: objType, Handler: h, ResyncPeriod: resyncPeriod})
}

// NewIndexerInformer is [NewInformerWithOptions] with these options.
//
// Deprecated: use NewInformerWithOptions.
func NewIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers) (Indexer, Controller) {
	return newInformer(InformerOptions{
		ListerWatcher: lw, ObjectType: objType, Handler: h, ResyncPeriod: resyncPeriod, Indexers: indexers,
	})
}

// NewTransformingInformer is [NewInformerWithOptions] with these options.
//
// Deprecated: use NewInformerWithOptions.
func NewTransformingInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, transformer TransformFunc) (Store, Controller) {
	return newInformer(InformerOptions{
		ListerWatcher: lw, ObjectType: objType, Handler: h, ResyncPeriod: resyncPeriod, Transform: transformer,
	})
}

// NewTransformingIndexerInformer is [NewInformerWithOptions] with these options.
//
// Deprecated: use NewInformerWithOptions.
func NewTransformingIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers, transformer TransformFunc) (Indexer, Controller) {
	return newInformer(InformerOptions{
		ListerWatcher: lw, ObjectType: objType, Handler: h, ResyncPeriod: resyncPeriod, Indexers: indexers, Transform: transformer,
	})
}

func newInformer(options InformerOptions) (*cache, Controller) {
	s := newCache(DeletionHandlingMetaNamespaceKeyFunc, options.Indexers,
		WithStoreMetrics(options.Identifier, options.InformerMetricsProvider))
	queue := NewRealFIFOWithOptions(RealFIFOOptions{
		Logger:                options.Logger,
		KeyFunction:           MetaNamespaceKeyFunc,
		Transformer:           options.Transform,
		AtomicEvents:          true,
		UnlockWhileProcessing: true,
		EmitDeltaTypeBookmark: true,
		Identifier:            options.Identifier,
		MetricsProvider:       options.InformerMetricsProvider,
	})
	t := teller{store: s, handler: options.Handler}
	return s, newController(&Config{
		Queue:            queue,
		ListerWatcher:    options.ListerWatcher,
		ObjectType:       options.ObjectType,
		FullResyncPeriod: options.ResyncPeriod,
		MinWatchTimeout:  options.MinWatchTimeout,
		Process:          t.process,
	}, callSite(), options.Logger)
}

// teller brings a store to the state that deltas tell of, one after another, and tells a handler.
type teller struct {
	store   *cache
	handler ResourceEventHandler
}

func (t teller) process(obj any, isInInitialList bool) error {
	deltas, ok := obj.(Deltas)
	if !ok {
		return fmt.Errorf("want Deltas, got %T", obj)
	}
	for _, delta := range deltas {
		if err := t.take(delta, isInInitialList); err != nil {
			return err
		}
	}
	return nil
}

func (t teller) take(delta Delta, isInInitialList bool) error {
	switch info := delta.Object.(type) {
	case ReplacedAllInfo:
		return t.replace(info, isInInitialList)
	case SyncAllInfo:
		for _, obj := range t.store.List() {
			t.handler.OnUpdate(obj, obj)
		}
		return nil
	case BookmarkInfo:
		t.store.Bookmark(info.ResourceVersion)
		return nil
	}
	old, exists, err := t.store.Get(delta.Object)
	if err != nil {
		return err
	}
	if delta.Type == Deleted {
		if err := t.store.Delete(delta.Object); err != nil || !exists {
			return err
		}
		t.handler.OnDelete(delta.Object)
		return nil
	}
	if err := t.store.Update(delta.Object); err != nil {
		return err
	}
	if exists {
		t.handler.OnUpdate(old, delta.Object)
	} else {
		t.handler.OnAdd(delta.Object, isInInitialList)
	}
	return nil
}

// replace makes a list the store's content, and then tells what that changed. An object that is in the state it was
// in stays the one it was, and is not told.
func (t teller) replace(list ReplacedAllInfo, isInInitialList bool) error {
	keys, err := keysOf(list.Objects, t.store.keyFunc.key)
	if err != nil {
		return err
	}
	before := t.store.content.store.Snapshot()
	objects := make([]any, len(keys)) // the queue's list may be others' too
	listed := make(map[string]struct{}, len(keys))
	for i, key := range keys {
		objects[i] = list.Objects[i]
		if old, exists := before.Get(key); exists && informer.Same(old, objects[i]) {
			objects[i] = old
		}
		listed[key] = struct{}{}
	}
	t.store.content.replace(keys, objects, list.ResourceVersion)

	for key, obj := range before.All() {
		if _, ok := listed[key]; !ok {
			t.handler.OnDelete(DeletedFinalStateUnknown{Key: key, Obj: obj})
		}
	}
	for i, key := range keys {
		old, exists := before.Get(key)
		switch {
		case !exists:
			t.handler.OnAdd(objects[i], isInInitialList)
		case !informer.Same(old, objects[i]):
			t.handler.OnUpdate(old, objects[i])
		}
	}
	return nil
}
