package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// thief is a source that keeps events to itself while it is told to, as if the line or the server had lost them.
type thief struct {
	listwatch.Source[object]
	active *atomic.Bool
}

func (s thief) Watch(ctx context.Context, opts listOptions) (listwatch.Stream[object], error) {
	stream, err := s.Source.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	return thiefStream{stream, s.active}, nil
}

type thiefStream struct {
	listwatch.Stream[object]
	active *atomic.Bool
}

func (s thiefStream) Next(ctx context.Context) ([]listwatch.Event[object], error) {
	events, err := s.Stream.Next(ctx)
	for n := range events {
		if ev := &events[n]; s.active.Load() {
			*ev = listwatch.Event[object]{Type: listwatch.Bookmark, Item: listwatch.Item[object]{ResourceVersion: ev.Item.ResourceVersion}}
		}
	}
	return events, err
}

// inTheft runs a test with a source that withholds the events of what the function does that it gets.
func inTheft(t *testing.T, serve apitest.Options, opts options, test func(w *world, from listwatch.Source[object], withhold func(func()))) {
	t.Helper()
	active := new(atomic.Bool)
	var from listwatch.Source[object]
	source := func(s *apitest.Server) listwatch.Source[object] {
		from = thief{inProcess(s), active}
		return from
	}
	inServer(t, serve, source, opts, func(w *world) {
		test(w, from, func(write func()) {
			active.Store(true)
			write()
			time.Sleep(time.Minute) // however late they are
			synctest.Wait()
			active.Store(false)
		})
	})
}

// drift is what Verify finds, in words.
func (w *world) drift() []string {
	w.Helper()
	v, err := w.inf.Verify(w.ctx)
	w.must(err)
	var words []string
	for _, d := range v.Drift {
		words = append(words, fmt.Sprint(d.Kind, " ", strings.TrimPrefix(d.Key, "default/")))
	}
	return words
}

func TestVerifyFindsWhatNoEventTold(t *testing.T) {
	for name, opts := range listModes {
		t.Run(name, func(t *testing.T) {
			inTheft(t, apitest.Options{}, options{Reflector: opts}, func(w *world, _ listwatch.Source[object], withhold func(func())) {
				for n := range 10 {
					w.create(cm(fmt.Sprint("o", n), "1"))
				}
				w.synced()
				expect(t, w.drift())
				before, _ := w.inf.Get("default/o2")
				withhold(func() {
					w.delete("o1")
					w.update("o2", "2")
					w.delete("o3")
					w.create(cm("o3", "2"), cm("new", "1"))
				})
				w.update("o4", "2") // which the watch tells
				want := []string{"missing new", "extra o1", "stale o2", "stale o3"}
				expect(t, w.drift(), want...)
				expect(t, w.drift(), want...) // nothing is repaired
				v, err := w.inf.Verify(w.ctx)
				w.must(err)
				if v.Objects != 10 || v.ResourceVersion != w.server.ResourceVersion() {
					t.Errorf("%d objects at %s", v.Objects, v.ResourceVersion)
				}
				objs, err := apitest.List[object](w.server, configmaps, "")
				w.must(err)
				for _, obj := range objs {
					d := v.Drift[2]
					if obj.Name == "o2" && (d.Server != state(obj) || d.Copy != state(before)) {
						t.Errorf("drift is %+v", d)
					}
				}
				w.relist(func() {})
				expect(t, w.drift())
			})
		})
	}
}

func state(obj object) informer.State {
	return informer.State{UID: string(obj.UID), ResourceVersion: obj.ResourceVersion}
}

// A new Run repairs what Verify found.
func TestVerifyAfterANewRunFindsNothing(t *testing.T) {
	inTheft(t, apitest.Options{}, options{}, func(w *world, _ listwatch.Source[object], withhold func(func())) {
		w.create(cm("a", "1"))
		stop := w.synced()
		withhold(func() { w.delete("a") })
		expect(t, w.drift(), "extra a")
		stop()
		w.run()
		rest()
		expect(t, w.drift())
	})
}

