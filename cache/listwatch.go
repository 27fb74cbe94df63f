package cache

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/util/watchlist"
)

// Lister lists a collection. One that can end a call early should be a [ListerWithContext] too: then that is used.
type Lister interface {
	// List returns a list object of the API, of which the items and the resource version are taken.
	//
	// Deprecated: implement ListerWithContext.ListWithContext.
	List(options metav1.ListOptions) (runtime.Object, error)
}

// ListerWithContext lists a collection.
type ListerWithContext interface {
	// ListWithContext returns a list object of the API, of which the items and the resource version are taken. It ends
	// with ctx.
	ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)
}

// Watcher watches a collection. One that can end a call early should be a [WatcherWithContext] too: then that is used.
type Watcher interface {
	// Watch begins a watch at options.ResourceVersion. With an error nothing is left behind to be stopped.
	//
	// Deprecated: implement WatcherWithContext.WatchWithContext.
	Watch(options metav1.ListOptions) (watch.Interface, error)
}

// WatcherWithContext watches a collection.
type WatcherWithContext interface {
	// WatchWithContext begins a watch at options.ResourceVersion. With an error nothing is left behind to be stopped.
	// The call ends with ctx.
	WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// ListerWatcher lists and watches a collection.
type ListerWatcher interface {
	Lister
	Watcher
}

// ListerWatcherWithContext lists and watches a collection.
type ListerWatcherWithContext interface {
	ListerWithContext
	WatcherWithContext
}

// ToListerWithContext returns l itself if it can, or else l whose calls return when the context ends, though what l does may go on
// in a goroutine of its own.
func ToListerWithContext(l Lister) ListerWithContext {
	if l, ok := l.(ListerWithContext); ok {
		return l
	}
	return contextLister{l}
}

type contextLister struct{ Lister }

func (l contextLister) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return withContext(ctx, func() (runtime.Object, error) { return l.List(options) }, forget)
}

// ToWatcherWithContext returns w itself if it can, or else w whose calls return when the context ends, though what w does may go on
// in a goroutine of its own.
func ToWatcherWithContext(w Watcher) WatcherWithContext {
	if w, ok := w.(WatcherWithContext); ok {
		return w
	}
	return contextWatcher{w}
}

type contextWatcher struct{ Watcher }

func (w contextWatcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return withContext(ctx, func() (watch.Interface, error) { return w.Watch(options) }, stopWatch)
}

// ToListerWatcherWithContext returns lw itself if it can, or else lw as [ToListerWithContext] and [ToWatcherWithContext]
// make it.
func ToListerWatcherWithContext(lw ListerWatcher) ListerWatcherWithContext {
	if lw, ok := lw.(ListerWatcherWithContext); ok {
		return lw
	}
	return struct {
		ListerWithContext
		WatcherWithContext
	}{ToListerWithContext(lw), ToWatcherWithContext(lw)}
}

// ListFunc lists a collection.
//
// Deprecated: use ListWithContextFunc.
type ListFunc func(options metav1.ListOptions) (runtime.Object, error)

// ListWithContextFunc lists a collection; see [ListerWithContext].
type ListWithContextFunc func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error)

// WatchFunc watches a collection.
//
// Deprecated: use WatchFuncWithContext.
type WatchFunc func(options metav1.ListOptions) (watch.Interface, error)

// WatchFuncWithContext watches a collection; see [WatcherWithContext].
type WatchFuncWithContext func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)

// ListWatch is a [ListerWatcher] of functions. One to list and one to watch are needed; of two the one that takes a
// context is used where there is a context, and the other one where there is none.
type ListWatch struct {
	// Deprecated: use ListWithContextFunc.
	ListFunc ListFunc
	// Deprecated: use WatchFuncWithContext.
	WatchFunc WatchFunc

	ListWithContextFunc  ListWithContextFunc
	WatchFuncWithContext WatchFuncWithContext

	// DisableChunking makes every list one answer, whatever page size a reflector would like.
	DisableChunking bool
}

