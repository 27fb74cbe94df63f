package cache

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/internal/failurelog"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/store"
)

// sharedIndexInformer gives package informer's Informer the names of this package.
type sharedIndexInformer struct {
	informer    *informer.Informer[any]
	indexer     *cache // over the informer's store
	description string // of the type
	delivery    informer.Delivery
	reflector   *Reflector
	mutations   MutationDetector
	metrics     informerMetricsFeed
	refused     failurelog.Log // objects that the transform refused

	mu        sync.Mutex    // guards what follows; taken before the informer's own locks, and by no callback's caller
	started   bool          // from then on transform and the reflector's onError don't change
	stopped   bool          // no handlers and indexers any more
	transform TransformFunc // nil: none
	resyncs   resyncs
}

var _ SharedIndexInformer = (*sharedIndexInformer)(nil)

func newSharedIndexInformer(lw ListerWatcher, exampleObject any, options SharedIndexInformerOptions, engine EngineOptions) (*sharedIndexInformer, error) {
	s := &sharedIndexInformer{description: options.ObjectDescription, delivery: engine.Delivery, resyncs: newResyncs(options.ResyncPeriod)}
	if s.description == "" {
		s.description = expectationOf(exampleObject).String()
	}
	s.mutations = NewCacheMutationDetector(s.description)

	objects, writer := store.New(store.Options[any]{Same: informer.Same[any]})
	s.indexer = &cache{keyFunc: DeletionHandlingMetaNamespaceKeyFunc, content: newThreadSafeMapOver(objects, writer)}
	WithStoreMetrics(options.Identifier, options.InformerMetricsProvider)(s.indexer)
	if err := s.indexer.AddIndexers(options.Indexers); err != nil {
		panic("BUG: indexers clash in an empty store: " + err.Error())
	}
	s.metrics = informerMetricsFeed{
		queue:   newQueueMetrics(options.Identifier, options.InformerMetricsProvider),
		store:   s.indexer.content,
		backlog: s.backlog,
	}

	name := options.Identifier.Name()
	if name == "" {
		name = callSite()
	}
	s.reflector = &Reflector{name: name, typeDescription: s.description, onError: DefaultWatchErrorHandler}
	s.reflector.engine.Store(new(reflectorEngine(informerEngine{s})))
	source := s.metrics.source(metered(sourceOf(lw, exampleObject), name, clock.RealClock{}))
	if engine.LabelIndex {
		if err := s.indexer.AddIndexers(Indexers{LabelIndex: MetaLabelIndexFunc}); err != nil {
			return nil, err
		}
	}
	tuning := engine.Reflector
	tuning.Name = name
	if tuning.Streaming == reflector.StreamingAuto {
		tuning.Streaming = streamingMode()
	}
	tuning.OnError = func(ctx context.Context, err error) {
		s.reflector.failed(ctx, err)
		if engine.Reflector.OnError != nil {
			engine.Reflector.OnError(ctx, err)
		}
	}
	var err error
	s.informer, err = informer.New(source, informer.Options[any]{
		Name:            s.description,
		Transform:       s.transformed,
		Writer:          writer,
		Reflector:       tuning,
		ShutdownTimeout: engine.ShutdownTimeout,
	})
	return s, err
}

// informerEngine is the informer's list and watch as those see it who get a [Reflector].
type informerEngine struct{ *sharedIndexInformer }

func (e informerEngine) Run(context.Context) error {
	return errors.New("the reflector is an informer's: the informer runs it")
}

func (e informerEngine) Status() reflector.Status { return e.informer.Status().Reflector }

// transformed is what becomes of a received object. It runs in the informer's goroutine, after the start.
func (s *sharedIndexInformer) transformed(obj any) (any, error) {
	if s.transform != nil {
		var err error
		if obj, err = s.callTransform(obj); err != nil {
			s.noteRefused(err)
			return nil, err
		}
	}
	s.mutations.AddObject(obj)
	return obj, nil
}

func (s *sharedIndexInformer) callTransform(obj any) (_ any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return s.transform(obj)
}

