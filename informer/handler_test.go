package informer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informerkit/informer"
)

func TestHandlerIsToldOfEveryChangeInOrder(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"))
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.synced()
		w.create(cm("b", "1"))
		w.update("a", "2")
		w.update("a", "3")
		w.delete("b")
		w.settle()
		expect(t, rec.take(), "Added a=1 initial", "Added b=1", "Updated a=1>2", "Updated a=2>3", "Deleted b=1")
	})
}

func TestHandlerFunctionsGetTheirKind(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"))
		var got []string
		w.inf.AddHandler(handler{
			Added:   func(obj object) { got = append(got, "added "+obj.Name) },
			Updated: func(old, new object) { got = append(got, "updated "+old.Data["v"]+" to "+new.Data["v"]) },
			Deleted: func(d informer.Deletion[object]) {
				got = append(got, fmt.Sprint("deleted ", d.Key, " ", d.Last.Data["v"], " ", d.Final))
			},
		}, informer.HandlerOptions{})
		w.inf.AddHandler(handler{}, informer.HandlerOptions{}) // nil functions are skipped
		w.synced()
		w.update("a", "2")
		w.delete("a")
		w.settle()
		expect(t, got, "added a", "updated 1 to 2", "deleted default/a 2 true")
	})
}

func TestReadsInHandlerSeeAtLeastItsEvent(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		byValue := informer.AddIndex(w.inf, "value", func(obj object) []string { return []string{obj.Data["v"]} })
		calls := 0
		w.inf.AddHandler(handler{
			Updated: func(_, new object) {
				calls++
				s := w.inf.Snapshot()
				if got, ok := s.Get("default/a"); !ok || older(got, new) {
					t.Errorf("called for %s, read %s", describe(new), describe(got))
				}
				if got, _ := w.inf.Get("default/a"); older(got, new) {
					t.Errorf("called for %s, Get gave %s", describe(new), describe(got))
				}
				found := 0
				for _, value := range []string{"0", "1", "2", "3", "4"} {
					found += byValue.Count(s, value)
				}
				if found != 1 {
					t.Errorf("the index has the object %d times", found)
				}
			},
			Deleted: func(informer.Deletion[object]) {
				calls++
				if _, ok := w.inf.Get("default/a"); ok {
					t.Error("told that it is deleted, and it is there")
				}
			},
		}, informer.HandlerOptions{})
		w.create(cm("a", "0"))
		w.synced()
		for n := 1; n < 5; n++ {
			w.update("a", fmt.Sprint(n))
			w.settle()
		}
		w.delete("a")
		w.settle()
		if calls != 5 {
			t.Errorf("%d calls, want 5", calls)
		}
	})
}

func older(a, b object) bool {
	return len(a.ResourceVersion) < len(b.ResourceVersion) || len(a.ResourceVersion) == len(b.ResourceVersion) && a.ResourceVersion < b.ResourceVersion
}

// "Synced" means store filled, not handlers done: both are to be known.
func TestSyncedOfHandlerIsItsLastInitialCallReturning(t *testing.T) {
	for _, delivery := range []informer.Delivery{informer.EveryChange, informer.LatestState} {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("delivery=%d/late=%t", delivery, late), func(t *testing.T) {
				inWorld(t, options{}, func(w *world) {
					w.create(cm("a", "1"), cm("b", "1"), cm("c", "1"))
					if late {
						w.synced()
					}
					step := make(chan struct{})
					var calls atomic.Int32
					h := w.inf.AddHandler(handler{Added: func(object) {
						calls.Add(1)
						<-step
					}}, informer.HandlerOptions{Delivery: delivery})
					if !late {
						w.synced()
					}
					w.create(cm("d", "1")) // not of the first list
					w.settle()
					for n := 1; n <= 3; n++ {
						if int(calls.Load()) != n {
							t.Fatalf("%d calls, want %d", calls.Load(), n)
						}
						if closed(h.Synced()) {
							t.Fatalf("synced while call %d of the first list runs", n)
						}
						step <- struct{}{}
						synctest.Wait()
					}
					if !closed(h.Synced()) {
						t.Error("not synced after the last call of the first list")
					}
					if calls.Load() != 4 {
						t.Error("the change after the first list is not told")
					}
					close(step)
				})
			})
		}
	}
}