// Getter is what is needed of a REST client.
type Getter interface {
	Get() *restclient.Request
}

// NewListWatchFromClient lists and watches, through client, what fieldSelector matches of a resource in a namespace; ""
// is all namespaces, and right for a cluster-scoped resource.
func NewListWatchFromClient(c Getter, resource string, namespace string, fieldSelector fields.Selector) *ListWatch {
	return NewFilteredListWatchFromClient(c, resource, namespace, func(options *metav1.ListOptions) {
		options.FieldSelector = fieldSelector.String()
	})
}

// NewFilteredListWatchFromClient is [NewListWatchFromClient] with any change to the options, a label selector for
// example. optionsModifier is called for each list and watch.
func NewFilteredListWatchFromClient(c Getter, resource string, namespace string, optionsModifier func(options *metav1.ListOptions)) *ListWatch {
	request := func(options metav1.ListOptions) *restclient.Request {
		return c.Get().Namespace(namespace).Resource(resource).VersionedParams(&options, metav1.ParameterCodec)
	}
	list := func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		optionsModifier(&options)
		return request(options).Do(ctx).Get()
	}
	open := func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.Watch = true
		optionsModifier(&options)
		return request(options).Watch(ctx)
	}
	return &ListWatch{
		ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
			return list(context.Background(), options)
		},
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			return open(context.Background(), options)
		},
		ListWithContextFunc:  list,
		WatchFuncWithContext: open,
	}
}

// List is ListWithContext without one.
//
// Deprecated: use ListWithContext.
func (lw *ListWatch) List(options metav1.ListOptions) (runtime.Object, error) {
	if lw.ListFunc == nil {
		return lw.ListWithContext(context.Background(), options)
	}
	return lw.ListFunc(lw.chunking(options))
}

// ListWithContext lists as options say. It does not page: that is the caller's, through options.
func (lw *ListWatch) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	switch {
	case lw.ListWithContextFunc != nil:
		return lw.ListWithContextFunc(ctx, lw.chunking(options))
	case lw.ListFunc != nil:
		return withContext(ctx, func() (runtime.Object, error) { return lw.ListFunc(lw.chunking(options)) }, forget)
	}
	return nil, errors.New("ListWatch has no function to list")
}

func (lw *ListWatch) chunking(options metav1.ListOptions) metav1.ListOptions {
	if lw.DisableChunking {
		options.Limit, options.Continue = 0, ""
	}
	return options
}

// Watch is WatchWithContext without one.
//
// Deprecated: use WatchWithContext.
func (lw *ListWatch) Watch(options metav1.ListOptions) (watch.Interface, error) {
	if lw.WatchFunc == nil {
		return lw.WatchWithContext(context.Background(), options)
	}
	return lw.WatchFunc(options)
}

// WatchWithContext watches as options say.
func (lw *ListWatch) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	switch {
	case lw.WatchFuncWithContext != nil:
		return lw.WatchFuncWithContext(ctx, options)
	case lw.WatchFunc != nil:
		return withContext(ctx, func() (watch.Interface, error) { return lw.WatchFunc(options) }, stopWatch)
	}
	return nil, errors.New("ListWatch has no function to watch")
}

// ToListWatcherWithWatchListSemantics is lw that knows whether client, which its functions use, says of itself that it
// has no streaming lists (client-go's fakes do): then reflectors don't try.
func ToListWatcherWithWatchListSemantics(lw *ListWatch, client any) ListerWatcher {
	if !watchlist.DoesClientNotSupportWatchListSemantics(client) {
		return lw
	}
	return listWatchWithoutStreaming{lw}
}

type listWatchWithoutStreaming struct{ *ListWatch }

// IsWatchListSemanticsUnSupported is what [watchlist.DoesClientNotSupportWatchListSemantics] asks.
func (listWatchWithoutStreaming) IsWatchListSemanticsUnSupported() bool { return true }
