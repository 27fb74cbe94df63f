package cache

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
)

// SharedInformer is one watch of a collection, one local copy of it, and any number of handlers that are told what
// changes. All its methods are safe for concurrent use, also from inside handlers.
//
//   - The copy follows the server: of each object, a sequence of the states that it had there, in their order. A list
//     shows in it at once and as a whole, and an object that a list finds unchanged (same UID, same resource version)
//     stays the same pointer and is told to nobody.
//   - Handlers are told after the copy, and its indexes, have changed; one call at a time for each handler, and for each
//     object in order. A slow handler delays neither the copy nor other handlers; what it lags behind is kept for it.
//   - An object that is deleted and made again under its name while nobody looks is one update, with another UID.
//   - An object that cannot be taken in (it fails to be transformed, say) is left out and reported; the rest stays current.
type SharedInformer interface {
	// AddEventHandler adds a handler with the informer's own resync period, at any time. It is told an add for each object
	// that is there now, and then what changes. It fails once the informer has stopped.
	//
	// Contextual logging: use AddEventHandlerWithOptions with a logger.
	AddEventHandler(handler ResourceEventHandler) (ResourceEventHandlerRegistration, error)
	// AddEventHandlerWithResyncPeriod adds a handler that wants to be told every object again, as an update of the object
	// to itself, each resyncPeriod. 0: it does not. A shorter one than a second is a second. Resyncs are checked for at a
	// period that is the shortest one asked for before the informer runs; a handler that comes later gets none below it.
	// An informer made without a resync period does no resyncs at all.
	//
	// Contextual logging: use AddEventHandlerWithOptions with a logger.
	AddEventHandlerWithResyncPeriod(handler ResourceEventHandler, resyncPeriod time.Duration) (ResourceEventHandlerRegistration, error)
	// AddEventHandlerWithOptions is both.
	AddEventHandlerWithOptions(handler ResourceEventHandler, options HandlerOptions) (ResourceEventHandlerRegistration, error)
	// RemoveEventHandler removes a handler: no call begins after it returned. It does not wait for one that is running;
	// [ShutDownEventHandler] does. It may be called again, and from inside the handler. It fails on what is no
	// registration of this informer.
	RemoveEventHandler(handle ResourceEventHandlerRegistration) error
	// GetStore returns the local copy. It can be written to, which tests do that don't run the informer; handlers are not
	// told of that.
	GetStore() Store
	// GetController returns something that knows HasSynced and LastSyncResourceVersion. It cannot be run.
	//
	// Deprecated: the informer has all of it.
	GetController() Controller
	// Run is RunWithContext that ends when stopCh closes.
	//
	// Contextual logging: use RunWithContext.
	Run(stopCh <-chan struct{})
	// RunWithContext follows the server until ctx ends, and returns when every goroutine it started has ended, handlers'
	// calls included. An informer runs once: another call does nothing but log that.
	RunWithContext(ctx context.Context)
	// HasSynced reports whether the first complete list is in the local copy. A handler may not have been told of it yet:
	// that is its registration's HasSynced.
	HasSynced() bool
	// HasSyncedChecker is done when HasSynced turns true, to be waited for with [WaitFor].
	HasSyncedChecker() DoneChecker
	// LastSyncResourceVersion is the resource version the local copy has got to, by list, event or bookmark; "" before the
	// first list.
	LastSyncResourceVersion() string

	// SetWatchErrorHandler sets who is told of each failure to list or watch, in place of the log. The last one set
	// counts. It fails once the informer has started.
	//
	// Contextual logging: use SetWatchErrorHandlerWithContext.
	SetWatchErrorHandler(handler WatchErrorHandler) error
	// SetWatchErrorHandlerWithContext is the same for a handler that gets the context the informer runs with.
	SetWatchErrorHandlerWithContext(handler WatchErrorHandlerWithContext) error

	// SetTransform sets what changes each object before it is stored; once for each that is received and not unchanged. It
	// fails once the informer has started.
	SetTransform(handler TransformFunc) error

	// IsStopped reports whether the informer was told to stop. It will not run again.
	IsStopped() bool
}

// SharedIndexInformer is a [SharedInformer] with indexes.
type SharedIndexInformer interface {
	SharedInformer
	// AddIndexers adds indexes, at any time until the informer stops; they are complete when it returns. If one of the
	// names is taken, it adds none.
	AddIndexers(indexers Indexers) error
	// GetIndexer returns the local copy; see GetStore.
	GetIndexer() Indexer
}

// ResourceEventHandlerRegistration is a handler's place at an informer.
type ResourceEventHandlerRegistration interface {
	// HasSynced reports whether the handler's calls for everything of the first list have returned; for one that came
	// later, for everything that was there then. A call that panicked counts as returned.
	HasSynced() bool
	// HasSyncedChecker is done when HasSynced turns true, to be waited for with [WaitFor].
	HasSyncedChecker() DoneChecker
}

// HandlerOptions configures a handler at an informer. The zero value works.
type HandlerOptions struct {
	// Logger is where panics of the handler are logged. Nil: to the logger of the context the informer runs with.
	Logger *klog.Logger

	// ResyncPeriod is as in AddEventHandlerWithResyncPeriod. Nil: the informer's own.
	ResyncPeriod *time.Duration
}

// SharedIndexInformerOptions configures [NewSharedIndexInformerWithOptions]. The zero value works.
type SharedIndexInformerOptions struct {
	// ResyncPeriod is the resync period of handlers that don't say. 0: no resyncs, not for any handler.
	ResyncPeriod time.Duration

	// Indexers are the first indexes. Nil: none.
	Indexers Indexers

	// ObjectDescription is how logs call the type of the objects. "": as the example object says.
	ObjectDescription string

	// Identifier is under what metrics are published. Zero: none are. There is no queue: queued items are what handlers, all
	// together, have not been told yet, and the latency is that of a handler's call.
	Identifier InformerNameAndResource

	// InformerMetricsProvider makes the metrics. Nil: that of [SetInformerMetricsProvider].
	InformerMetricsProvider InformerMetricsProvider
}

// NewSharedInformer is [NewSharedIndexInformerWithOptions] without indexes.
func NewSharedInformer(lw ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration) SharedInformer {
	return NewSharedIndexInformer(lw, exampleObject, defaultEventHandlerResyncPeriod, Indexers{})
}

// NewSharedIndexInformer is [NewSharedIndexInformerWithOptions] with these options.
func NewSharedIndexInformer(lw ListerWatcher, exampleObject runtime.Object, defaultEventHandlerResyncPeriod time.Duration, indexers Indexers) SharedIndexInformer {
	return NewSharedIndexInformerWithOptions(lw, exampleObject, SharedIndexInformerOptions{
		ResyncPeriod: defaultEventHandlerResyncPeriod,
		Indexers:     indexers,
	})
}

// NewSharedIndexInformerWithOptions returns an informer of what lw lists and watches. It does nothing until it is run.
// exampleObject is an object of the expected type; see [NewReflectorWithOptions].
func NewSharedIndexInformerWithOptions(lw ListerWatcher, exampleObject runtime.Object, options SharedIndexInformerOptions) SharedIndexInformer {
	i, err := newSharedIndexInformer(lw, exampleObject, options, EngineOptions{})
	if err != nil {
		panic("BUG: shared informer without options that could be wrong: " + err.Error())
	}
	return i
}