// noteRefused logs that objects are left out: at growing intervals, as it may be all of them.
func (s *sharedIndexInformer) noteRefused(err error) {
	if errors.Is(err, informer.ErrDrop) {
		return
	}
	if times, due := s.refused.Due("", time.Now()); due {
		klog.Background().Error(err, "Objects are left out, as the transform fails", "informer", s.reflector.name, "type", s.description, "objects", times)
	}
}

func (s *sharedIndexInformer) Run(stopCh <-chan struct{}) {
	s.RunWithContext(wait.ContextForChannel(stopCh))
}

func (s *sharedIndexInformer) RunWithContext(ctx context.Context) {
	defer utilruntime.HandleCrashWithContext(ctx)
	logger := klog.FromContext(ctx).WithValues("informer", s.reflector.name, "type", s.description)
	s.mu.Lock()
	again := s.started
	s.started = true
	period := s.resyncs.check
	s.mu.Unlock()
	if again {
		logger.Info("Informer has been started already: it runs once")
		return
	}
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, logger))
	defer cancel()

	var running sync.WaitGroup
	defer running.Wait()
	defer cancel() // also if the informer's Run panics
	running.Add(1)
	context.AfterFunc(ctx, func() {
		defer running.Done()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stopped = true
	})
	if _, off := s.mutations.(noMutationDetector); !off {
		running.Go(func() { s.mutations.Run(ctx.Done()) })
	}
	if period > 0 {
		running.Go(func() { s.resync(ctx, period) })
	}
	if err := s.informer.Run(ctx); err != nil {
		klog.FromContext(ctx).Error(err, "Informer ended")
	}
}

func (s *sharedIndexInformer) HasSynced() bool { return isSynced(s.informer.Synced()) }

func (s *sharedIndexInformer) HasSyncedChecker() DoneChecker {
	return syncChecker{informer: s.informer, name: s.name(), done: s.informer.Synced()}
}

func (s *sharedIndexInformer) name() string { return "SharedIndexInformer " + s.description }

// syncChecker waits for an informer or a handler of it.
type syncChecker struct {
	informer *informer.Informer[any]
	name     string
	done     <-chan struct{}
}

func (c syncChecker) Name() string          { return c.name }
func (c syncChecker) Done() <-chan struct{} { return c.done }

// reason says what an informer that is not synced is doing.
func (c syncChecker) reason() string {
	status := c.informer.Status()
	switch r := status.Reflector; {
	case !status.Running:
		return "not running"
	case r.LastError != nil:
		return fmt.Sprintf("%v, %d failures in a row, last: %v", r.Phase, r.Attempts, r.LastError)
	default:
		return r.Phase.String()
	}
}

func (s *sharedIndexInformer) LastSyncResourceVersion() string {
	return s.informer.Version().ResourceVersion
}

func (s *sharedIndexInformer) IsStopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopped
}

func (s *sharedIndexInformer) GetStore() Store     { return s.indexer }
func (s *sharedIndexInformer) GetIndexer() Indexer { return s.indexer }

func (s *sharedIndexInformer) AddIndexers(indexers Indexers) error {
	if s.IsStopped() {
		return errors.New("indexer was not added because it has stopped already")
	}
	return s.indexer.AddIndexers(indexers)
}

// configure changes what must not change any more once the informer has started.
func (s *sharedIndexInformer) configure(change func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started {
		return errors.New("informer has already started")
	}
	change()
	return nil
}

func (s *sharedIndexInformer) SetTransform(handler TransformFunc) error {
	return s.configure(func() { s.transform = handler })
}

func (s *sharedIndexInformer) SetWatchErrorHandler(handler WatchErrorHandler) error {
	return s.configure(func() { s.reflector.onError = watchErrorHandler(handler, nil) })
}

func (s *sharedIndexInformer) SetWatchErrorHandlerWithContext(handler WatchErrorHandlerWithContext) error {
	return s.configure(func() { s.reflector.onError = watchErrorHandler(nil, handler) })
}

func (s *sharedIndexInformer) GetController() Controller { return informerController{s} }

// informerController is what is left of a controller when the informer does its work.
type informerController struct{ *sharedIndexInformer }

func (c informerController) Run(<-chan struct{}) { c.RunWithContext(context.Background()) }

func (c informerController) RunWithContext(ctx context.Context) {
	klog.FromContext(ctx).Info("The controller of an informer does not run: run the informer", "type", c.description)
}
