package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// A shard that changes while a list is under way makes that list void, and nothing of it shows.
func TestReshardDuringTheFirstList(t *testing.T) {
	for name, opts := range listModes {
		t.Run(name, func(t *testing.T) {
			eachSharding(t, options{Shard: eighths(0, 4), Reflector: opts}, func(w *world) {
				w.many(20)
				var rec recorder
				w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
				hang := w.server.Inject(apitest.Fault{Hang: true, Skip: w.firstPages(opts)})
				w.run()
				synctest.Wait()
				ended := make(chan error, 1)
				go func() { ended <- w.inf.Reshard(w.ctx, eighths(2, 6)) }()
				synctest.Wait()
				if w.inf.Len() != 0 || len(rec.take()) != 0 {
					t.Error("half a list shows")
				}
				hang.Remove()
				w.must(<-ended)
				w.must(w.inf.WaitSynced(w.ctx))
				w.holdsShard(eighths(2, 6))
				if s := w.inf.Status().Reflector; s.LastError != nil {
					t.Errorf("an error was reported: %v", s.LastError)
				}
			})
		})
	}
}

// firstPages is how many requests of a list are let through before it is interrupted.
func (w *world) firstPages(opts reflector.Options) int {
	if opts.PageSize > 0 {
		return 1
	}
	return 0
}

func TestReshardDuringARelist(t *testing.T) {
	for name, opts := range listModes {
		t.Run(name, func(t *testing.T) {
			eachSharding(t, options{Shard: eighths(0, 4), Reflector: opts}, func(w *world) {
				w.many(20)
				var rec recorder
				w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
				w.synced()
				w.server.Compact()
				w.server.CloseWatches("", nil)
				w.server.Inject(apitest.Fault{Verb: "watch", Times: 1, Error: apierrors.NewResourceExpired("too old")})
				hang := w.server.Inject(apitest.Fault{Hang: true, Skip: 1 + w.firstPages(opts)})
				w.server.LoseEvents(func() { w.many(30) })
				time.Sleep(3 * time.Second) // the list is under way
				ended := make(chan error, 1)
				go func() { ended <- w.inf.Reshard(w.ctx, eighths(2, 6)) }()
				synctest.Wait()
				hang.Remove()
				w.must(<-ended)
				w.relist(func() { w.many(32) })
				rest()
				w.holdsShard(eighths(2, 6))
				replay(t, rec.events)
			})
		})
	}
}

// Of two calls the later one counts, and the earlier one's caller is told.
func TestReshardTwiceInARow(t *testing.T) {
	eachSharding(t, options{Shard: eighths(0, 2)}, func(w *world) {
		w.many(30)
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.synced()
		hang := w.server.Inject(apitest.Fault{Verb: "list", Hang: true})
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- w.inf.Reshard(w.ctx, eighths(0, 6)) }()
		synctest.Wait()
		go func() { second <- w.inf.Reshard(w.ctx, eighths(1, 4)) }()
		if err := <-first; !errors.Is(err, informer.ErrResharded) {
			t.Errorf("the first call's error is %v", err)
		}
		synctest.Wait()
		hang.Remove()
		w.must(<-second)
		w.holdsShard(eighths(1, 4))
		rest()
		w.holdsShard(eighths(1, 4))
		for range 3 { // there and back without waiting
			ctx, cancel := context.WithCancel(w.ctx)
			cancel()
			_ = w.inf.Reshard(ctx, eighths(4, 8)) // it is not waited for
			_ = w.inf.Reshard(ctx, eighths(1, 4))
		}
		w.must(w.inf.Reshard(w.ctx, eighths(1, 4)))
		w.holdsShard(eighths(1, 4))
		rest()
		replay(t, rec.events)
	})
}

func TestReshardEndsWithItsContextAndWithRun(t *testing.T) {
	inWorld(t, options{Shard: eighths(0, 2)}, func(w *world) {
		w.many(20)
		stop := w.synced()
		hang := w.server.Inject(apitest.Fault{Hang: true})
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		var notSynced *informer.NotSyncedError
		if err := w.inf.Reshard(ctx, eighths(0, 4)); !errors.As(err, &notSynced) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		ended := make(chan error, 1)
		go func() { ended <- w.inf.Reshard(w.ctx, eighths(0, 6)) }()
		synctest.Wait()
		stop()
		if err := <-ended; !errors.As(err, &notSynced) || !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		hang.Remove()
		w.synced()
		rest()
		w.holdsShard(eighths(0, 6))
	})
}

// Before, between and after runs, what has to go goes at once, and the rest comes with the next run.
func TestReshardWhileNotRunning(t *testing.T) {
	inWorld(t, options{Shard: eighths(0, 2)}, func(w *world) {
		w.many(30)
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.must(w.inf.Reshard(w.ctx, eighths(0, 4)))
		stop := w.synced()
		w.holdsShard(eighths(0, 4))
		rest()
		stop()
		w.must(w.inf.Reshard(w.ctx, eighths(0, 2)))
		w.holdsShard(eighths(0, 2))
		w.must(w.inf.Reshard(w.ctx, eighths(0, 6)))
		w.holdsShard(eighths(0, 2)) // nobody is there to list the rest
		w.run()
		rest()
		w.holdsShard(eighths(0, 6))
		replay(t, rec.events)
	})
}

