package clientgo

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/metadata/metadatalister"
	"k8s.io/client-go/tools/cache"
)

// NewDynamicSharedInformerFactory is a dynamicinformer factory of our informers. opts.Namespace and opts.TweakListOptions choose
// what is listed, as in NewFilteredDynamicSharedInformerFactory. It panics if opts can't be right: see Options.Validate.
func NewDynamicSharedInformerFactory(client dynamic.Interface, resync time.Duration, opts FactoryOptions) dynamicinformer.DynamicSharedInformerFactory {
	return newGenericFactory(func(gvr schema.GroupVersionResource) informers.GenericInformer {
		example := &unstructured.Unstructured{}
		resources := client.Resource(gvr).Namespace(opts.Namespace)
		lw := opts.listWatch(client,
			func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return resources.List(ctx, o) },
			resources.Watch)
		informer := opts.NewInformer(lw, example, resync, opts.indexers())
		return genericInformer{informer, dynamiclister.NewRuntimeObjectShim(dynamiclister.New(informer.GetIndexer(), gvr))}
	})
}

// NewMetadataSharedInformerFactory is a metadatainformer factory of our informers. Otherwise as [NewDynamicSharedInformerFactory].
func NewMetadataSharedInformerFactory(client metadata.Interface, resync time.Duration, opts FactoryOptions) metadatainformer.SharedInformerFactory {
	return newGenericFactory(func(gvr schema.GroupVersionResource) informers.GenericInformer {
		example := &metav1.PartialObjectMetadata{}
		resources := client.Resource(gvr).Namespace(opts.Namespace)
		lw := opts.listWatch(client,
			func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return resources.List(ctx, o) },
			resources.Watch)
		informer := opts.NewInformer(lw, example, resync, opts.indexers())
		return genericInformer{informer, metadatalister.NewRuntimeObjectShim(metadatalister.New(informer.GetIndexer(), gvr))}
	})
}

// listWatch is a client's List and Watch with tweaked options.
func (o FactoryOptions) listWatch(
	client any,
	list func(context.Context, metav1.ListOptions) (runtime.Object, error),
	open func(context.Context, metav1.ListOptions) (watch.Interface, error),
) cache.ListerWatcher {
	tweak := func(options metav1.ListOptions) metav1.ListOptions {
		if o.TweakListOptions != nil {
			o.TweakListOptions(&options)
		}
		return options
	}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return list(ctx, tweak(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return open(ctx, tweak(options))
		},
	}
	return cache.ToListWatcherWithWatchListSemantics(lw, client)
}

func (o FactoryOptions) indexers() cache.Indexers {
	if o.Indexers != nil {
		return o.Indexers
	}
	return cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
}

type genericInformer struct {
	informer cache.SharedIndexInformer
	lister   cache.GenericLister
}

func (i genericInformer) Informer() cache.SharedIndexInformer { return i.informer }
func (i genericInformer) Lister() cache.GenericLister         { return i.lister }

// genericFactory makes, starts and waits for informers by resource, as the factories of dynamicinformer and metadatainformer do.
type genericFactory struct {
	make func(schema.GroupVersionResource) informers.GenericInformer

	mu        sync.Mutex // guards what follows
	informers map[schema.GroupVersionResource]informers.GenericInformer
	started   map[schema.GroupVersionResource]bool
	shutdown  bool
	running   sync.WaitGroup
}

func newGenericFactory(newInformer func(schema.GroupVersionResource) informers.GenericInformer) *genericFactory {
	return &genericFactory{
		make:      newInformer,
		informers: map[schema.GroupVersionResource]informers.GenericInformer{},
		started:   map[schema.GroupVersionResource]bool{},
	}
}

// ForResource gives the informer of a resource; it is made when it is first asked for.
func (f *genericFactory) ForResource(gvr schema.GroupVersionResource) informers.GenericInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i, ok := f.informers[gvr]; ok {
		return i
	}
	i := f.make(gvr)
	f.informers[gvr] = i
	return i
}

// Start runs the informers there are, each once, until stopCh closes. After Shutdown it does nothing.
func (f *genericFactory) Start(stopCh <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.shutdown {
		return
	}
	for gvr, i := range f.informers {
		if !f.started[gvr] {
			f.started[gvr] = true
			f.running.Go(func() { i.Informer().Run(stopCh) })
		}
	}
}

// WaitForCacheSync waits until the started informers have synced, or stopCh closes, and tells which have.
func (f *genericFactory) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	f.mu.Lock()
	synced := map[schema.GroupVersionResource]cache.DoneChecker{}
	for gvr, i := range f.informers {
		if f.started[gvr] {
			synced[gvr] = i.Informer().HasSyncedChecker()
		}
	}
	f.mu.Unlock()
	result := map[schema.GroupVersionResource]bool{}
	for gvr, checker := range synced {
		select {
		case <-checker.Done():
		case <-stopCh:
		}
		result[gvr] = cache.IsDone(checker)
	}
	return result
}

// Shutdown lets no informer start any more and waits until those that run have ended, which the closing of their stop
// channels makes them.
func (f *genericFactory) Shutdown() {
	f.mu.Lock()
	f.shutdown = true
	f.mu.Unlock()
	f.running.Wait()
}
