package cache

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/informerkit/informerkit/internal/failurelog"
	"github.com/informerkit/informerkit/reflector"
)

// Reflector keeps a [ReflectorStore] in step with a [ListerWatcher]: it lists, in a stream or in pages, hands the whole
// list to Replace, watches from there and hands on what happens, and lists again when the watch cannot go on. See package
// reflector for how it does that.
//
// The exported fields are to be set before it runs.
type Reflector struct {
	// WatchListPageSize is how many objects are asked for at once. 0: as many as cost the server least. With it, all
	// lists are paged and read from the server's storage, which costs it more.
	WatchListPageSize int64
	// ShouldResync is asked at each resync period; if it says no, that one is skipped. Nil: always yes.
	ShouldResync func() bool
	// MaxInternalErrorRetryDuration is for how long a watch that ends with an internal error of the server is tried
	// again before the next list. 0: three times, as after other errors.
	MaxInternalErrorRetryDuration time.Duration

	name            string
	typeDescription string
	logger          *klog.Logger // nil: that of the context
	listerWatcher   ListerWatcher
	expectedType    any
	store           ReflectorStore
	resyncPeriod    time.Duration
	minWatchTimeout time.Duration
	clock           clock.Clock
	backoff         *wait.Backoff
	onError         WatchErrorHandlerWithContext

	failures failurelog.Log
	single   atomic.Pointer[singleRun] // set while ListAndWatch runs

	once   sync.Once                       // makes the engine, when the fields above are final
	engine atomic.Pointer[reflectorEngine] // nil before
}

// reflectorEngine is what does a Reflector's work.
type reflectorEngine interface {
	Run(ctx context.Context) error
	Status() reflector.Status
}

// ReflectorOptions configures [NewReflectorWithOptions]. The zero value works.
type ReflectorOptions struct {
	// Logger is where the reflector logs, under its name. Nil: to the logger of the context it runs with.
	Logger *klog.Logger

	// Name is the reflector's in logs and metrics. "": file and line of who made it, outside this package.
	Name string

	// TypeDescription is what it calls the type of its objects. "": the API version and kind of an expected
	// unstructured object that has them, or else the Go type.
	TypeDescription string

	// ResyncPeriod is how often the store's Resync is called. 0: never.
	ResyncPeriod time.Duration

	// MinWatchTimeout is the shortest time after which the server is asked to end a watch; the longest is twice that.
	// Less than 5 minutes, which would burden servers, is 5 minutes.
	MinWatchTimeout time.Duration

	// Clock is the time. Nil: real time.
	Clock clock.Clock

	// Backoff is the wait between failures: Duration the first, Cap the longest, Factor and Jitter. Steps is not used.
	// Nil: 0.8 s to 30 s, doubling, with as much again at random.
	Backoff *wait.Backoff
}

// minWatchTimeout is what client-go asks for at the least.
const minWatchTimeout = 5 * time.Minute

// NewReflector is [NewReflectorWithOptions] with a resync period.
func NewReflector(lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{ResyncPeriod: resyncPeriod})
}

// NewNamedReflector is [NewReflectorWithOptions] with a name and a resync period.
func NewNamedReflector(name string, lw ListerWatcher, expectedType any, store ReflectorStore, resyncPeriod time.Duration) *Reflector {
	return NewReflectorWithOptions(lw, expectedType, store, ReflectorOptions{Name: name, ResyncPeriod: resyncPeriod})
}

// NewReflectorWithOptions returns a reflector that will keep store in step with what lw lists and watches.
//
// Only objects of the type of expectedType get to the store, others are reported; for an unstructured one with API version
// and kind, those have to match too. Nil: any type will do.
func NewReflectorWithOptions(lw ListerWatcher, expectedType any, store ReflectorStore, options ReflectorOptions) *Reflector {
	r := &Reflector{
		name:            options.Name,
		typeDescription: options.TypeDescription,
		logger:          options.Logger,
		listerWatcher:   lw,
		expectedType:    expectedType,
		store:           store,
		resyncPeriod:    options.ResyncPeriod,
		minWatchTimeout: max(options.MinWatchTimeout, minWatchTimeout),
		clock:           options.Clock,
		backoff:         options.Backoff,
		onError:         DefaultWatchErrorHandler,
	}
	if r.name == "" {
		r.name = callSite()
	}
	if r.typeDescription == "" {
		r.typeDescription = expectationOf(expectedType).String()
	}
	if r.clock == nil {
		r.clock = clock.RealClock{}
	}
	return r
}

// NewNamespaceKeyedIndexerAndReflector returns an [Indexer] by namespace, and a reflector that will keep it in step.
func NewNamespaceKeyedIndexerAndReflector(lw ListerWatcher, expectedType any, resyncPeriod time.Duration) (indexer Indexer, reflector *Reflector) {
	indexer = NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
	return indexer, NewReflector(lw, expectedType, indexer, resyncPeriod)
}

// Name is the reflector's name.
func (r *Reflector) Name() string { return r.name }

// TypeDescription is what the reflector calls the type of its objects.
func (r *Reflector) TypeDescription() string { return r.typeDescription }

// LastSyncResourceVersion is the resource version seen last, by list, event or bookmark; "" before the first list. What
// comes with it is in the store by then.
func (r *Reflector) LastSyncResourceVersion() string {
	if e := r.engine.Load(); e != nil {
		return (*e).Status().ResourceVersion
	}
	return ""
}

