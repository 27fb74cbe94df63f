package informer_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
)

// A read after an own write waits for the write's resource version, and nothing polls.
func TestWaitForResourceVersion(t *testing.T) {
	state := func(name, rv string) object {
		obj := cm(name, rv)
		obj.ResourceVersion = rv
		return obj
	}
	for name, arrive := range map[string]func(*funnel){
		"event of the object": func(f *funnel) { f.send(modified(state("a", "15"))) },
		"event of another":    func(f *funnel) { f.send(modified(state("b", "16"))) },
		"bookmark":            func(f *funnel) { f.send(bookmark("17")) },
		"relist": func(f *funnel) {
			f.list, f.rv = f.list[:0], "20"
			f.fail <- errExpired
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFunnel(state("a", "10"))
			f.run(t, options{}, func(inf *informer.Informer[object]) {
				result := make(chan error, 1)
				go func() { result <- inf.WaitFor(context.Background(), "15") }()
				f.send(modified(state("a", "14")))
				synctest.Wait()
				select {
				case err := <-result:
					t.Fatalf("returned at version 14: %v", err)
				default:
				}
				arrive(f)
				if err := <-result; err != nil {
					t.Error(err)
				}
				if err := inf.WaitFor(context.Background(), "15"); err != nil {
					t.Errorf("waiting for what was seen: %v", err)
				}
			})
		})
	}
}

func TestWaitForEndsWithItsContext(t *testing.T) {
	inWorld(t, options{Name: "maps"}, func(w *world) {
		w.synced()
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		began := time.Now()
		err := w.inf.WaitFor(ctx, "1000")
		var notSynced *informer.NotSyncedError
		if !errors.As(err, &notSynced) || !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		// Many waiters, each woken by its own version and no other.
		w.create(cm("a", "0"))
		w.settle()
		base := number(t, w.inf.Version().ResourceVersion)
		results := make([]chan uint64, 20)
		for n := range results {
			results[n] = make(chan uint64, 1)
			go func() {
				w.must(w.inf.WaitFor(w.ctx, format(base+uint64(20-n))))
				results[n] <- number(t, w.inf.Snapshot().Revision())
			}()
		}
		synctest.Wait()
		for n := range results {
			w.update("a", format(uint64(n+1)))
			w.settle()
		}
		for n := range results {
			if at := <-results[n]; at < base+uint64(20-n) {
				t.Errorf("woken at %d, waited for %d", at, base+uint64(20-n))
			}
		}
	})
}

func TestWaitForVersionThatIsNoNumberIsAClearError(t *testing.T) {
	inWorld(t, options{Name: "maps"}, func(w *world) {
		for _, rv := range []string{"", "0", "abc", "-1", "01"} {
			if err := w.inf.WaitFor(w.ctx, rv); err == nil || !strings.Contains(err.Error(), "maps") {
				t.Errorf("%q: %v", rv, err)
			}
		}
	})
}

func TestVersionTellsWhenItWasConfirmed(t *testing.T) {
	inServer(t, apitest.Options{BookmarkInterval: time.Minute}, inProcess, options{}, func(w *world) {
		if v := w.inf.Version(); v.ResourceVersion != "" || !v.Confirmed.IsZero() {
			t.Errorf("before the first list: %+v", v)
		}
		w.create(cm("a", "1"))
		w.synced()
		if v := w.inf.Version(); v.ResourceVersion != w.server.ResourceVersion() || time.Since(v.Confirmed) != 0 {
			t.Errorf("after the first list: %+v", v)
		}
		time.Sleep(90 * time.Second) // one bookmark
		synctest.Wait()
		if age := time.Since(w.inf.Version().Confirmed); age != 30*time.Second {
			t.Errorf("confirmed %s ago, the bookmark came 30s ago", age)
		}
	})
}

func TestSnapshotCarriesItsResourceVersion(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"))
		w.synced()
		s := w.inf.Snapshot()
		at := s.Revision()
		w.update("a", "2")
		w.settle()
		if obj, _ := s.Get("default/a"); s.Revision() != at || obj.Data["v"] != "1" {
			t.Error("a snapshot moved")
		}
		if s = w.inf.Snapshot(); s.Revision() != w.server.ResourceVersion() {
			t.Errorf("revision %s, server %s", s.Revision(), w.server.ResourceVersion())
		}
	})
}
