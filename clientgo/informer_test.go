package clientgo_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/apitest"
	ours "github.com/informerkit/informerkit/cache"
	"github.com/informerkit/informerkit/clientgo"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

var configmaps = corev1.SchemeGroupVersion.WithResource("configmaps")

func cm(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Data: map[string]string{"v": value}}
}

// bench is a server and an informer of client-go's type.
type bench struct {
	*testing.T
	server   *apitest.Server
	informer cache.SharedIndexInformer
	ctx      context.Context
}

// inBubble runs a test with an informer that is not started yet, and checks at its end that nothing is left of it.
func inBubble(t *testing.T, opts clientgo.Options, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := apitest.NewServer(apitest.Options{})
		defer server.Close()
		lw := server.ListerWatcher(configmaps, "")
		indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
		b := &bench{T: t, server: server, informer: opts.NewInformer(lw, &corev1.ConfigMap{}, 0, indexers)}
		var cancel context.CancelFunc
		b.ctx, cancel = context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		test(b)
	})
}

func (b *bench) start() {
	b.Helper()
	go b.informer.RunWithContext(b.ctx)
	if !cache.WaitForCacheSync(b.ctx.Done(), b.informer.HasSynced) {
		b.Fatal("not synced")
	}
	synctest.Wait()
}

func (b *bench) must(_ any, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// words records what a handler is told.
type words struct {
	mu sync.Mutex
	s  []string
}

func (w *words) add(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.s = append(w.s, fmt.Sprintf(format, args...))
}

func (w *words) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.s
	w.s = nil
	return s
}

func (w *words) handler() cache.ResourceEventHandler {
	value := func(obj any) string { return obj.(*corev1.ConfigMap).Name + "=" + obj.(*corev1.ConfigMap).Data["v"] }
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, initial bool) { w.add("add %s %t", value(obj), initial) },
		UpdateFunc: func(old, new any) { w.add("update %s %s", value(old), value(new)) },
		DeleteFunc: func(obj any) {
			if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				w.add("tombstone %s %s", d.Key, value(d.Obj))
				return
			}
			w.add("delete %s", value(obj))
		},
	}
}

