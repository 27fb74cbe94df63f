package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// ProcessFunc processes what was popped from a queue; for the delta queues of this package that is [Deltas].
type ProcessFunc func(obj any, isInInitialList bool) error

// ShouldResyncFunc says whether to resync now.
type ShouldResyncFunc func() bool

// Config says what a [Controller] does. Queue, ListerWatcher and Process are needed.
type Config struct {
	// Queue is what the reflector fills and Process empties. Any queue will do, a user's own too.
	Queue

	// ListerWatcher is where objects come from.
	ListerWatcher

	// Process is called with everything popped, one at a time. An error is logged, and that is all unless RetryOnError.
	Process ProcessFunc

	// ProcessBatch, if set, is called with several deltas at once, where Queue is a [QueueWithBatch] that has several,
	// and RetryOnError is not set. It must do what Process does for each of them.
	ProcessBatch ProcessBatchFunc

	// ObjectType is an object of the expected type; see [NewReflectorWithOptions]. Nil: any.
	ObjectType runtime.Object

	// ObjectDescription is how logs call the type. "": as ObjectType says.
	ObjectDescription string

	// FullResyncPeriod is how often Queue's Resync is called. 0: never.
	FullResyncPeriod time.Duration

	// MinWatchTimeout is as in [ReflectorOptions].
	MinWatchTimeout time.Duration

	// ShouldResync is asked at each FullResyncPeriod. Nil: always yes.
	ShouldResync ShouldResyncFunc

	// WatchErrorHandler is told of each failure to list or watch.
	//
	// Contextual logging: use WatchErrorHandlerWithContext.
	WatchErrorHandler WatchErrorHandler

	// WatchErrorHandlerWithContext is the same, used if WatchErrorHandler is nil. Both nil: [DefaultWatchErrorHandler].
	WatchErrorHandlerWithContext WatchErrorHandlerWithContext

	// WatchListPageSize is as in [Reflector].
	WatchListPageSize int64

	// RetryOnError puts what Process failed on back into Queue, unless something newer of the same key is there by then.
	// A queue that does not do so for an [ErrRequeue] is asked to by AddIfNotPresent, if it has that; if not, Process is
	// called again, with pauses, before the next item is popped.
	RetryOnError bool
}

// Controller fills a queue from a server and processes what is in it. See [Config].
type Controller interface {
	// RunWithContext runs a reflector that fills the queue, and pops and processes, one item at a time, until ctx ends;
	// then it closes the queue, processes what is left, and returns when every goroutine it started has ended. It can
	// be called once.
	RunWithContext(ctx context.Context)

	// Run is RunWithContext that ends when stopCh closes.
	//
	// Contextual logging: use RunWithContext.
	Run(stopCh <-chan struct{})

	// HasSynced is the queue's: the first list has been processed.
	HasSynced() bool

	// HasSyncedChecker is the queue's, to be waited for with [WaitFor].
	HasSyncedChecker() DoneChecker

	// LastSyncResourceVersion is the reflector's; "" before it runs.
	LastSyncResourceVersion() string
}

// New returns a controller that does as c says when it is run. c must not be changed any more.
func New(c *Config) Controller {
	return newController(c, callSite(), nil)
}

func newController(c *Config, name string, logger *klog.Logger) *controller {
	return &controller{config: c, name: name, logger: logger}
}

type controller struct {
	config    *Config
	name      string
	logger    *klog.Logger // nil: that of the context
	reflector atomic.Pointer[Reflector]
}

func (c *controller) Run(stopCh <-chan struct{}) {
	c.RunWithContext(wait.ContextForChannel(stopCh))
}

func (c *controller) RunWithContext(ctx context.Context) {
	r := c.newReflector()
	if !c.reflector.CompareAndSwap(nil, r) {
		klog.FromContext(ctx).Error(nil, "A controller runs once: this one does, or did", "controller", c.name)
		return
	}
	if c.logger != nil {
		ctx = klog.NewContext(ctx, *c.logger)
	}
	var running sync.WaitGroup
	running.Go(func() { r.RunWithContext(ctx) })
	running.Go(func() {
		<-ctx.Done()
		c.config.Queue.Close()
	})
	consume(ctx, c.config)
	running.Wait()
}

func (c *controller) newReflector() *Reflector {
	r := NewReflectorWithOptions(c.config.ListerWatcher, c.expectedType(), c.config.Queue, ReflectorOptions{
		Logger:          c.logger,
		Name:            c.name,
		TypeDescription: c.config.ObjectDescription,
		ResyncPeriod:    c.config.FullResyncPeriod,
		MinWatchTimeout: c.config.MinWatchTimeout,
	})
	r.ShouldResync = c.config.ShouldResync
	r.WatchListPageSize = c.config.WatchListPageSize
	r.onError = watchErrorHandler(c.config.WatchErrorHandler, c.config.WatchErrorHandlerWithContext)
	return r
}

// expectedType is ObjectType, nil without the type that a nil of an interface would have.
func (c *controller) expectedType() any {
	if c.config.ObjectType == nil {
		return nil
	}
	return c.config.ObjectType
}

// watchErrorHandler is the one of the two that is set, or else the default.
func watchErrorHandler(plain WatchErrorHandler, withContext WatchErrorHandlerWithContext) WatchErrorHandlerWithContext {
	switch {
	case plain != nil:
		return func(_ context.Context, r *Reflector, err error) { plain(r, err) }
	case withContext != nil:
		return withContext
	}
	return DefaultWatchErrorHandler
}

func (c *controller) HasSynced() bool {
	if c.config.Queue.HasSynced() {
		return true
	}
	if checker := c.HasSyncedChecker(); checker != nil {
		isSynced(checker.Done())
	}
	return false
}

func (c *controller) HasSyncedChecker() DoneChecker { return c.config.Queue.HasSyncedChecker() }

func (c *controller) LastSyncResourceVersion() string {
	if r := c.reflector.Load(); r != nil {
		return r.LastSyncResourceVersion()
	}
	return ""
}
