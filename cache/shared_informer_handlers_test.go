package cache

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

func TestRemovedHandlerIsCalledNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf, h, other := newPodInformer(s), &callLog{}, &callLog{}
		r := addHandler(t, inf, h)
		addHandler(t, inf, other)
		start(t, inf.RunWithContext)
		h.told(t, "first list", "initial a:1")
		succeed(t, inf.RemoveEventHandler(r), inf.RemoveEventHandler(r))
		s.update("a", "2")
		h.told(t, "after the removal")
		other.told(t, "the other one", "initial a:1", "update a:1 a:2")
		if inf.IsStopped() {
			t.Error("the informer stopped")
		}
	})
}

func TestRemovalIsOfRegistrationsOfThisInformer(t *testing.T) {
	s := newPodServer(t)
	inf, another := newPodInformer(s), newPodInformer(s)
	foreign := addHandler(t, another, &callLog{})
	for name, handle := range map[string]ResourceEventHandlerRegistration{
		"nil":                nil,
		"another informer's": foreign,
		"somebody else's":    foreignRegistration{},
	} {
		if err := inf.RemoveEventHandler(handle); err == nil {
			t.Errorf("%s: no error", name)
		}
		if err := ShutDownEventHandler(inf, handle); err == nil {
			t.Errorf("%s: shut down without an error", name)
		}
	}
}

type foreignRegistration struct {
	ResourceEventHandlerRegistration
}

func TestRemovedHandlerHearsNothingOfItsBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		for i := range 10 {
			s.create(fmt.Sprintf("a%d", i), "1")
		}
		inf := newPodInformer(s)
		release := make(chan struct{})
		h := &callLog{before: func(string) { <-release }}
		r := addHandler(t, inf, h)
		start(t, inf.RunWithContext)
		synctest.Wait()
		succeed(t, inf.RemoveEventHandler(r)) // returns while a call runs
		shutDown := make(chan struct{})
		go func() {
			defer close(shutDown)
			succeed(t, ShutDownEventHandler(inf, r))
		}()
		synctest.Wait()
		select {
		case <-shutDown:
			t.Error("shut down while a call runs")
		default:
		}
		close(release)
		<-shutDown
		check(t, "calls", 1, len(h.take()))
	})
}

func TestHandlersComeAndGoFromInsideHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := newPodInformer(s)
		log := &callLog{}
		var mine ResourceEventHandlerRegistration
		var ready sync.WaitGroup
		ready.Add(1)
		mine = addHandler(t, inf, ResourceEventHandlerFuncs{AddFunc: func(any) {
			ready.Wait()
			addHandler(t, inf, log)
			addHandler(t, inf, ResourceEventHandlerFuncs{AddFunc: func(any) {
				succeed(t, inf.RemoveEventHandler(mine))
			}})
			succeed(t, ShutDownEventHandler(inf, mine)) // its own: not waited for
		}})
		ready.Done()
		start(t, inf.RunWithContext)
		log.told(t, "the handler that was added inside", "initial a:1")
		succeed(t, ShutDownEventHandler(inf, mine))
	})
}

func TestHandlersThatCameAndWentLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := newPodInformer(s)
		run := start(t, inf.RunWithContext)
		synctest.Wait()
		var calls sync.Map
		for i := range 1000 {
			r := addHandler(t, inf, ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { calls.Store(i, true) }})
			succeed(t, ShutDownEventHandler(inf, r))
		}
		s.update("a", "2")
		synctest.Wait()
		calls.Range(func(i, _ any) bool {
			t.Errorf("handler %d was called after it was shut down", i)
			return true
		})
		if left := len(inf.(*sharedIndexInformer).informer.Status().Handlers); left != 0 {
			t.Errorf("%d handlers are left", left)
		}
		if left := len(inf.(*sharedIndexInformer).resyncs.handlers); left != 0 {
			t.Errorf("%d handlers are left for resyncs", left)
		}
		run.stop()
	})
}

func TestHandlersComeFromManyGoroutinesBeforeAndAfterTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := newPodInformer(s)
		logs := make([]callLog, 20)
		var adding sync.WaitGroup
		for i := range logs {
			if i == len(logs)/2 {
				start(t, inf.RunWithContext)
			}
			adding.Go(func() {
				r, err := inf.AddEventHandler(&logs[i])
				if err != nil {
					t.Error(err)
				}
				check(t, "synced in the end", true, WaitFor(t.Context(), "", r.HasSyncedChecker()))
			})
		}
		adding.Wait()
		s.update("a", "2")
		for i := range logs {
			logs[i].told(t, fmt.Sprint("handler ", i), "initial a:1", "update a:1 a:2")
		}
	})
}

func TestHandlerThatPanicsEndsTheProcess(t *testing.T) {
	crash := utilruntime.ReallyCrash
	utilruntime.ReallyCrash = false
	panics := utilruntime.PanicHandlers
	var caught []any
	utilruntime.PanicHandlers = []func(context.Context, any){func(_ context.Context, r any) { caught = append(caught, r) }}
	defer func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, panics }()
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf, h := newPodInformer(s), &callLog{}
		r := addHandler(t, inf, ResourceEventHandlerFuncs{
			AddFunc:    func(any) { panic("a test's") },
			UpdateFunc: h.OnUpdate,
		})
		start(t, inf.RunWithContext)
		synctest.Wait()
		check(t, "given to the process's panic handlers, which would crash it", []any{"a test's"}, caught)
		check(t, "counts as told", true, r.HasSynced())
		s.update("a", "2")
		h.told(t, "if they don't, it goes on", "update a:1 a:2")
	})
}

func TestResyncIsForThoseWhoAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := NewSharedIndexInformer(s.listerWatcher(), &corev1.Pod{}, 10*time.Second, nil)
		standard, none, slow := &callLog{}, &callLog{}, &callLog{}
		addHandler(t, inf, standard)
		for h, period := range map[*callLog]time.Duration{none: 0, slow: 25 * time.Second} {
			_, err := inf.AddEventHandlerWithResyncPeriod(h, period)
			succeed(t, err)
		}
		start(t, inf.RunWithContext)
		time.Sleep(61 * time.Second)
		resyncs := func(n int) []string {
			want := []string{"initial a:1"}
			for range n {
				want = append(want, "resync a:1")
			}
			return want
		}
		standard.told(t, "with the informer's period of 10 s", resyncs(6)...)
		none.told(t, "without a period", resyncs(0)...)
		slow.told(t, "with 25 s, at each third check", resyncs(2)...)
	})
}

func TestResyncPeriods(t *testing.T) {
	period := func(d time.Duration) *time.Duration { return &d }
	for _, c := range []struct {
		name     string
		standard time.Duration
		before   []*time.Duration // asked for before the start
		after    *time.Duration   // asked for after it, if after2 is set
		late     bool
		check    time.Duration // in the end
		want     time.Duration // of the last handler
	}{
		{"none at all", 0, []*time.Duration{period(time.Minute)}, nil, false, 0, 0},
		{"the informer's own", time.Minute, []*time.Duration{nil}, nil, false, time.Minute, time.Minute},
		{"not wanted", time.Minute, []*time.Duration{period(0)}, nil, false, time.Minute, 0},
		{"less than a second", time.Minute, []*time.Duration{period(time.Millisecond)}, nil, false, time.Second, time.Second},
		{"the informer's own less than a second", time.Millisecond, []*time.Duration{nil}, nil, false, time.Second, time.Second},
		{"shorter than the informer's, before the start", time.Minute, []*time.Duration{period(5 * time.Second)}, nil, false, 5 * time.Second, 5 * time.Second},
		{"longer than the informer's", time.Minute, []*time.Duration{period(time.Hour)}, nil, false, time.Minute, time.Hour},
		{"shorter than the check, after the start", time.Minute, []*time.Duration{nil}, period(5 * time.Second), true, time.Minute, time.Minute},
		{"longer than the check, after the start", time.Minute, []*time.Duration{period(5 * time.Second)}, period(time.Minute), true, 5 * time.Second, time.Minute},
	} {
		r := newResyncs(c.standard)
		var last *handlerRegistration
		for _, asked := range c.before {
			last = &handlerRegistration{}
			r.add(last, asked, false, time.Time{})
		}
		if c.late {
			last = &handlerRegistration{}
			r.add(last, c.after, true, time.Time{})
		}
		check(t, c.name+": check period", c.check, r.check)
		check(t, c.name+": handler's period", c.want, last.period)
	}
}

func TestResyncDoesNotStopHandlersFromComingAndGoing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		for i := range 5 {
			s.create(fmt.Sprintf("a%d", i), "1")
		}
		inf := NewSharedIndexInformer(s.listerWatcher(), &corev1.Pod{}, time.Second, nil)
		run := start(t, inf.RunWithContext)
		slow := &callLog{before: func(string) { time.Sleep(300 * time.Millisecond) }}
		addHandler(t, inf, slow)
		for range 20 {
			r := addHandler(t, inf, ResourceEventHandlerFuncs{UpdateFunc: func(old, new any) {
				if inside, err := inf.AddEventHandler(&callLog{}); err == nil {
					succeed(t, inf.RemoveEventHandler(inside))
				}
			}})
			time.Sleep(700 * time.Millisecond)
			succeed(t, ShutDownEventHandler(inf, r))
		}
		run.stop()
		resyncs := 0
		for _, call := range slow.take() {
			if strings.HasPrefix(call, "resync") {
				resyncs++
			}
		}
		if resyncs == 0 {
			t.Error("the slow handler was never resynced")
		}
	})
}

func TestTypedInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := NewTypedSharedIndexInformer[*corev1.Pod](newPodInformer(s))
		succeed(t, inf.AddTypedIndexers(TypedIndexers[*corev1.Pod]{
			"content": func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.NodeName}, nil },
		}))
		log := &callLog{}
		_, err := inf.AddTypedEventHandler(typedLog(log))
		succeed(t, err)
		never := time.Duration(0)
		r, err := inf.AddTypedEventHandler(typedLog(&callLog{}), HandlerOptions{ResyncPeriod: &never})
		succeed(t, err)
		if _, err := inf.AddTypedEventHandler(typedLog(log), HandlerOptions{}, HandlerOptions{}); err == nil {
			t.Error("two options: no error")
		}
		start(t, inf.RunWithContext)
		log.told(t, "first list", "initial a:1")
		check(t, "synced", true, r.HasSynced())
		pods, err := inf.GetTypedIndexer().ByTypedIndex("content", "1")
		succeed(t, err)
		check(t, "pods of the index", 1, len(pods))
		s.LoseEvents(func() { s.delete("a") })
		settle()
		log.told(t, "after the gap", "delete lost(ns/a, a:1)")
	})
}