// A copy that only lags is not wrong: Verify waits for it.
func TestVerifyWaitsForEventsOnTheirWay(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"))
		w.server.Inject(apitest.Fault{Verb: "watch", EventDelay: 10 * time.Second})
		w.synced()
		w.delete("a")
		w.update("b", "2")
		w.create(cm("c", "1"))
		start := time.Now()
		expect(t, w.drift())
		if waited := time.Since(start); waited < 20*time.Second {
			t.Errorf("waited %v", waited)
		}
		w.settle()
		start = time.Now()
		expect(t, w.drift())
		if time.Since(start) != 0 {
			t.Error("waited for nothing")
		}
	})
}

// What came and went while the copy could not follow, and listed again, is no drift: nobody need have told of it.
func TestVerifyAcrossARelist(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"))
		w.synced()
		hang := w.server.Inject(apitest.Fault{Verb: "watch", Hang: true})
		w.server.CloseWatches("", nil)
		rest()
		w.create(cm("b", "1"))
		found := make(chan []string, 1)
		go func() { found <- w.drift() }()
		rest() // it has read b, and waits for the copy to see it
		if len(found) > 0 {
			t.Errorf("did not wait: %q", <-found)
		}
		w.delete("b")
		w.server.Compact() // so that the watch can't tell of it
		hang.Remove()
		expect(t, <-found)
	})
}

// What a transform leaves out, or can't take in, is no drift; what it should have left out, is.
func TestVerifyGoesByWhatShouldBeStored(t *testing.T) {
	opts := options{
		Transform: informer.Chain(
			informer.Keep(func(obj object) bool { return obj.Data["v"] != "drop" }),
			func(obj object) (object, error) {
				if obj.Data["v"] == "bad" {
					return obj, errors.New("bad")
				}
				return obj, nil
			},
		),
		Key: func(obj object) (string, error) { return "key of " + obj.Name, nil },
	}
	inTheft(t, apitest.Options{}, opts, func(w *world, _ listwatch.Source[object], withhold func(func())) {
		w.create(cm("a", "1"), cm("b", "drop"), cm("c", "bad"), cm("d", "1"), cm("e", "1"), cm("f", "1"))
		w.synced()
		w.update("d", "bad") // the former state stays
		w.settle()
		expect(t, w.drift())
		withhold(func() {
			w.update("e", "drop")
			w.delete("f")
			w.update("b", "1")
		})
		expect(t, w.drift(), "missing key of b", "extra key of e", "extra key of f")
	})
}

// Whatever goes on meanwhile, an honest source gives no drift; and if events are lost, exactly what they were about does.
func TestVerifyUnderChurn(t *testing.T) {
	for seed := range 40 {
		several := seed%4 == 3
		opts := options{Reflector: reflector.Options{PageSize: 3, Streaming: reflector.Streaming(seed % 2)}}
		inTheft(t, apitest.Options{Seed: uint64(seed)}, opts, func(w *world, from listwatch.Source[object], withhold func(func())) {
			r := newRand(seed)
			if several {
				w.must(w.inf.RemoveSource(w.ctx, ""))
				w.must(w.inf.AddSource("x", narrowed(from, "x")))
				w.must(w.inf.AddSource("y", narrowed(from, "y")))
			}
			lost := map[string]bool{}
			name := func() string { return fmt.Sprint("o", r.IntN(30)) }
			write := func(name string) {
				if r.IntN(3) == 0 {
					_, err := apitest.Delete(w.server, cm(name, ""))
					if err != nil && !apierrors.IsNotFound(err) {
						w.must(err)
					}
					return
				}
				w.put(labelled("default", name, fmt.Sprint(r.IntN(100)), []string{"x=1", "y=1", "x=1,y=1"}[r.IntN(3)]))
			}
			for range 40 {
				write(name())
			}
			w.server.Inject(apitest.Fault{Verb: "watch", EventDelay: time.Duration(seed%3) * 100 * time.Millisecond})
			w.server.Inject(apitest.Fault{Verb: "list", Latency: 400 * time.Millisecond})
			w.synced()
			rest()
			stopped := make(chan struct{})
			quit := make(chan struct{})
			go func() { // until it is told to stop
				defer close(stopped)
				for {
					select {
					case <-quit:
						return
					case <-time.After(time.Duration(1+r.IntN(200)) * time.Millisecond):
					}
					if r.IntN(20) == 0 {
						w.server.CloseWatches("", nil)
					}
					if next := name(); !lost[next] {
						write(next)
					}
				}
			}()
			for range 5 {
				if got := w.drift(); len(got) > 0 {
					t.Errorf("seed %d: drift of an honest server: %q", seed, got)
				}
			}
			close(quit)
			<-stopped
			time.Sleep(time.Hour) // for all to arrive
			synctest.Wait()
			before := w.content()
			withhold(func() {
				for range 5 {
					write(name())
				}
			})
			var want []string
			for n := range 30 {
				key := fmt.Sprint("default/o", n)
				was, is := before[key], w.content()[key]
				switch {
				case was == is:
				case was == "":
					want = append(want, fmt.Sprint("missing o", n))
				case is == "":
					want = append(want, fmt.Sprint("extra o", n))
				default:
					want = append(want, fmt.Sprint("stale o", n))
				}
				lost[fmt.Sprint("o", n)] = was != is
			}
			for range 20 { // others go on
				if next := name(); !lost[next] {
					write(next)
				}
			}
			got := w.drift()
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("seed %d: drift is %q, want %q", seed, got, want)
			}
		})
	}
}

