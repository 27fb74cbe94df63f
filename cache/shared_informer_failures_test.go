package cache

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
)

func TestSharedInformerStoresWhatAnIndexFunctionFailsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("good", "1")
		s.create("bad", "refused")
		s.create("worse", "panics")
		inf := NewSharedIndexInformer(s.listerWatcher(), &corev1.Pod{}, 0, Indexers{
			"all": func(any) ([]string, error) { return []string{"x"}, nil },
			"picky": func(obj any) ([]string, error) {
				switch obj.(*corev1.Pod).Spec.NodeName {
				case "refused":
					return nil, errors.New("refused")
				case "panics":
					panic("a test's")
				}
				return []string{"x"}, nil
			},
		})
		h := &callLog{}
		addHandler(t, inf, h)
		start(t, inf.RunWithContext)
		h.toldInAnyOrder(t, "first list", "initial good:1", "initial bad:refused", "initial worse:panics")
		inIndex := func(what, name string, want ...string) {
			t.Helper()
			found, err := inf.GetIndexer().ByIndex(name, "x")
			succeed(t, err)
			check(t, what, append([]string{}, want...), contents(found))
		}
		inIndex("in the other index", "all", "bad:refused", "good:1", "worse:panics")
		inIndex("in the index", "picky", "good:1")
		s.update("bad", "2")
		synctest.Wait()
		inIndex("repaired", "picky", "bad:2", "good:1")
		s.delete("bad")
		s.delete("worse")
		synctest.Wait()
		inIndex("in the end", "picky", "good:1")
		inIndex("in the end, in the other index", "all", "good:1")
	})
}

func TestSharedInformerKeepsTheRestCurrentBesideAnObjectOfAnotherType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("bad", "1")
		s.create("good", "1")
		fault := s.Inject(apitest.Fault{WrongType: []string{"ns/bad"}})
		inf, h := newPodInformer(s), &callLog{}
		addHandler(t, inf, h)
		start(t, inf.RunWithContext)
		h.told(t, "first list", "initial good:1")
		check(t, "synced", true, inf.HasSynced())
		s.update("good", "2")
		h.told(t, "the other one", "update good:1 good:2")
		fault.Remove()
		s.update("bad", "2")
		h.told(t, "when it is right", "add bad:2")
	})
}

func TestSharedInformerIgnoresAnOlderState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch.NewFake()
		inf := NewSharedIndexInformer(withoutStreaming{&ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &corev1.PodList{
					ListMeta: metav1.ListMeta{ResourceVersion: "12"},
					Items:    []corev1.Pod{*newPod("ns/a", "12")},
				}, nil
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return w, nil },
		}}, &corev1.Pod{}, 0, nil)
		updates := 0
		addHandler(t, inf, ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { updates++ }})
		start(t, inf.RunWithContext)
		synctest.Wait()
		w.Modify(newPod("ns/a", "11"))
		synctest.Wait()
		check(t, "store", []string{"ns/a@12"}, states(inf.GetStore().List()))
		check(t, "resource version", "12", inf.LastSyncResourceVersion())
		w.Modify(newPod("ns/a", "13"))
		synctest.Wait()
		check(t, "store", []string{"ns/a@13"}, states(inf.GetStore().List()))
		check(t, "updates", 1, updates)
	})
}

func TestSharedInformerWorksWithFakesThatHaveNoResourceVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		watches := make(chan *watch.FakeWatcher, 1)
		inf := NewSharedIndexInformer(withoutStreaming{&ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
				return &corev1.PodList{Items: []corev1.Pod{*podOf("a", "1")}}, nil
			},
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				w := watch.NewFake()
				watches <- w
				return w, nil
			},
		}}, &corev1.Pod{}, 0, nil)
		h := &callLog{}
		addHandler(t, inf, h)
		start(t, inf.RunWithContext)
		w := <-watches
		h.told(t, "first list", "initial a:1")
		w.Modify(podOf("a", "2"))
		w.Add(podOf("b", "1"))
		w.Modify(podOf("b", "2"))
		w.Delete(podOf("a", "2"))
		h.told(t, "watch", "update a:1 a:2", "add b:1", "update b:1 b:2", "delete a:2")
	})
}

