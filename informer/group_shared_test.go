package informer_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/informerkit/informerkit/informer"
)

func TestHandlersOfAHandleComeAndGo(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		s := hold[object](w, mapScope)
		w.run()
		w.settle()

		ctx, cancel := context.WithCancel(w.ctx)
		bound, b := follow(s, informer.HandlerOptions{Name: "bound", Context: ctx})
		stays, st := follow(s, informer.HandlerOptions{})
		panics := s.AddHandler(handler{Event: func(event) { panic("no") }}, informer.HandlerOptions{Name: "panics", OnPanic: func(string, any) {}})
		w.must(w.group.WaitHandlersSynced(w.ctx))
		if len(bound.take()) != 1 || len(stays.take()) != 1 || b.Name() != "bound" || st.Name() == "" {
			t.Errorf("handlers %q and %q", b.Name(), st.Name())
		}
		hs := s.Status().Handlers
		if len(hs) != 3 || hs[0].Name != "bound" || !hs[0].Synced || hs[2].Panics != 1 || panics.Backlog().Changes != 0 {
			t.Errorf("status %+v", hs)
		}
		cancel()
		<-b.Done()
		panics.Remove()
		panics.Remove()
		<-panics.Done()
		w.update(cm("a", "2"))
		synctest.Wait()
		if len(bound.take()) != 0 || len(stays.take()) != 1 {
			t.Error("told to the wrong one")
		}
		if hs := s.Status().Handlers; len(hs) != 1 {
			t.Errorf("left: %+v", hs)
		}
		if panics.Replay(); panics.Backlog() != (informer.Backlog{}) {
			t.Error("a removed handler has a backlog")
		}
	})
}

func TestHandlerRemovedWhileItWaitsForWholeObjects(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		hold[metadata](w, mapScope)
		w.run()
		w.settle()
		s := hold[object](w, mapScope)
		told, r := follow(s, informer.HandlerOptions{})
		r.Replay()
		if r.Backlog() != (informer.Backlog{}) {
			t.Error("it has a backlog")
		}
		waiting := make(chan error)
		go func() { waiting <- r.WaitSynced(w.ctx) }()
		synctest.Wait()
		r.Remove()
		<-r.Done()
		if err := <-waiting; !errors.Is(err, informer.ErrRemoved) {
			t.Errorf("WaitSynced: %v", err)
		}
		w.must(s.WaitSynced(w.ctx))
		synctest.Wait()
		expect(t, told.take())
	})
}

// The group waits for handlers, and names the one that is not done.
func TestGroupWaitForHandlersNamesTheSlowOne(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		hold[object](w, informer.Scope{Resource: configmaps, Namespace: "default"})
		s := hold[object](w, mapScope)
		s.AddHandler(handler{Added: func(object) { time.Sleep(time.Hour) }}, informer.HandlerOptions{Name: "slow"})
		w.run()
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		w.must(w.group.WaitSynced(ctx))
		var not *informer.NotSyncedError
		if err := w.group.WaitHandlersSynced(ctx); !errors.As(err, &not) || not.Handler != "slow" || !strings.Contains(err.Error(), "1 of 2") {
			t.Errorf("error is %v", err)
		}
		w.must(w.group.WaitHandlersSynced(w.ctx))
	})
}

// After the last release nothing holds on to the objects, though the handle and its parts are still referenced.
func TestReleaseFreesTheObjects(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		s := hold[object](w, mapScope)
		told, r := follow(s, informer.HandlerOptions{})
		ix := s.AddIndex("value", func(obj object) []string { return []string{obj.Data["v"]} })
		lister := s.Lister(informer.ListerOptions[object]{})
		w.run()
		w.settle()
		told.take()
		var freed atomic.Bool
		func() {
			obj, _ := s.Get("default/a")
			runtime.AddCleanup(obj, func(int) { freed.Store(true) }, 0)
		}()
		s.Release()
		<-s.Done()
		synctest.Wait()
		for n := 0; n < 100 && !freed.Load(); n++ {
			runtime.GC()
			runtime.Gosched()
		}
		if !freed.Load() {
			t.Error("the object is still referenced")
		}
		runtime.KeepAlive([]any{s, r, ix, lister})
	})
}

