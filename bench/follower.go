package bench

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientcache "k8s.io/client-go/tools/cache"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/cache"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

// told is what a handler does. A nil function: nothing.
type told struct {
	added, updated func(pod *corev1.Pod)
}

// follower is a contender that follows a source: a whole informer that runs, synced, with both indexes.
type follower struct {
	// handle adds a handler. synced closes when it was told of everything there was.
	handle func(t told) (synced <-chan struct{}, remove func())
	get    func(key string) *corev1.Pod
	// replay tells the handlers everything again; nil: they are told each resyncPeriod, if asked for.
	replay func()
	stop   func() // returns when it has ended
}

// followerOptions say what is wanted besides.
type followerOptions struct {
	latest bool // LatestState for all handlers, where it is offered
	resync bool // tell the handlers everything again each resyncPeriod, where replay is nil
}

// resyncPeriod is the shortest that client-go does.
const resyncPeriod = time.Second

// listerWatcher is what informers in client-go's manner follow, client-go's and ours.
type listerWatcher interface {
	List(metav1.ListOptions) (runtime.Object, error)
	Watch(metav1.ListOptions) (watch.Interface, error)
	ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error)
	WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// newFollowers make followers of a source. typedSource is the same source for the typed informer.
var newFollowers = map[string]func(lw listerWatcher, typedSource listwatch.Source[*corev1.Pod], opts followerOptions) (*follower, error){
	typed:        followTyped,
	throughCache: followThroughCache,
	clientGo:     followClientGo,
}

// typedSource is src for the typed informer.
func typedSource(src listerWatcher) listwatch.Source[*corev1.Pod] {
	return listwatch.Funcs[*corev1.Pod]{ListFunc: src.ListWithContext, WatchFunc: src.WatchWithContext, NoStreaming: true}
}

func followTyped(_ listerWatcher, src listwatch.Source[*corev1.Pod], opts followerOptions) (*follower, error) {
	i, err := informer.New(src, informer.Options[*corev1.Pod]{})
	if err != nil {
		return nil, err
	}
	informer.AddIndex(i, "namespace", func(pod *corev1.Pod) []string { return []string{pod.Namespace} })
	informer.AddIndex(i, "node", func(pod *corev1.Pod) []string { return []string{pod.Spec.NodeName} })
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- i.Run(ctx) }()
	f := &follower{
		get: func(key string) *corev1.Pod {
			pod, _ := i.Get(key)
			return pod
		},
		stop: func() {
			cancel()
			must(<-ended)
		},
	}
	handlerOptions := informer.HandlerOptions{}
	if opts.latest {
		handlerOptions.Delivery = informer.LatestState
	}
	var registrations []*informer.Registration[*corev1.Pod]
	f.handle = func(t told) (<-chan struct{}, func()) {
		h := informer.Handler[*corev1.Pod]{Added: t.added}
		if t.updated != nil {
			h.Updated = func(_, pod *corev1.Pod) { t.updated(pod) }
		}
		r := i.AddHandler(h, handlerOptions)
		registrations = append(registrations, r)
		return r.Synced(), r.Remove
	}
	f.replay = func() {
		for _, r := range registrations {
			r.Replay()
		}
	}
	if err := i.WaitSynced(ctx); err != nil {
		f.stop()
		return nil, err
	}
	return f, nil
}

func followThroughCache(lw listerWatcher, _ listwatch.Source[*corev1.Pod], opts followerOptions) (*follower, error) {
	engine := cache.EngineOptions{}
	if opts.latest {
		engine.Delivery = informer.LatestState
	}
	options := cache.SharedIndexInformerOptions{
		Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, nodeIndex: nodeOf},
	}
	if opts.resync {
		options.ResyncPeriod = resyncPeriod
	}
	i, err := cache.NewSharedIndexInformerWithEngine(lw, &corev1.Pod{}, options, engine)
	if err != nil {
		return nil, err
	}
	return runShared(i.RunWithContext, i.HasSyncedChecker().Done(), i.GetIndexer().GetByKey, func(t told) (<-chan struct{}, func()) {
		r, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: anyAdded(t.added), UpdateFunc: anyUpdated(t.updated)})
		must(err)
		return r.HasSyncedChecker().Done(), func() { must(i.RemoveEventHandler(r)) }
	}), nil
}

func followClientGo(lw listerWatcher, _ listwatch.Source[*corev1.Pod], opts followerOptions) (*follower, error) {
	options := clientcache.SharedIndexInformerOptions{
		Indexers: clientcache.Indexers{clientcache.NamespaceIndex: clientcache.MetaNamespaceIndexFunc, nodeIndex: nodeOf},
	}
	if opts.resync {
		options.ResyncPeriod = resyncPeriod
	}
	i := clientcache.NewSharedIndexInformerWithOptions(lw, &corev1.Pod{}, options)
	return runShared(i.RunWithContext, i.HasSyncedChecker().Done(), i.GetIndexer().GetByKey, func(t told) (<-chan struct{}, func()) {
		r, err := i.AddEventHandler(clientcache.ResourceEventHandlerFuncs{AddFunc: anyAdded(t.added), UpdateFunc: anyUpdated(t.updated)})
		must(err)
		return r.HasSyncedChecker().Done(), func() { must(i.RemoveEventHandler(r)) }
	}), nil
}

// runShared runs an informer in client-go's manner and waits until it is synced.
func runShared(run func(context.Context), synced <-chan struct{}, getByKey func(string) (any, bool, error), handle func(told) (<-chan struct{}, func())) *follower {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	<-synced
	return &follower{
		handle: handle,
		get: func(key string) *corev1.Pod {
			obj, ok, err := getByKey(key)
			if err != nil || !ok {
				return nil
			}
			return obj.(*corev1.Pod)
		},
		stop: func() {
			cancel()
			<-ended
		},
	}
}

func anyAdded(added func(*corev1.Pod)) func(any) {
	if added == nil {
		return nil
	}
	return func(obj any) { added(obj.(*corev1.Pod)) }
}

func anyUpdated(updated func(*corev1.Pod)) func(_, obj any) {
	if updated == nil {
		return nil
	}
	return func(_, obj any) { updated(obj.(*corev1.Pod)) }
}
