package informer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
)

// The last release ends the informer and frees what it held; who acquires after that gets a fresh one.
func TestLastReleaseEndsTheInformer(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		first, second := hold[object](w, mapScope), hold[object](w, mapScope)
		told, registration := follow(first, informer.HandlerOptions{})
		w.run()
		w.settle()
		told.take()
		first.Release()
		first.Release()
		<-first.Done()
		<-registration.Done()
		w.create(cm("b", "1"))
		synctest.Wait()
		if second.Len() != 2 {
			t.Error("the informer ended with a handle on it")
		}
		expect(t, told.take()) // a released handle's handlers are called no more

		snapshot := second.Snapshot()
		lister := second.Lister(informer.ListerOptions[object]{})
		second.Release()
		<-second.Done()
		if n := len(w.server.Requests()); n != 1 {
			t.Errorf("%d requests so far", n)
		}
		if _, ok := second.Get("default/a"); ok || second.Len() != 0 || second.Snapshot().Len() != 0 || len(lister.Slice("", nil)) != 0 {
			t.Error("a released handle still finds objects")
		}
		if _, err := lister.Get("default", "a"); !apierrors.IsNotFound(err) {
			t.Errorf("lister: %v", err)
		}
		if snapshot.Len() != 2 {
			t.Error("a snapshot changed")
		}
		if err := second.WaitSynced(w.ctx); !errors.Is(err, informer.ErrReleased) {
			t.Errorf("WaitSynced: %v", err)
		}
		if late := second.AddHandler(handler{}, informer.HandlerOptions{}); late.WaitSynced(w.ctx) == nil {
			t.Error("a handler of a released handle is synced")
		} else {
			<-late.Done()
		}
		if len(w.group.Inventory()) != 0 {
			t.Error("the inventory still lists it")
		}

		w.create(cm("c", "1"))
		again := hold[object](w, mapScope)
		if again.Len() != 0 {
			t.Error("a fresh informer has objects before its first list")
		}
		w.must(again.WaitSynced(w.ctx))
		w.wantRequests("configmaps", 2, 2)
		if again.Len() != 3 {
			t.Errorf("%d objects", again.Len())
		}
	})
}

func TestReleaseFromInsideAHandler(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"), cm("b", "1"))
		s := hold[object](w, mapScope)
		calls := 0
		var registration *informer.SharedRegistration
		registration = s.AddHandler(handler{Added: func(object) {
			calls++
			s.Release()
			<-registration.Done()
		}}, informer.HandlerOptions{})
		w.run()
		<-s.Done()
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}

func TestReleaseEndsWaits(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.server.Inject(apitest.Fault{Hang: true})
		s := hold[object](w, mapScope)
		w.run()
		results := make(chan error, 3)
		go func() { results <- s.WaitSynced(w.ctx) }()
		go func() { results <- s.WaitFor(w.ctx, "100") }()
		go func() {
			for range s.Events(w.ctx) {
				t.Error("an event")
			}
			results <- informer.ErrReleased
		}()
		group := make(chan error)
		go func() { group <- w.group.WaitSynced(w.ctx) }()
		synctest.Wait()
		s.Release()
		for range cap(results) {
			if err := <-results; !errors.Is(err, informer.ErrReleased) {
				t.Errorf("wait ended with %v", err)
			}
		}
		if err := <-group; err != nil {
			t.Errorf("the group waits for what was released: %v", err)
		}
	})
}

// Acquire and release race for thousands of rounds; whoever holds a handle has a living informer, and in the end nothing is left.
func TestAcquireAndReleaseRace(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		w.run()
		round := func(n int) {
			var s interface {
				WaitSynced(context.Context) error
				Len() int
				Release()
				Done() <-chan struct{}
			}
			switch n % 3 {
			case 0:
				s = hold[object](w, mapScope)
			case 1:
				s = hold[untyped](w, mapScope)
			case 2:
				s = hold[metadata](w, mapScope)
			}
			if n%4 == 0 {
				if err := s.WaitSynced(w.ctx); err != nil {
					t.Errorf("WaitSynced: %v", err)
				}
				if s.Len() != 1 {
					t.Errorf("%d objects", s.Len())
				}
			}
			if typed, ok := s.(*informer.Shared[object]); ok && n%5 == 0 {
				typed.AddHandler(handler{Added: func(object) { typed.Release() }}, informer.HandlerOptions{})
			}
			s.Release()
			if n%7 == 0 {
				<-s.Done()
			}
		}
		var racers sync.WaitGroup
		for racer := range 8 {
			racers.Go(func() {
				for n := range 500 {
					round(n + racer)
				}
			})
		}
		racers.Wait()
		synctest.Wait()
		if h := w.group.Inventory(); len(h) != 0 {
			t.Errorf("left: %+v", h)
		}
	})
}