func TestReshardOfSeveralSources(t *testing.T) {
	for _, sharding := range []bool{true, false} {
		none := func(*apitest.Server) listwatch.Source[object] { return nil }
		inServer(t, apitest.Options{Sharding: sharding}, none, options{Shard: eighths(0, 4)}, func(w *world) {
			w.must(w.inf.AddSource("x", selected(w.server, "x")))
			w.must(w.inf.AddSource("y", selected(w.server, "y")))
			for n := range 60 {
				w.put(labelled("default", fmt.Sprint("o", n), "1", []string{"x=1", "y=1", "x=1,y=1"}[n%3]))
			}
			var rec recorder
			w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
			w.synced()
			w.holdsShard(eighths(0, 4))
			w.must(w.inf.Reshard(w.ctx, eighths(3, 7)))
			w.holdsShard(eighths(3, 7))
			hang := w.server.Inject(apitest.Fault{Verb: "list", Hang: true})
			ended := make(chan error, 1)
			go func() { ended <- w.inf.Reshard(w.ctx, eighths(2, 8)) }()
			synctest.Wait()
			if len(ended) > 0 {
				t.Error("done before any source was")
			}
			w.must(w.inf.RemoveSource(w.ctx, "y"))
			w.must(w.inf.AddSource("y", selected(w.server, "y")))
			hang.Remove()
			w.must(<-ended)
			rest()
			w.holdsShard(eighths(2, 8))
			w.must(w.inf.RemoveSource(w.ctx, "x"))
			w.must(w.inf.RemoveSource(w.ctx, "y"))
			if w.inf.Len() != 0 {
				t.Errorf("%d objects of no source", w.inf.Len())
			}
			rest()
			replay(t, rec.events)
		})
	}
}

// A list of the missing part that fails is reported, and made good by one of everything.
func TestReshardWhoseListFails(t *testing.T) {
	var told []error
	opts := reflector.Options{OnError: func(_ context.Context, err error) { told = append(told, err) }}
	inWorld(t, options{Shard: eighths(0, 2), Reflector: opts}, func(w *world) {
		w.many(30)
		w.synced()
		w.server.Inject(apitest.Fault{Verb: "list", Times: 1, Error: apierrors.NewForbidden(configmaps.GroupResource(), "", errors.New("no role"))})
		w.must(w.inf.Reshard(w.ctx, eighths(0, 6)))
		w.holdsShard(eighths(0, 6))
		if len(told) != 1 || !apierrors.IsForbidden(told[0]) {
			t.Errorf("told %v", told)
		}
	})
}

// What can't be taken in is no longer complained of when it has moved.
func TestReshardReleasesFromQuarantine(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.many(20)
		objs, err := apitest.List[object](w.server, configmaps, "")
		w.must(err)
		var keys []string
		for _, obj := range objs {
			keys = append(keys, obj.Namespace+"/"+obj.Name)
		}
		w.server.Inject(apitest.Fault{Undecodable: keys})
		w.synced()
		w.must(w.inf.Reshard(w.ctx, eighths(0, 3)))
		w.must(w.inf.Reshard(w.ctx, eighths(2, 4)))
		var bad, want []string
		for _, q := range w.inf.Status().Quarantined {
			bad = append(bad, q.Key)
		}
		for n, obj := range objs {
			if in(eighths(2, 4), obj) {
				want = append(want, keys[n])
			}
		}
		slices.Sort(want)
		expect(t, bad, want...)
	})
}

// An own write to an object that moved away is not shown any more.
func TestReshardEndsOwnWritesToWhatMoved(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.many(20)
		w.synced()
		mine := informer.NewOverlay(w.inf, informer.OverlayOptions{})
		defer mine.Close()
		for _, obj := range w.objects() {
			written := obj.DeepCopy()
			written.ResourceVersion = "1000" // the watch has not brought it
			w.must(mine.Wrote(written))
		}
		w.must(w.inf.Reshard(w.ctx, eighths(0, 4)))
		if mine.Len() == 0 || mine.Len() != w.inf.Len() {
			t.Errorf("%d own writes to %d objects", mine.Len(), w.inf.Len())
		}
	})
}

// A handler that was told of an object which was deleted, made again and then moved is told a deletion: what it knew is gone.
func TestMovedIsOfTheObjectThatWasTold(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"))
		var rec recorder
		block := make(chan struct{})
		blocked := false
		w.inf.AddHandler(handler{Event: func(e event) {
			rec.handler().Event(e)
			if e.Key == "default/z" && !blocked {
				blocked = true
				<-block
			}
		}}, informer.HandlerOptions{Delivery: informer.LatestState})
		w.synced()
		w.create(cm("z", "1"))
		w.settle()
		rec.take()
		w.delete("a")
		w.create(cm("a", "2"))
		w.update("b", "2")
		w.settle()
		w.must(w.inf.Reshard(w.ctx, eighths()))
		close(block)
		synctest.Wait()
		got := rec.take()
		slices.Sort(got)
		expect(t, got, "Deleted a=1 lost", "Deleted b=2 lost moved", "Deleted z=1 lost moved")
	})
}
