package clientgo

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	ours "github.com/informerkit/informerkit/cache"
	"github.com/informerkit/informerkit/informer"
)

// NewInformer is our shared informer in place of client-go's NewSharedIndexInformer, and has its signature. It is what
// controller-runtime's cache.Options.NewInformer wants.
func NewInformer(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	return Options{}.NewInformer(lw, example, resync, indexers)
}

// Options carries what client-go's constructors have no room for. The zero value works. Options.NewInformer is a constructor like
// [NewInformer] with these options.
type Options struct {
	// Engine is ours: delivery policy of handlers, label index, tuning of lists and watches.
	Engine ours.EngineOptions
	// Transform changes each object before what SetTransform sets (a factory's WithTransform, for example). Nil: none.
	Transform cache.TransformFunc
	// Created is called with each informer that is made, before anybody else sees it. Nil: nobody is told.
	Created func(cache.SharedIndexInformer)
}

// NewInformer is [NewInformer] with options.
func (o Options) NewInformer(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
	own, err := ours.NewSharedIndexInformerWithEngine(lw, example, ours.SharedIndexInformerOptions{
		ResyncPeriod: resync,
		Indexers:     ourIndexers(indexers),
	}, o.Engine)
	if err != nil {
		panic(fmt.Sprintf("clientgo: %v", err)) // the signature is not ours: Options.Validate tells before
	}
	i := &sharedIndexInformer{SharedIndexInformer: own, first: o.Transform}
	// Watch error handlers are given client-go's Reflector, to name it. This one only has the name; nothing runs it.
	i.reflector = cache.NewReflectorWithOptions(lw, example, nil, cache.ReflectorOptions{
		Name:            "informerkit",
		TypeDescription: fmt.Sprintf("%T", example),
	})
	if err := i.SetTransform(nil); err != nil {
		panic("BUG: clientgo: a new informer refuses a transform: " + err.Error())
	}
	if o.Created != nil {
		o.Created(i)
	}
	return i
}

// InformerOf gives the informer below one that this package made: its status, typed indexes, handlers with a delivery policy.
// False: i is not ours.
func InformerOf(i cache.SharedInformer) (*informer.Informer[any], bool) {
	// Generated factories wrap their informers; what a wrapper does not change still comes from ours.
	if c, ok := i.GetController().(controller); ok {
		return ours.InformerOf(c.informer)
	}
	return nil, false
}

// sharedIndexInformer is ours under client-go's type names. Methods without such names are ours as they are.
type sharedIndexInformer struct {
	ours.SharedIndexInformer
	reflector *cache.Reflector
	first     cache.TransformFunc // runs before what SetTransform sets; nil: nothing does
}

var _ cache.SharedIndexInformer = (*sharedIndexInformer)(nil)

func (i *sharedIndexInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return registered(i.SharedIndexInformer.AddEventHandler(handler{h}))
}

func (i *sharedIndexInformer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return registered(i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(handler{h}, period))
}

func (i *sharedIndexInformer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, opts cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return registered(i.SharedIndexInformer.AddEventHandlerWithOptions(handler{h}, ours.HandlerOptions{
		Logger:       opts.Logger,
		ResyncPeriod: opts.ResyncPeriod,
	}))
}

func (i *sharedIndexInformer) RemoveEventHandler(r cache.ResourceEventHandlerRegistration) error {
	own, ok := r.(registration)
	if !ok {
		return fmt.Errorf("clientgo: %T is no registration of this informer", r)
	}
	return i.SharedIndexInformer.RemoveEventHandler(own.ResourceEventHandlerRegistration)
}

func (i *sharedIndexInformer) GetStore() cache.Store { return i.GetIndexer() }
func (i *sharedIndexInformer) GetIndexer() cache.Indexer {
	return indexer{i.SharedIndexInformer.GetIndexer()}
}
func (i *sharedIndexInformer) GetController() cache.Controller {
	return controller{i.SharedIndexInformer.GetController(), i.SharedIndexInformer}
}
func (i *sharedIndexInformer) HasSyncedChecker() cache.DoneChecker {
	return i.SharedIndexInformer.HasSyncedChecker()
}

func (i *sharedIndexInformer) AddIndexers(indexers cache.Indexers) error {
	return i.SharedIndexInformer.AddIndexers(ourIndexers(indexers))
}

func (i *sharedIndexInformer) SetTransform(f cache.TransformFunc) error {
	if i.first == nil || f == nil {
		if f == nil {
			f = i.first
		}
		return i.SharedIndexInformer.SetTransform(ours.TransformFunc(f))
	}
	return i.SharedIndexInformer.SetTransform(func(obj any) (any, error) {
		obj, err := i.first(obj)
		if err != nil {
			return nil, err
		}
		return f(obj)
	})
}

func (i *sharedIndexInformer) SetWatchErrorHandler(h cache.WatchErrorHandler) error {
	return i.SharedIndexInformer.SetWatchErrorHandler(func(_ *ours.Reflector, err error) { h(i.reflector, err) })
}

func (i *sharedIndexInformer) SetWatchErrorHandlerWithContext(h cache.WatchErrorHandlerWithContext) error {
	return i.SharedIndexInformer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *ours.Reflector, err error) {
		h(ctx, i.reflector, err)
	})
}

// controller is ours under client-go's type names.
type controller struct {
	ours.Controller
	informer ours.SharedIndexInformer // whose controller it is
}

func (c controller) HasSyncedChecker() cache.DoneChecker { return c.Controller.HasSyncedChecker() }

// Validate says which option can't be right. A constructor with client-go's signature can only panic with it.
func (o Options) Validate() error {
	_, err := ours.NewSharedIndexInformerWithEngine(&ours.ListWatch{}, &metav1.PartialObjectMetadata{}, ours.SharedIndexInformerOptions{}, o.Engine)
	return err
}
