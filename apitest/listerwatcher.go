package apitest

import (
	"context"
	"net/http"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// ListerWatcher lists and watches a resource in the process, without HTTP, with the methods that reflectors and informers in the manner
// of client-go ask for. Objects are of the resource's Go type, or *unstructured.Unstructured for custom resources. Each call is
// a request: recorded, and subject to faults.
type ListerWatcher struct {
	s         *Server
	gvr       schema.GroupVersionResource
	namespace string
}

// ListerWatcher lists and watches a resource; namespace "" means all namespaces.
func (s *Server) ListerWatcher(gvr schema.GroupVersionResource, namespace string) *ListerWatcher {
	return &ListerWatcher{s: s, gvr: gvr, namespace: namespace}
}

// List is ListWithContext that can't be cancelled.
func (lw *ListerWatcher) List(opts metav1.ListOptions) (runtime.Object, error) {
	return lw.ListWithContext(context.Background(), opts)
}

// Watch is WatchWithContext that can't be cancelled.
func (lw *ListerWatcher) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return lw.WatchWithContext(context.Background(), opts)
}

// ListWithContext gives a list such as *corev1.PodList. Objects that a fault makes undecodable fail it, as they fail a typed client;
// with objects of the wrong type it gives a *metav1.List.
func (lw *ListerWatcher) ListWithContext(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	l, err := lw.s.listAt(ctx, lw.gvr, lw.namespace, opts)
	if err != nil {
		return nil, err
	}
	items, mixed := make([]runtime.Object, len(l.objects)), false
	for i, o := range l.objects {
		switch l.damage[i] {
		case undecodable:
			return nil, l.notDecoded(o)
		case wrongType:
			items[i], mixed = stranger(l.endpoint, o), true
		default:
			items[i] = l.copyOf(o)
		}
	}
	if !mixed {
		return l.listOf(items, l.meta), nil
	}
	list := &metav1.List{ListMeta: l.meta}
	for _, item := range items {
		list.Items = append(list.Items, runtime.RawExtension{Object: item})
	}
	return list, nil
}

// WatchWithContext opens a watch. It ends with ctx, with Stop, and with the server; each such watch has a goroutine, which
// [Server.Close] waits for. A broken connection ends the result channel, as client-go's watches do.
func (lw *ListerWatcher) WatchWithContext(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	w, err := lw.s.watchAt(ctx, lw.gvr, lw.namespace, opts)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	iw := &interfaceWatch{w: w, cancel: cancel, results: make(chan watch.Event)}
	if !lw.s.enter() {
		cancel()
		return nil, errServerClosed
	}
	go func() {
		defer lw.s.running.Done()
		iw.run(ctx)
	}()
	return iw, nil
}

// interfaceWatch is a watcher as a watch.Interface.
type interfaceWatch struct {
	w       *watcher
	cancel  context.CancelFunc
	results chan watch.Event
	once    sync.Once
}

func (iw *interfaceWatch) ResultChan() <-chan watch.Event { return iw.results }

func (iw *interfaceWatch) Stop() { iw.once.Do(iw.cancel) }

func (iw *interfaceWatch) run(ctx context.Context) {
	defer close(iw.results)
	defer iw.cancel()
	defer iw.w.stop()
	send := func(ev watch.Event) bool {
		select {
		case iw.results <- ev:
			return true
		case <-ctx.Done():
			return false
		case <-iw.w.s.done:
			return false
		}
	}
	for {
		events, err := iw.w.next(ctx)
		if status, ok := statusOf(err); ok {
			send(watch.Event{Type: watch.Error, Object: &status})
		}
		if err != nil {
			return
		}
		for _, ev := range events {
			if !send(iw.w.watchEvent(ev)) {
				return
			}
		}
	}
}

// watchEvent is an event as a typed or dynamic client would give it.
func (e endpoint) watchEvent(ev event) watch.Event {
	switch {
	case ev.obj == nil:
		return watch.Event{Type: ev.typ, Object: e.bookmark(ev)}
	case ev.damage == undecodable:
		return watch.Event{Type: watch.Error, Object: &metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
			Message: "unable to decode an event from the watch stream: " + e.notDecoded(ev.obj).Error(),
		}}
	case ev.damage == wrongType:
		return watch.Event{Type: ev.typ, Object: stranger(e, ev.obj)}
	}
	return watch.Event{Type: ev.typ, Object: e.copyOf(ev.obj)}
}

// bookmark is the object of a Bookmark event: nothing but a resource version, and the mark of the end of a streaming list.
func (e endpoint) bookmark(ev event) runtime.Object {
	obj := e.newNative()
	m := mustMeta(obj)
	m.SetResourceVersion(formatRV(ev.rv))
	if ev.endOfList {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return obj
}

// listAt and watchAt are list and watch of a resource by its name.

func (s *Server) listAt(ctx context.Context, gvr schema.GroupVersionResource, namespace string, opts metav1.ListOptions) (*listing, error) {
	e, err := s.lookupRequest(ctx, Request{Verb: "list", Resource: gvr, Namespace: namespace, Options: opts})
	if err != nil {
		return nil, err
	}
	return s.list(ctx, e, namespace, opts)
}

func (s *Server) watchAt(ctx context.Context, gvr schema.GroupVersionResource, namespace string, opts metav1.ListOptions) (*watcher, error) {
	e, err := s.lookupRequest(ctx, Request{Verb: "watch", Resource: gvr, Namespace: namespace, Options: opts})
	if err != nil {
		return nil, err
	}
	return s.watch(ctx, e, namespace, opts)
}

// lookupRequest finds the resource of a request. One for a resource that is not served is recorded and meets faults all the same.
func (s *Server) lookupRequest(ctx context.Context, r Request) (endpoint, error) {
	e, err := s.lookup(r.Resource)
	if err != nil {
		if _, err := s.admit(ctx, r); err != nil {
			return endpoint{}, err
		}
	}
	return e, err
}
