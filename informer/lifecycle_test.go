package informer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// An informer can be run again: what it held stays readable, and is compared with the next list.
func TestInformerRunsAgain(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"), cm("kept", "1"))
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		stop := w.synced()
		synctest.Wait()
		kept, _ := w.inf.Get("default/kept")
		stop()
		rec.take()
		w.delete("a")
		w.create(cm("b", "1"))
		if _, ok := w.inf.Get("default/a"); !ok {
			t.Error("a stopped informer does not hold what it held")
		}
		var late recorder
		w.inf.AddHandler(late.handler(), informer.HandlerOptions{})
		synctest.Wait()
		expect(t, late.take()) // nobody is called while it does not run

		w.server.Compact() // so that it has to list again
		w.run()
		w.settle()
		expect(t, rec.take(), "Deleted a=1 lost", "Added b=1")
		if again, _ := w.inf.Get("default/kept"); again != kept {
			t.Error("an unchanged object lost its pointer")
		}
		expect(t, late.take()[2:], "Deleted a=1 lost", "Added b=1")
		w.equalsServer()
	})
}

func TestInformerRunsAgainManyTimes(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		for n := range 50 {
			stop := w.synced()
			if n%2 == 0 {
				w.create(cm("a", "1"))
			} else {
				w.delete("a")
			}
			if n%3 == 0 {
				w.settle()
			}
			stop()
		}
		w.run()
		w.settle()
		replay(t, rec.events)
		w.equalsServer()
	})
}

func TestSecondRunIsAnError(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.synced()
		if err := w.inf.Run(w.ctx); !errors.Is(err, informer.ErrRunning) {
			t.Errorf("second Run: %v", err)
		}
	})
}

func TestRunWaitsForCallsUnderWay(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"))
		returned := false
		var rec recorder
		slow := rec.handler()
		record := slow.Event
		slow.Event = func(e event) {
			record(e)
			time.Sleep(time.Minute)
			returned = true
		}
		w.inf.AddHandler(slow, informer.HandlerOptions{})
		stop := w.synced()
		synctest.Wait()
		stop()
		if !returned {
			t.Error("Run returned while a call was running")
		}
		if got := rec.take(); len(got) != 1 {
			t.Errorf("calls after the end of the context: %q", got[1:])
		}
		w.run() // the rest of the snapshot is not lost
		synctest.Wait()
		if got := rec.take(); len(got) != 1 {
			t.Errorf("after running again: %q", got)
		}
	})
}

func TestShutdownTimeoutNamesTheHandlersStillRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apitest.NewServer(apitest.Options{})
		defer server.Close()
		inf, err := informer.New(apitest.Source[object](server, configmaps, ""), options{Name: "maps", ShutdownTimeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := apitest.Create(server, cm("a", "1")); err != nil {
			t.Fatal(err)
		}
		block := make(chan struct{})
		inf.AddHandler(handler{Added: func(object) { <-block }}, informer.HandlerOptions{Name: "stuck"})
		inf.AddHandler(handler{}, informer.HandlerOptions{Name: "fine"})
		ctx, cancel := context.WithCancel(t.Context())
		result := make(chan error)
		go func() { result <- inf.Run(ctx) }()
		synctest.Wait()
		cancel()
		began := time.Now()
		var running *informer.HandlersRunningError
		if err := <-result; !errors.As(err, &running) || len(running.Handlers) != 1 || running.Handlers[0] != "stuck" {
			t.Errorf("Run: %v", err)
		}
		if waited := time.Since(began); waited != 10*time.Second {
			t.Errorf("Run waited %s", waited)
		}
		// It can run again; the stuck call is still the only one of its handler.
		ctx, cancel = context.WithCancel(t.Context())
		go func() { result <- inf.Run(ctx) }()
		synctest.Wait()
		close(block)
		synctest.Wait()
		cancel()
		if err := <-result; err != nil {
			t.Errorf("second Run: %v", err)
		}
	})
}

// A cache that can't sync says so, and why.
func TestWaitSyncedSaysWhoAndWhy(t *testing.T) {
	inWorld(t, options{Name: "maps"}, func(w *world) {
		forbidden := apierrors.NewForbidden(configmaps.GroupResource(), "", errors.New("no role"))
		fault := w.server.Inject(apitest.Fault{Error: forbidden})
		w.run()
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		err := w.inf.WaitSynced(ctx)
		var notSynced *informer.NotSyncedError
		if !errors.As(err, &notSynced) || notSynced.Informer != "maps" || notSynced.Attempts == 0 {
			t.Errorf("error is %#v", err)
		}
		if !apierrors.IsForbidden(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error does not wrap why: %v", err)
		}
		for _, word := range []string{"maps", "no role", "deadline"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("message lacks %q: %v", word, err)
			}
		}
		s := w.inf.Status()
		if s.Synced || !s.Running || !apierrors.IsForbidden(s.Reflector.LastError) || s.Reflector.Attempts == 0 {
			t.Errorf("status is %+v", s)
		}
		fault.Remove()
		w.must(w.inf.WaitSynced(w.ctx))
		if s := w.inf.Status(); !s.Synced || s.Reflector.LastError != nil {
			t.Errorf("status after sync is %+v", s)
		}
		h := w.inf.AddHandler(handler{Added: func(object) { time.Sleep(time.Hour) }}, informer.HandlerOptions{Name: "slow"})
		w.create(cm("a", "1"))
		_ = h
	})
}