// A shard is verified as what it is.
func TestVerifyOfAShard(t *testing.T) {
	inTheft(t, apitest.Options{}, options{Shard: eighths(0, 4)}, func(w *world, _ listwatch.Source[object], withhold func(func())) {
		w.many(20)
		w.synced()
		expect(t, w.drift())
		var held []string
		for key := range w.objects() {
			held = append(held, key)
		}
		slices.Sort(held)
		withhold(func() { w.deleteKeys("ns0/o0", "ns0/o1", "ns0/o2", "ns1/o3", "ns1/o4", "ns1/o5") })
		var want []string
		for _, key := range held {
			if strings.HasPrefix(key, "ns0/") || strings.HasPrefix(key, "ns1/") {
				want = append(want, "extra "+key)
			}
		}
		expect(t, w.drift(), want...)
	})
}

func TestVerifyEndsWithTheErrorOfWhatFailed(t *testing.T) {
	inWorld(t, options{Name: "maps", Shard: eighths(0, 4)}, func(w *world) {
		w.many(20)
		stop := w.synced()
		forbidden := w.server.Inject(apitest.Fault{Verb: "list", Error: apierrors.NewForbidden(configmaps.GroupResource(), "", errors.New("no role"))})
		if _, err := w.inf.Verify(w.ctx); !apierrors.IsForbidden(err) || !strings.HasPrefix(err.Error(), "informer maps: verify: ") {
			t.Errorf("error is %v", err)
		}
		forbidden.Remove()

		during := func(change func()) error {
			hang := w.server.Inject(apitest.Fault{Verb: "list", Times: 1, Hang: true})
			ended := make(chan error, 1)
			go func() {
				_, err := w.inf.Verify(w.ctx)
				ended <- err
			}()
			synctest.Wait()
			change()
			hang.Remove()
			return <-ended
		}
		if err := during(func() { w.must(w.inf.Reshard(w.ctx, eighths(0, 2))) }); !errors.Is(err, informer.ErrResharded) {
			t.Errorf("error is %v", err)
		}
		err := during(func() { w.must(w.inf.AddSource("other", apitest.Source[object](w.server, configmaps, "other"))) })
		if err == nil || !strings.Contains(err.Error(), "source") {
			t.Errorf("error is %v", err)
		}

		stop()
		expect(t, w.drift()) // nothing to wait for
		for key := range w.objects() {
			w.deleteKeys(key)
		}
		ctx, cancel := context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		var notSynced *informer.NotSyncedError
		if _, err := w.inf.Verify(ctx); !errors.As(err, &notSynced) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
}