func TestSharedLister(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		for n, name := range []string{"a", "b", "c"} {
			obj := cm(name, "1")
			obj.Labels = map[string]string{"n": fmt.Sprint(n % 2)}
			w.create(obj)
		}
		elsewhere := cm("d", "1")
		elsewhere.Namespace, elsewhere.Labels = "elsewhere", map[string]string{"n": "0"}
		w.create(elsewhere)
		typed, meta := hold[object](w, mapScope), hold[metadata](w, mapScope)
		lister := typed.Lister(informer.ListerOptions[object]{Copy: object.DeepCopy})
		plain := meta.Lister(informer.ListerOptions[metadata]{NoLabelIndex: true})
		w.run()
		w.settle()
		selector := labels.SelectorFromSet(labels.Set{"n": "0"})
		names := func(namespace string, selector labels.Selector) (a, b []string) {
			for key := range lister.List(namespace, selector) {
				a = append(a, key)
			}
			for _, obj := range plain.Slice(namespace, selector) {
				b = append(b, obj.Namespace+"/"+obj.Name)
			}
			slices.Sort(a)
			slices.Sort(b)
			return a, b
		}
		for _, test := range []struct {
			namespace string
			selector  labels.Selector
			want      []string
		}{
			{"", nil, []string{"default/a", "default/b", "default/c", "elsewhere/d"}},
			{"default", nil, []string{"default/a", "default/b", "default/c"}},
			{"", selector, []string{"default/a", "default/c", "elsewhere/d"}},
			{"elsewhere", selector, []string{"elsewhere/d"}},
		} {
			a, b := names(test.namespace, test.selector)
			expect(t, a, test.want...)
			expect(t, b, test.want...)
		}
		obj, err := lister.Get("default", "a")
		w.must(err)
		obj.Data["v"] = "changed"
		if held, _ := typed.Get("default/a"); held.Data["v"] != "1" {
			t.Error("a copy was asked for")
		}
		if _, err := plain.Get("default", "z"); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), `configmaps "z"`) {
			t.Errorf("error is %v", err)
		}
	})
}

func TestSharedIndexes(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"), cm("b", "2"))
		typed, dynamic := hold[object](w, mapScope), hold[untyped](w, mapScope)
		w.run()
		w.settle()
		one := typed.AddIndex("value", func(obj object) []string { return []string{obj.Data["v"]} })
		two := dynamic.AddIndex("value", func(u untyped) []string {
			return []string{u.Object["data"].(map[string]any)["v"].(string)}
		})
		for key := range one.Get(typed.Snapshot(), "2") {
			expect(t, []string{key}, "default/b")
		}
		for key, obj := range two.Get(dynamic.Snapshot(), "2") {
			expect(t, []string{key, obj.GetKind()}, "default/b", "ConfigMap")
		}
		two.Remove()
		two.Remove()
		w.update(cm("b", "3"))
		synctest.Wait()
		if n := two.Count(dynamic.Snapshot(), "3"); n != 1 {
			t.Errorf("a removed index finds %d", n)
		}
		snapshot := typed.Snapshot()
		if obj, ok := snapshot.Get("default/b"); !ok || obj.Data["v"] != "3" || snapshot.Len() != 2 || snapshot.Revision() != w.server.ResourceVersion() {
			t.Errorf("snapshot has %v of %d at %s", obj, snapshot.Len(), snapshot.Revision())
		}
		typed.Release()
		if ix := typed.AddIndex("late", func(object) []string { return []string{"x"} }); ix.Count(typed.Snapshot(), "x") != 0 {
			t.Error("an index of a released handle finds objects")
		}
		for range one.Get(typed.Snapshot(), "3") {
			t.Error("a released handle finds objects by index")
		}
	})
}

// Waiting for a version, and how fresh the copy is, are those of the informer.
func TestSharedFreshness(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		s := hold[untyped](w, mapScope)
		if v := s.Version(); v != (informer.Version{}) {
			t.Errorf("version %+v before the start", v)
		}
		w.run()
		w.update(cm("a", "2"))
		w.must(s.WaitFor(w.ctx, w.server.ResourceVersion()))
		if v := s.Version(); v.ResourceVersion != w.server.ResourceVersion() || v.Confirmed.IsZero() {
			t.Errorf("version %+v", v)
		}
		if err := s.WaitFor(w.ctx, "yesterday"); err == nil {
			t.Error("waits for a version that is no number")
		}
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		if err := s.WaitFor(ctx, "1000"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitFor: %v", err)
		}
	})
}