func expect(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestHandlersGetClientGoTombstones(t *testing.T) {
	inBubble(t, clientgo.Options{}, func(b *bench) {
		b.must(apitest.Create(b.server, cm("a", "1")))
		b.must(apitest.Create(b.server, cm("b", "1")))
		var told words
		b.must(b.informer.AddEventHandler(told.handler()))
		b.start()
		b.must(apitest.Update(b.server, cm("a", "2")))
		b.must(apitest.Delete(b.server, cm("b", "")))
		synctest.Wait()
		b.server.LoseEvents(func() { b.must(apitest.Delete(b.server, cm("a", ""))) })
		time.Sleep(time.Minute)
		synctest.Wait()
		got := told.take()
		slices.Sort(got[:2])
		expect(t, got, "add a=1 true", "add b=1 true", "update a=1 a=2", "delete b=1", "tombstone default/a a=2")
	})
}

// Thousands of unit tests fill an informer's indexer by hand and never run it.
func TestIndexerCanBeFilledWithoutRunning(t *testing.T) {
	inBubble(t, clientgo.Options{}, func(b *bench) {
		indexer := b.informer.GetIndexer()
		if err := errors.Join(indexer.Add(cm("a", "1")), indexer.Add(cm("b", "1")), indexer.Update(cm("a", "2"))); err != nil {
			t.Fatal(err)
		}
		lister := corelisters.NewConfigMapLister(indexer)
		if obj, err := lister.ConfigMaps("default").Get("a"); err != nil || obj.Data["v"] != "2" {
			t.Errorf("got %v, %v", obj, err)
		}
		if _, err := lister.ConfigMaps("default").Get("absent"); !apierrors.IsNotFound(err) {
			t.Errorf("absent: %v", err)
		}
		if all, err := lister.List(labels.Everything()); err != nil || len(all) != 2 {
			t.Errorf("list: %v, %v", all, err)
		}
		if err := indexer.Delete(cache.DeletedFinalStateUnknown{Key: "default/a", Obj: cm("a", "1")}); err != nil {
			t.Error(err)
		}
		if _, ok, err := indexer.Get(cache.ExplicitKey("default/b")); !ok || err != nil {
			t.Errorf("by explicit key: %t, %v", ok, err)
		}
		if keys := b.informer.GetStore().ListKeys(); len(keys) != 1 {
			t.Errorf("keys %v", keys)
		}
		if err := indexer.Replace([]any{cm("c", "1")}, "7"); err != nil || indexer.LastStoreSyncResourceVersion() != "7" {
			t.Errorf("replace: %v, version %s", err, indexer.LastStoreSyncResourceVersion())
		}
	})
}

func TestIndexersAreClientGos(t *testing.T) {
	inBubble(t, clientgo.Options{}, func(b *bench) {
		byValue := func(obj any) ([]string, error) { return []string{obj.(*corev1.ConfigMap).Data["v"]}, nil }
		b.must(nil, b.informer.AddIndexers(cache.Indexers{"value": byValue}))
		if err := b.informer.AddIndexers(cache.Indexers{"value": byValue}); err == nil {
			t.Error("a name that is taken is no error")
		}
		b.must(apitest.Create(b.server, cm("a", "1")))
		b.start()
		b.must(nil, b.informer.AddIndexers(cache.Indexers{"late": byValue}))
		for _, name := range []string{"value", "late"} {
			if objs, err := b.informer.GetIndexer().ByIndex(name, "1"); err != nil || len(objs) != 1 {
				t.Errorf("%s: %v, %v", name, objs, err)
			}
		}
		if n := len(b.informer.GetIndexer().GetIndexers()); n != 3 {
			t.Errorf("%d indexers", n)
		}
	})
}

// The optional interfaces and unwritten habits that big users rely on.
func TestOptionalInterfaces(t *testing.T) {
	inBubble(t, clientgo.Options{}, func(b *bench) {
		b.must(apitest.Create(b.server, cm("a", "1")))
		var told words
		reg, err := b.informer.AddEventHandler(told.handler())
		b.must(nil, err)
		go b.informer.Run(b.ctx.Done())
		if !cache.WaitFor(b.ctx, "test", b.informer.HasSyncedChecker(), reg.HasSyncedChecker()) {
			t.Fatal("not synced")
		}
		if !reg.HasSynced() || !b.informer.GetController().HasSynced() || !cache.IsDone(b.informer.GetController().HasSyncedChecker()) {
			t.Error("synced, but somebody says it is not")
		}
		if rv := b.informer.LastSyncResourceVersion(); rv != b.server.ResourceVersion() || rv != b.informer.GetController().LastSyncResourceVersion() {
			t.Errorf("last resource version %q, the server's is %q", rv, b.server.ResourceVersion())
		}
		shutdown, ok := reg.(interface{ ShutdownChan() <-chan struct{} })
		if !ok {
			t.Fatal("no ShutdownChan")
		}
		b.must(nil, b.informer.RemoveEventHandler(reg))
		<-shutdown.ShutdownChan()
		told.take()
		b.must(apitest.Create(b.server, cm("b", "1")))
		synctest.Wait()
		expect(t, told.take())
		if err := b.informer.RemoveEventHandler(nil); err == nil {
			t.Error("removing what is no registration is no error")
		}
	})
}

func TestHandlersComeFromSeveralGoroutinesBeforeAndAfterStart(t *testing.T) {
	inBubble(t, clientgo.Options{}, func(b *bench) {
		for n := range 20 {
			b.must(apitest.Create(b.server, cm(fmt.Sprint("o", n), "1")))
		}
		var calls atomic.Int32
		var adding sync.WaitGroup
		add := func() {
			_, err := b.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { calls.Add(1) }})
			b.must(nil, err)
		}
		for range 10 {
			adding.Go(add)
		}
		go b.informer.RunWithContext(b.ctx)
		for range 10 {
			adding.Go(add)
		}
		adding.Wait()
		if !cache.WaitForCacheSync(b.ctx.Done(), b.informer.HasSynced) {
			t.Fatal("not synced")
		}
		synctest.Wait()
		if calls.Load() != 400 {
			t.Errorf("%d calls, want 20 handlers times 20 objects", calls.Load())
		}
	})
}

func TestAddAfterStopIsAnError(t *testing.T) {
	inBubble(t, clientgo.Options{}, func(b *bench) {
		ctx, cancel := context.WithCancel(b.ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.informer.RunWithContext(ctx)
		}()
		synctest.Wait()
		cancel()
		<-done
		if !b.informer.IsStopped() {
			t.Error("not stopped")
		}
		if _, err := b.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{}); err == nil {
			t.Error("adding a handler to a stopped informer is no error")
		}
	})
}