func TestEmptyFirstListSyncsHandlers(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		before := w.inf.AddHandler(handler{}, informer.HandlerOptions{})
		w.run()
		w.must(before.WaitSynced(w.ctx))
		late := w.inf.AddHandler(handler{}, informer.HandlerOptions{Delivery: informer.LatestState})
		w.must(late.WaitSynced(w.ctx))
	})
}

func TestWaitSyncedTakesNoTime(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"))
		began := time.Now()
		h := w.inf.AddHandler(handler{}, informer.HandlerOptions{})
		w.run()
		w.must(w.inf.WaitSynced(w.ctx))
		w.must(h.WaitSynced(w.ctx))
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waiting took %s of bubble time: somebody polls", waited)
		}
	})
}

func TestHandlerThatPanicsCountsAsGiven(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"))
		var told []string
		h := w.inf.AddHandler(handler{Added: func(obj object) {
			told = append(told, obj.Name)
			panic("on purpose")
		}}, informer.HandlerOptions{Name: "panics"})
		var caught []string
		w.inf.AddHandler(handler{Added: func(object) { panic("too") }}, informer.HandlerOptions{
			OnPanic: func(key string, v any) { caught = append(caught, fmt.Sprint(key, " ", v)) },
		})
		w.synced()
		w.must(h.WaitSynced(w.ctx))
		w.settle()
		slices.Sort(told)
		expect(t, told, "a", "b")
		slices.Sort(caught)
		expect(t, caught, "default/a too", "default/b too")
		if s := w.inf.Status().Handlers[0]; s.Name != "panics" || s.Panics != 2 {
			t.Errorf("status says %+v", s)
		}
	})
}

// A late handler gets what there is, consistently with the stream that follows.
func TestLateHandlerGetsEveryStateOnce(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.synced()
		var recs [30]recorder
		for n := range recs {
			w.create(cm(fmt.Sprint("o", n%7, "-", n), "1"))
			w.inf.AddHandler(recs[n].handler(), informer.HandlerOptions{}) // while the create is on its way
			if n%3 == 0 {
				synctest.Wait()
			}
		}
		w.settle()
		for n := range recs {
			state := replay(t, recs[n].events)
			if !maps.Equal(state, w.content()) {
				t.Errorf("handler %d has %v", n, state)
			}
		}
	})
}

// replay applies events to an empty collection, checking that each fits to what came before.
func replay(t testing.TB, events []event) map[string]string {
	t.Helper()
	state := map[string]string{}
	for n, e := range events {
		had, ok := state[e.Key]
		switch e.Type {
		case informer.Added:
			if ok {
				t.Errorf("event %d: %s added again", n, e.Key)
			}
			state[e.Key] = describe(e.New)
		case informer.Updated:
			if !ok || had != describe(e.Old) {
				t.Errorf("event %d: %s updated from %s, had %q", n, e.Key, describe(e.Old), had)
			}
			if !e.Replay && older(e.New, e.Old) {
				t.Errorf("event %d: %s goes back from %s to %s", n, e.Key, describe(e.Old), describe(e.New))
			}
			state[e.Key] = describe(e.New)
		case informer.Deleted:
			if !ok {
				t.Errorf("event %d: %s deleted, which is not there", n, e.Key)
			}
			delete(state, e.Key)
		}
	}
	return state
}

func TestSlowHandlerDelaysNobody(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		block := make(chan struct{})
		w.inf.AddHandler(handler{Added: func(object) { <-block }}, informer.HandlerOptions{})
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.create(cm("a", "1"))
		w.synced()
		for n := range 1000 {
			w.update("a", fmt.Sprint(n))
		}
		w.settle()
		if got := len(rec.take()); got != 1001 {
			t.Errorf("the other handler was told %d events, want 1001", got)
		}
		w.equalsServer()
		if b := w.inf.Status().Handlers[0].Backlog; b.Changes != 1000 {
			t.Errorf("backlog of the slow handler is %d changes, want 1000", b.Changes)
		}
		close(block)
		synctest.Wait()
		if b := w.inf.Status().Handlers[0].Backlog; b.Changes != 0 || b.Age != 0 {
			t.Errorf("backlog after catching up: %+v", b)
		}
	})
}