// Run is [Reflector.RunWithContext] that ends when stopCh closes.
//
// Contextual logging: use RunWithContext.
func (r *Reflector) Run(stopCh <-chan struct{}) {
	r.RunWithContext(wait.ContextForChannel(stopCh))
}

// RunWithContext lists and watches until ctx ends, and returns when every goroutine it started has. It may be run again;
// two at a time are one too many.
func (r *Reflector) RunWithContext(ctx context.Context) {
	if err := r.run(ctx); err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Reflector cannot run", "reflector", r.name, "type", r.typeDescription)
	}
}

func (r *Reflector) run(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	if r.logger != nil {
		logger = *r.logger
	}
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, logger))
	logger.V(3).Info("Starting reflector", "type", r.typeDescription, "resyncPeriod", r.resyncPeriod, "reflector", r.name)
	defer logger.V(3).Info("Stopping reflector", "type", r.typeDescription, "resyncPeriod", r.resyncPeriod, "reflector", r.name)

	var resyncs sync.WaitGroup
	defer resyncs.Wait()
	defer cancel()
	engine := r.ready()
	if r.resyncPeriod > 0 {
		resyncs.Go(func() { r.resync(ctx, engine) })
	}
	return engine.Run(ctx)
}

// resync calls the store's Resync at its period, once there has been a list.
func (r *Reflector) resync(ctx context.Context, engine reflectorEngine) {
	for {
		timer := r.clock.NewTimer(r.resyncPeriod)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if engine.Status().Lists == 0 || r.ShouldResync != nil && !r.ShouldResync() {
			continue
		}
		klog.FromContext(ctx).V(4).Info("Forcing resync", "reflector", r.name)
		if err := r.store.Resync(); err != nil {
			klog.FromContext(ctx).Error(err, "Resync failed", "reflector", r.name, "type", r.typeDescription)
		}
	}
}

// ready makes the engine at its first call.
func (r *Reflector) ready() reflectorEngine {
	r.once.Do(func() {
		if r.engine.Load() == nil { // an informer's has one
			r.engine.Store(new(r.newEngine()))
		}
	})
	return *r.engine.Load()
}

func (r *Reflector) newEngine() reflectorEngine {
	source := metered(sourceOf(r.listerWatcher, r.expectedType), r.name, r.clock)
	made, err := reflector.New(singleRunSource{source, r}, storeSink{r.store}, r.engineOptions())
	if err != nil {
		return brokenEngine{err}
	}
	return made
}

func (r *Reflector) engineOptions() reflector.Options {
	opts := reflector.Options{
		Name:         r.name,
		PageSize:     r.WatchListPageSize,
		WatchTimeout: max(r.minWatchTimeout, minWatchTimeout),
		Streaming:    streamingMode(),
		OnError:      r.failed,

		InternalErrorRetry: max(0, r.MaxInternalErrorRetryDuration),
	}
	if r.backoff != nil {
		opts.Backoff = reflector.Backoff{
			Initial: r.backoff.Duration,
			Max:     r.backoff.Cap,
			Factor:  r.backoff.Factor,
			Jitter:  r.backoff.Jitter,
		}
	}
	switch c := r.clock.(type) {
	case nil, clock.RealClock:
	case clock.WithTicker:
		opts.Clock = c
	default:
		opts.Clock = tickerlessClock{c}
	}
	return opts
}

// tickerlessClock is a clock whose tickers, which nobody asks for, are real.
type tickerlessClock struct{ clock.Clock }

func (tickerlessClock) NewTicker(d time.Duration) clock.Ticker { return clock.RealClock{}.NewTicker(d) }

// brokenEngine stands for one that could not be made.
type brokenEngine struct{ err error }

func (e brokenEngine) Run(context.Context) error { return e.err }
func (e brokenEngine) Status() reflector.Status  { return reflector.Status{LastError: e.err} }

// failed is told of every failure.
func (r *Reflector) failed(ctx context.Context, err error) {
	if single := r.single.Load(); single != nil && single.result() != nil {
		return // it is returned
	}
	var short *reflector.ShortWatchError
	if errors.As(err, &short) {
		err = &VeryShortWatchError{Name: r.name}
	}
	r.onError(ctx, r, err)
}

// WatchErrorHandler is told of each failure to list or watch, before the reflector waits and tries again. It should
// return soon.
type WatchErrorHandler func(r *Reflector, err error)

// WatchErrorHandlerWithContext is a [WatchErrorHandler] that gets the context the reflector runs with, and the logger
// in it.
type WatchErrorHandlerWithContext func(ctx context.Context, r *Reflector, err error)

// DefaultWatchErrorHandler logs err, at the level that suits it: that a resource version has expired or the server ended
// a watch is everyday life. An error that stays the same is logged again after intervals that grow, up to 10 minutes.
func DefaultWatchErrorHandler(ctx context.Context, r *Reflector, err error) {
	times, due := r.failures.Due(err.Error(), r.now())
	if !due {
		return
	}
	logger := klog.FromContext(ctx).WithValues("reflector", r.name, "type", r.typeDescription)
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		logger.V(4).Info("Watch closed", "err", err)
	case errors.Is(err, io.EOF):
	case errors.Is(err, io.ErrUnexpectedEOF):
		logger.V(1).Info("Watch closed with unexpected EOF", "err", err)
	default:
		logger.Error(err, "Failed to watch", "times", times)
	}
}

func (r *Reflector) now() time.Time {
	if r.clock == nil {
		return time.Now()
	}
	return r.clock.Now()
}