// Fakes give objects no resource versions: every state is told.
func TestFakesWithoutResourceVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := watch.NewFake()
		lw := &cache.ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
				return &corev1.ConfigMapList{Items: []corev1.ConfigMap{*cm("a", "1")}}, nil
			},
			WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) {
				if o.SendInitialEvents != nil {
					return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), "", nil)
				}
				return events, nil
			},
		}
		i := clientgo.NewInformer(lw, &corev1.ConfigMap{}, 0, cache.Indexers{})
		var told words
		if _, err := i.AddEventHandler(told.handler()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			i.RunWithContext(ctx)
		}()
		synctest.Wait()
		events.Modify(cm("a", "2"))
		events.Modify(cm("a", "2"))
		events.Add(cm("b", "1"))
		events.Delete(cm("a", "2"))
		synctest.Wait()
		expect(t, told.take(), "add a=1 true", "update a=1 a=2", "update a=2 a=2", "add b=1 false", "delete a=2")
		cancel()
		<-done
	})
}

func TestWatchErrorHandlersAreToldWithAReflectorTheyCanUse(t *testing.T) {
	inBubble(t, clientgo.Options{}, func(b *bench) {
		fault := b.server.Inject(apitest.Fault{Error: apierrors.NewForbidden(configmaps.GroupResource(), "", errors.New("no role")), Times: 3})
		var told int
		b.must(nil, b.informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
			told++
			// Many handlers end with the default one. (It waits for other errors, by a clock that is not the bubble's.)
			cache.DefaultWatchErrorHandler(ctx, r, apierrors.NewResourceExpired(err.Error()))
			if !apierrors.IsForbidden(err) || r.TypeDescription() == "" {
				t.Errorf("told of %v by %q", err, r.TypeDescription())
			}
		}))
		b.start()
		if told != fault.Hits() || told != 3 {
			t.Errorf("told %d times of %d failures", told, fault.Hits())
		}
		if err := b.informer.SetWatchErrorHandler(func(*cache.Reflector, error) {}); err == nil {
			t.Error("a handler set after the start is no error")
		}
	})
}

func TestOptionsReachTheEngine(t *testing.T) {
	var created []cache.SharedIndexInformer
	opts := clientgo.Options{
		Engine: ours.EngineOptions{
			Delivery:   informer.LatestState,
			LabelIndex: true,
			Reflector:  reflector.Options{PageSize: 5, Streaming: reflector.StreamingOff},
		},
		Transform: func(obj any) (any, error) {
			obj.(*corev1.ConfigMap).Data["first"] = "yes"
			return obj, nil
		},
		Created: func(i cache.SharedIndexInformer) { created = append(created, i) },
	}
	inBubble(t, opts, func(b *bench) {
		if len(created) != 1 || created[0] != b.informer {
			t.Error("Created was not told of the informer")
		}
		b.must(nil, b.informer.SetTransform(func(obj any) (any, error) {
			obj.(*corev1.ConfigMap).Data["v"] += obj.(*corev1.ConfigMap).Data["first"]
			return obj, nil
		}))
		for n := range 12 {
			b.must(apitest.Create(b.server, cm(fmt.Sprint("o", n), "1")))
		}
		block := make(chan struct{})
		var told words
		recording := told.handler()
		b.must(b.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, new any) {
			recording.OnUpdate(old, new)
			<-block
		}}))
		b.start()
		if n := b.server.CountRequests("list", "configmaps"); n != 3 {
			t.Errorf("%d pages, want 3", n)
		}
		b.must(apitest.Update(b.server, cm("o1", "2")))
		synctest.Wait()
		for n := range 5 {
			b.must(apitest.Update(b.server, cm("o2", fmt.Sprint("x", n))))
			synctest.Wait()
		}
		below, ok := clientgo.InformerOf(b.informer)
		if !ok || below.Status().Objects != 12 || below.Status().Handlers[0].Backlog.Changes != 1 {
			t.Errorf("status %+v", below.Status())
		}
		close(block)
		synctest.Wait()
		expect(t, told.take(), "update o1=1yes o1=2yes", "update o2=1yes o2=x4yes")
		if _, ok := b.informer.GetIndexer().GetIndexers()[ours.LabelIndex]; !ok {
			t.Error("no label index")
		}
	})
}

func TestOptionsThatCannotBeRightSayWhich(t *testing.T) {
	opts := clientgo.Options{Engine: ours.EngineOptions{Reflector: reflector.Options{PageSize: -1}}}
	if err := opts.Validate(); err == nil || !strings.Contains(err.Error(), "PageSize") {
		t.Errorf("error is %v", err)
	}
	if err := (clientgo.Options{}).Validate(); err != nil {
		t.Error(err)
	}
	if _, ok := clientgo.InformerOf(cache.NewSharedIndexInformer(&cache.ListWatch{}, &corev1.Pod{}, 0, nil)); ok {
		t.Error("client-go's informer is taken for ours")
	}
}