func TestBacklogTellsDepthAndAge(t *testing.T) {
	for _, delivery := range []informer.Delivery{informer.EveryChange, informer.LatestState} {
		inWorld(t, options{}, func(w *world) {
			block := make(chan struct{})
			h := w.inf.AddHandler(handler{Added: func(object) { <-block }}, informer.HandlerOptions{Delivery: delivery})
			w.synced()
			w.create(cm("a", "1"))
			w.settle()
			w.create(cm("b", "1"))
			w.settle()
			time.Sleep(time.Minute)
			w.create(cm("c", "1"))
			w.settle()
			if b := h.Backlog(); b.Changes < 2 || b.Changes > 3 || b.Age != time.Minute {
				t.Errorf("delivery %d: backlog is %+v, want b and c, since a minute", delivery, b)
			}
			close(block)
		})
	}
}

// A slow handler grows an unbounded, invisible backlog: LatestState bounds it by the number of objects.
func TestLatestStateMergesWhatAHandlerIsBehindOn(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		for n := range 10 {
			w.create(cm(fmt.Sprint("o", n), "0"))
		}
		var rec recorder
		block := make(chan struct{})
		blocking := rec.handler()
		record := blocking.Event
		blocking.Event = func(e event) {
			record(e)
			if e.Key == "default/blocker" {
				<-block
			}
		}
		h := w.inf.AddHandler(blocking, informer.HandlerOptions{Delivery: informer.LatestState})
		w.synced()
		w.settle()
		w.create(cm("blocker", ""))
		w.settle()
		rec.take()
		for n := range 10_000 {
			w.update(fmt.Sprint("o", n%10), fmt.Sprint(n))
		}
		w.create(cm("undone", "1"))
		w.update("undone", "2")
		w.delete("undone")
		w.delete("o9")
		w.create(cm("o9", "anew"))
		w.settle()
		if b := h.Backlog(); b.Changes > 10 {
			t.Errorf("backlog of %d changes over 10 objects", b.Changes)
		}
		close(block)
		synctest.Wait()
		got := rec.take()
		slices.Sort(got)
		want := []string{"Added o9=anew", "Deleted o9=0 lost"}
		for n := range 9 {
			want = append(want, fmt.Sprintf("Updated o%d=0>%d", n, 9990+n))
		}
		slices.Sort(want)
		expect(t, got, want...)
	})
}

func TestRemovedHandlerIsNotCalledAgain(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"), cm("c", "1"))
		block := make(chan struct{})
		var calls atomic.Int32
		h := w.inf.AddHandler(handler{Added: func(object) {
			calls.Add(1)
			<-block
		}}, informer.HandlerOptions{})
		w.synced()
		synctest.Wait()
		h.Remove()
		h.Remove() // again is fine
		if closed(h.Done()) {
			t.Error("done while a call runs")
		}
		close(block)
		<-h.Done()
		w.update("a", "2")
		w.settle()
		if calls.Load() != 1 {
			t.Errorf("%d calls, the removed handler had a backlog", calls.Load())
		}
		if err := h.WaitSynced(w.ctx); !errors.Is(err, informer.ErrRemoved) {
			t.Errorf("waiting for a removed handler: %v", err)
		}
		if n := len(w.inf.Status().Handlers); n != 0 {
			t.Errorf("%d handlers in the status", n)
		}
	})
}

func TestRemovalCanBeAwaitedInsideTheHandler(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"))
		var h *informer.Registration[object]
		calls := 0
		ready, ended := make(chan struct{}), make(chan struct{})
		h = w.inf.AddHandler(handler{Added: func(object) {
			<-ready
			calls++
			h.Remove()
			<-h.Done()
			close(ended)
		}}, informer.HandlerOptions{})
		close(ready)
		w.synced()
		<-ended
		synctest.Wait()
		if calls != 1 {
			t.Errorf("%d calls", calls)
		}
	})
}