func TestSharedInformerLeavesOutWhatTheTransformDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "keep")
		s.create("b", "drop")
		inf, h := newPodInformer(s), &callLog{}
		succeed(t, inf.SetTransform(func(obj any) (any, error) {
			if obj.(*corev1.Pod).Spec.NodeName == "drop" {
				return nil, informer.ErrDrop
			}
			return obj, nil
		}))
		addHandler(t, inf, h)
		start(t, inf.RunWithContext)
		h.told(t, "first list", "initial a:keep")
		s.update("b", "keep")
		s.update("a", "drop")
		h.told(t, "watch", "add b:keep", "delete lost(ns/a, a:keep)")
	})
}

// Here that they reach the detector: a change in place is a data race with the detector that finds it, which is tested alone.
func TestSharedInformerWatchesForObjectsThatAreChangedInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := newPodInformer(s)
		spy := &spyDetector{}
		inf.(*sharedIndexInformer).mutations = spy
		start(t, inf.RunWithContext)
		synctest.Wait()
		s.create("b", "1")
		synctest.Wait()
		spy.mu.Lock()
		defer spy.mu.Unlock()
		if len(spy.objs) != 2 || !spy.ran {
			t.Fatalf("%d objects are watched, want 2; the detector runs: %t", len(spy.objs), spy.ran)
		}
		for _, obj := range spy.objs {
			if stored, _, _ := inf.GetStore().Get(obj); stored != obj {
				t.Errorf("what is watched is not what is stored: %v", obj)
			}
		}
	})
}

// spyDetector notes what it is given.
type spyDetector struct {
	mu   sync.Mutex // guards what follows
	ran  bool
	objs []any
}

func (d *spyDetector) AddObject(obj any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.objs = append(d.objs, obj)
}

func (d *spyDetector) Run(stopCh <-chan struct{}) {
	d.mu.Lock()
	d.ran = true
	d.mu.Unlock()
	<-stopCh
}

func TestSharedInformerLogsWithItsNameAndType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.Inject(apitestFault("", errors.New("refused by a test"), 0))
		inf := NewSharedIndexInformerWithOptions(s.listerWatcher(), &corev1.Pod{}, SharedIndexInformerOptions{ObjectDescription: "my pods"})
		var log []string
		start(t, func(ctx context.Context) { inf.RunWithContext(logTo(ctx, &log)) })
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(log) == 0 || len(log) > 10 {
			t.Fatalf("%d lines in a minute of the same failure: %v", len(log), log)
		}
		for _, want := range []string{`"informer"="`, `.go:`, `"type"="my pods"`, "refused by a test"} {
			if !strings.Contains(log[0], want) {
				t.Errorf("the line lacks %s: %s", want, log[0])
			}
		}
	})
}

func TestHandlerLogsItsPanicsToItsLogger(t *testing.T) {
	crash := utilruntime.ReallyCrash
	utilruntime.ReallyCrash = false
	defer func() { utilruntime.ReallyCrash = crash }()
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := newPodInformer(s)
		var log []string
		logger := funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{})
		_, err := inf.AddEventHandlerWithOptions(ResourceEventHandlerFuncs{AddFunc: func(any) { panic("a test's") }}, HandlerOptions{Logger: &logger})
		succeed(t, err)
		start(t, inf.RunWithContext)
		synctest.Wait()
		if got := strings.Join(log, "\n"); !strings.Contains(got, "a test's") || !strings.Contains(got, "shared_informer_failures_test.go") {
			t.Errorf("want the panic and where it was, got %s", got)
		}
	})
}