func TestWaitSyncedOfHandlerNamesTheHandler(t *testing.T) {
	inWorld(t, options{Name: "maps"}, func(w *world) {
		w.create(cm("a", "1"))
		h := w.inf.AddHandler(handler{Added: func(object) { time.Sleep(time.Hour) }}, informer.HandlerOptions{Name: "slow"})
		w.synced()
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		var notSynced *informer.NotSyncedError
		if err := h.WaitSynced(ctx); !errors.As(err, &notSynced) || notSynced.Handler != "slow" || notSynced.Last != nil {
			t.Errorf("error is %v", err)
		}
	})
}

func TestResourceThatVanishes(t *testing.T) {
	gone := apierrors.NewNotFound(configmaps.GroupResource(), "")
	vanish := func(w *world) *apitest.Injected {
		fault := w.server.Inject(apitest.Fault{Error: gone})
		w.server.CloseWatches("", nil)
		w.server.Compact()
		time.Sleep(time.Minute)
		synctest.Wait()
		return fault
	}
	t.Run("stop", func(t *testing.T) {
		inWorld(t, options{Reflector: reflector.Options{OnNotFound: reflector.NotFoundStop}}, func(w *world) {
			w.create(cm("a", "1"))
			result := make(chan error, 1)
			go func() { result <- w.inf.Run(w.ctx) }()
			w.must(w.inf.WaitSynced(w.ctx))
			vanish(w)
			if err := <-result; !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "ConfigMap") {
				t.Errorf("Run: %v", err)
			}
			if w.inf.Len() != 1 || w.inf.Status().Running {
				t.Error("what it held should stay readable")
			}
		})
	})
	t.Run("clear and wait", func(t *testing.T) {
		inWorld(t, options{Reflector: reflector.Options{OnNotFound: reflector.NotFoundClear}}, func(w *world) {
			w.create(cm("a", "1"))
			var rec recorder
			w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
			w.synced()
			fault := vanish(w)
			expect(t, rec.take(), "Added a=1 initial", "Deleted a=1 lost")
			w.create(cm("b", "1"))
			fault.Remove()
			time.Sleep(time.Minute)
			synctest.Wait()
			got := rec.take()
			if len(got) != 2 || !strings.HasPrefix(got[0], "Added") || !strings.HasPrefix(got[1], "Added") {
				t.Errorf("when it is back: %q", got)
			}
			w.equalsServer()
		})
	})
	t.Run("keep and retry", func(t *testing.T) {
		inWorld(t, options{}, func(w *world) {
			w.create(cm("a", "1"))
			w.synced()
			fault := vanish(w)
			if w.inf.Len() != 1 {
				t.Error("what it held is gone")
			}
			fault.Remove()
			w.create(cm("b", "1"))
			w.settle()
			w.equalsServer()
		})
	})
}

func TestOptionsThatCannotBeRight(t *testing.T) {
	server := apitest.NewServer(apitest.Options{})
	defer server.Close()
	source := apitest.Source[object](server, configmaps, "")
	for name, opts := range map[string]options{
		"ShutdownTimeout": {ShutdownTimeout: -1},
		"PageSize":        {Reflector: reflector.Options{PageSize: -1}},
	} {
		if _, err := informer.New(source, opts); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "ConfigMap") {
			t.Errorf("%s: error is %v", name, err)
		}
	}
}

func TestTunablesReachTheRequests(t *testing.T) {
	opts := options{Reflector: reflector.Options{PageSize: 7, Streaming: reflector.StreamingOff, WatchTimeout: 30 * time.Minute}}
	inWorld(t, opts, func(w *world) {
		for n := range 20 {
			w.create(cm(string(rune('a'+n)), "1"))
		}
		w.synced()
		w.equalsServer()
		lists := 0
		for _, r := range w.server.Requests() {
			switch r.Verb {
			case "list":
				lists++
				if r.Options.Limit != 7 {
					t.Errorf("list with limit %d", r.Options.Limit)
				}
			case "watch":
				if s := *r.Options.TimeoutSeconds; s < 1800 || s > 3600 {
					t.Errorf("watch of %d s, want [1800,3600]", s)
				}
			}
		}
		if lists != 3 {
			t.Errorf("%d pages, want 3", lists)
		}
	})
}

// A failing source must not flood the log: the same error is logged at growing intervals.
func TestOneErrorIsReportedToOnErrorEachTime(t *testing.T) {
	reported := 0
	opts := options{Reflector: reflector.Options{OnError: func(context.Context, error) { reported++ }}}
	inServer(t, apitest.Options{}, func(s *apitest.Server) listwatch.Source[object] {
		s.Inject(apitest.Fault{Error: errors.New("line is down")})
		return apitest.Source[object](s, configmaps, "")
	}, opts, func(w *world) {
		w.run()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if attempts := w.inf.Status().Reflector.Attempts; reported == 0 || reported != attempts {
			t.Errorf("%d errors reported, %d attempts", reported, attempts)
		}
	})
}