func TestHandlersAreAddedAndRemovedInsideHandlers(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"))
		var inner, other recorder
		victim := w.inf.AddHandler(other.handler(), informer.HandlerOptions{})
		w.inf.AddHandler(handler{Added: func(obj object) {
			if obj.Name == "a" {
				w.inf.AddHandler(inner.handler(), informer.HandlerOptions{})
				victim.Remove()
				<-victim.Done()
			}
		}}, informer.HandlerOptions{})
		w.synced()
		synctest.Wait()
		other.take()
		w.create(cm("b", "1"))
		w.settle()
		expect(t, inner.take(), "Added a=1 initial", "Added b=1")
		expect(t, other.take())
	})
}

func TestContextEndsRegistrations(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"))
		w.synced()
		ctx, cancel := context.WithCancel(w.ctx)
		var calls atomic.Int32
		var all []*informer.Registration[object]
		for range 1000 {
			all = append(all, w.inf.AddHandler(handler{Added: func(object) { calls.Add(1) }}, informer.HandlerOptions{Context: ctx}))
		}
		synctest.Wait()
		cancel()
		for _, h := range all {
			<-h.Done()
		}
		w.create(cm("b", "1"))
		w.settle()
		if calls.Load() != 1000 {
			t.Errorf("%d calls, want 1000 from before", calls.Load())
		}
		ended, cancel := context.WithCancel(w.ctx)
		cancel()
		<-w.inf.AddHandler(handler{}, informer.HandlerOptions{Context: ended}).Done()
	})
}

// Resync means different things to everyone: here it is a replay, spread over its period, per handler.
func TestReplayIsSpreadOverItsPeriod(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		const objects, period = 1000, 100 * time.Second
		for n := range objects {
			w.create(cm(fmt.Sprintf("o%04d", n), "1"))
		}
		var quiet, rec recorder
		w.inf.AddHandler(quiet.handler(), informer.HandlerOptions{})
		w.synced()
		w.settle()
		quiet.take()
		h := w.inf.AddHandler(rec.handler(), informer.HandlerOptions{Replay: period})
		w.must(h.WaitSynced(w.ctx))
		rec.take()
		seen := 0
		for second := 1; second < 100; second++ {
			time.Sleep(time.Second)
			synctest.Wait()
			got := rec.take()
			if len(got) < 8 || len(got) > 12 {
				t.Fatalf("second %d: %d replays, want about 10", second, len(got))
			}
			for _, words := range got {
				if want := fmt.Sprintf("Updated o%04d=1>1 replay", seen); words != want {
					t.Fatalf("got %q, want %q", words, want)
				}
				seen++
			}
		}
		time.Sleep(2 * time.Second) // into the next period: it begins anew
		synctest.Wait()
		if got := rec.take(); !slices.Contains(got, "Updated o0999=1>1 replay") || !slices.Contains(got, "Updated o0000=1>1 replay") {
			t.Errorf("around the end of the period: %q", got)
		}
		expect(t, quiet.take())
	})
}

func TestReplayOnDemandTellsWhatTheHandlerWasToldLast(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"))
		block := make(chan struct{})
		var rec recorder
		recording := rec.handler()
		record := recording.Event
		recording.Event = func(e event) {
			record(e)
			if strings.HasSuffix(inWords(e), "=1>2") {
				<-block
			}
		}
		h := w.inf.AddHandler(recording, informer.HandlerOptions{})
		w.synced()
		w.settle()
		rec.take()
		w.update("a", "2")
		w.settle() // the handler is held up here
		w.update("a", "3")
		w.delete("b")
		w.settle()
		h.Replay()
		h.Replay() // the same request
		close(block)
		synctest.Wait()
		expect(t, rec.take(), "Updated a=1>2", "Updated a=2>3", "Deleted b=1", "Updated a=3>3 replay")
	})
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
