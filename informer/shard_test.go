package informer_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

// eighths is the shard of UIDs from a/8 to b/8 of the hashes, for each pair of numbers.
func eighths(bounds ...uint64) listwatch.Shard {
	var ranges []listwatch.HashRange
	for n := 0; n < len(bounds); n += 2 {
		ranges = append(ranges, listwatch.HashRange{Start: bounds[n] << 61, End: bounds[n+1] << 61})
	}
	shard, err := listwatch.NewShard(listwatch.ShardByUID, ranges...)
	if err != nil {
		panic(err)
	}
	return shard
}

func byNamespace(index, count int) listwatch.Shard {
	shard, err := listwatch.EqualShard(listwatch.ShardByNamespace, index, count)
	if err != nil {
		panic(err)
	}
	return shard
}

func in(shard listwatch.Shard, obj object) bool { return shard.Has(string(obj.UID), obj.Namespace) }

// eachSharding runs a test with a server that knows shards, and with one that doesn't.
func eachSharding(t *testing.T, opts options, test func(w *world)) {
	t.Helper()
	for _, sharding := range []bool{true, false} {
		t.Run(fmt.Sprintf("sharding=%t", sharding), func(t *testing.T) {
			inServer(t, apitest.Options{Sharding: sharding}, inProcess, opts, test)
		})
	}
}

// many makes objects, three in each of some namespaces.
func (w *world) many(count int) {
	w.Helper()
	for n := range count {
		w.put(labelled(fmt.Sprint("ns", n/3), fmt.Sprint("o", n), "1", ""))
	}
}

// holdsShard checks that the informer has what the server has of shard.
func (w *world) holdsShard(shard listwatch.Shard) {
	w.Helper()
	want, got := map[string]string{}, map[string]string{}
	objs, err := apitest.List[object](w.server, configmaps, "")
	w.must(err)
	for _, obj := range objs {
		if in(shard, obj) {
			want[obj.Namespace+"/"+obj.Name] = describe(obj)
		}
	}
	for key, obj := range w.inf.Snapshot().All() {
		got[key] = describe(obj)
	}
	if !maps.Equal(got, want) {
		w.Errorf("store holds %v, the server has %v of %v", got, want, shard)
	}
}

// objects are those of the informer, by key.
func (w *world) objects() map[string]object { return maps.Collect(w.inf.Snapshot().All()) }

// A server that ignores the selector makes no difference to what is held and told.
func TestShardIsHeldWhateverTheServerSends(t *testing.T) {
	for name, opts := range listModes {
		t.Run(name, func(t *testing.T) {
			half := eighths(0, 4)
			eachSharding(t, options{Shard: half, Reflector: opts}, func(w *world) {
				w.many(20)
				var rec recorder
				w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
				w.synced()
				w.holdsShard(half)
				w.many(40)
				rest()
				w.holdsShard(half)
				w.relist(func() { w.many(50) })
				w.holdsShard(half)
				for _, e := range rec.events {
					if !in(half, e.Object()) {
						t.Errorf("told of %s, which is in another shard", e.Key)
					}
				}
				for _, r := range w.server.Requests() {
					if r.Options.ShardSelector != half.Selector() {
						t.Errorf("%s asks for %q", r.Verb, r.Options.ShardSelector)
					}
				}
				if got := w.inf.Status().Shard; !got.Equal(half) {
					t.Errorf("status says %v", got)
				}
			})
		})
	}
}

// From [0,8) to [0,4): what leaves is deleted, marked as moved, and nothing is listed.
func TestNarrowerShardTellsWhatLeft(t *testing.T) {
	eachSharding(t, options{}, func(w *world) {
		half := eighths(0, 4)
		w.many(20)
		var rec recorder
		var moved []string
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.inf.AddHandler(handler{Deleted: func(d informer.Deletion[object]) {
			if d.Moved && !d.Final && !in(half, d.Last) {
				moved = append(moved, d.Key)
			}
		}}, informer.HandlerOptions{})
		w.synced()
		synctest.Wait()
		rec.take()
		before := w.objects()
		w.server.ForgetRequests()
		w.must(w.inf.Reshard(w.ctx, half))
		w.holdsShard(half)
		rest()
		told := rec.take()
		if len(told) == 0 || len(told) != len(before)-w.inf.Len() || len(moved) != len(told) {
			t.Errorf("%d events and %d moves for %d objects that left", len(told), len(moved), len(before)-w.inf.Len())
		}
		for _, e := range told {
			if !strings.HasPrefix(e, "Deleted ") || !strings.HasSuffix(e, " lost moved") {
				t.Errorf("told %q", e)
			}
		}
		for key, obj := range w.objects() {
			if before[key] != obj {
				t.Errorf("%s stayed, and lost its pointer", key)
			}
		}
		if n := w.server.CountRequests("list", ""); n != 0 {
			t.Errorf("%d lists", n)
		}
		for _, r := range w.server.Requests() {
			if r.Options.SendInitialEvents != nil || r.Options.ShardSelector != half.Selector() {
				t.Errorf("asks for %+v", r.Options)
			}
		}
		w.many(30)
		w.deleteKeys("ns0/o0", "ns1/o3", "ns2/o6")
		rest()
		w.holdsShard(half)
	})
}

// deleteKeys deletes objects by their keys.
func (w *world) deleteKeys(keys ...string) {
	w.Helper()
	for _, key := range keys {
		namespace, name := listwatch.SplitKey(key)
		_, err := apitest.Delete(w.server, labelled(namespace, name, "", ""))
		w.must(err)
	}
}

// From [0,2) to [0,6): what comes is added, and only that part is listed.
func TestWiderShardListsWhatIsMissing(t *testing.T) {
	eachSharding(t, options{Shard: eighths(0, 2)}, func(w *world) {
		w.many(30)
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.synced()
		synctest.Wait()
		rec.take()
		before := w.objects()
		w.server.ForgetRequests()
		w.must(w.inf.Reshard(w.ctx, eighths(0, 6)))
		w.holdsShard(eighths(0, 6))
		rest()
		told := rec.take()
		if len(told) != w.inf.Len()-len(before) || len(told) == 0 || len(before) == 0 {
			t.Errorf("%d events for %d objects that came to %d", len(told), w.inf.Len()-len(before), len(before))
		}
		for _, e := range told {
			if !strings.HasPrefix(e, "Added ") || strings.Contains(e, "initial") {
				t.Errorf("told %q", e)
			}
		}
		for key, obj := range before {
			if now, _ := w.inf.Get(key); now != obj {
				t.Errorf("%s stayed, and lost its pointer", key)
			}
		}
		var asked []string
		for _, r := range w.server.Requests() {
			asked = append(asked, r.Verb+" "+r.Options.ShardSelector)
		}
		expect(t, asked, "list "+eighths(2, 6).Selector(), "watch "+eighths(0, 6).Selector())
		w.many(40)
		w.deleteKeys("ns0/o0", "ns1/o3", "ns2/o6")
		rest()
		w.holdsShard(eighths(0, 6))
	})
}

// From any shard to any other, what is held in the end is that one, and nobody is told of what is in both.
func TestFromShardToShard(t *testing.T) {
	for _, tc := range []struct {
		name     string
		from, to listwatch.Shard
	}{
		{"the same", eighths(0, 4), eighths(0, 2, 2, 4)},
		{"overlapping", eighths(0, 4), eighths(2, 6)},
		{"disjoint", eighths(0, 4), eighths(4, 8)},
		{"with a hole", eighths(0, 8), eighths(0, 2, 5, 7)},
		{"to nothing", eighths(0, 4), eighths()},
		{"from nothing", eighths(), eighths(0, 4)},
		{"to everything", eighths(3, 4), listwatch.Shard{}},
		{"to namespaces", eighths(0, 4), byNamespace(0, 2)},
		{"from namespaces", byNamespace(1, 2), eighths(0, 4)},
		{"between namespaces", byNamespace(1, 3), byNamespace(1, 2)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			eachSharding(t, options{Shard: tc.from}, func(w *world) {
				w.many(30)
				var rec recorder
				w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
				w.synced()
				w.holdsShard(tc.from)
				synctest.Wait()
				initial := len(rec.events)
				before := w.objects()
				w.must(w.inf.Reshard(w.ctx, tc.to))
				w.holdsShard(tc.to)
				rest()
				for _, e := range rec.events[initial:] {
					if in(tc.from, e.Object()) && in(tc.to, e.Object()) {
						t.Errorf("told %s", inWords(e))
					}
				}
				for key, obj := range w.objects() {
					if had, ok := before[key]; ok && had != obj {
						t.Errorf("%s stayed, and lost its pointer", key)
					}
				}
				w.many(40)
				rest()
				w.holdsShard(tc.to)
				told := map[string]string{}
				for key, obj := range w.inf.Snapshot().All() {
					told[key] = describe(obj)
				}
				if got := replay(t, rec.events); !maps.Equal(got, told) {
					t.Errorf("handler was told %v, want %v", got, told)
				}
			})
		})
	}
}

// Under churn, with faults and shards that change at any time, what is held in the end is the shard, each handler was told it, and
// what was told as moved was in another shard.
func TestRandomReshards(t *testing.T) {
	for seed := range 30 {
		from := inProcess
		several := seed%3 == 2
		if several {
			from = func(*apitest.Server) listwatch.Source[object] { return nil }
		}
		opts := slices.Collect(maps.Values(listModes))[seed%len(listModes)]
		inServer(t, apitest.Options{Seed: uint64(seed), Sharding: seed%2 == 0}, from, options{Reflector: opts}, func(w *world) {
			r := newRand(seed)
			if several {
				w.must(w.inf.AddSource("x", selected(w.server, "x")))
				w.must(w.inf.AddSource("y", selected(w.server, "y")))
			}
			shard := listwatch.Shard{}
			ctx, cancel := context.WithCancel(w.ctx)
			cancel() // nobody waits
			var every, latest recorder
			w.inf.AddHandler(every.handler(), informer.HandlerOptions{})
			w.inf.AddHandler(latest.handler(), informer.HandlerOptions{Delivery: informer.LatestState})
			stop := w.run()
			for range 300 {
				switch r.IntN(24) {
				case 0, 1, 2:
					switch a, b := r.Uint64N(8), r.Uint64N(9); {
					case r.IntN(10) == 0:
						shard = byNamespace(r.IntN(2), 2)
					case a < b:
						shard = eighths(a, b)
					default:
						shard = eighths(0, b, a, 8)
					}
					if r.IntN(2) == 0 {
						_ = w.inf.Reshard(ctx, shard) // it is not waited for
					} else {
						w.must(w.inf.Reshard(w.ctx, shard))
						w.must(w.inf.WaitFor(w.ctx, w.server.ResourceVersion()))
						w.holdsShard(shard)
					}
				case 3:
					w.server.CloseWatches("", nil)
				case 4:
					w.server.Compact()
					w.server.CloseWatches("", errors.New("cut"))
				case 5:
					rest()
				case 6:
					if r.IntN(5) == 0 {
						stop()
						stop = w.run()
						synctest.Wait()
					}
				case 7, 8, 9, 10:
					objs, err := apitest.List[object](w.server, configmaps, "")
					w.must(err)
					if len(objs) > 0 {
						_, err = apitest.Delete(w.server, objs[r.IntN(len(objs))])
						w.must(err)
					}
				default:
					name := r.IntN(6)
					set := []string{"x=1", "y=1", "x=1,y=1"}[name%3]
					w.put(labelled(fmt.Sprint("ns", r.IntN(5)), fmt.Sprint("o", name), fmt.Sprint(r.IntN(100)), set))
				}
			}
			w.must(w.inf.Reshard(w.ctx, shard))
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			w.holdsShard(shard)
			want := map[string]string{}
			for key, obj := range w.inf.Snapshot().All() {
				want[key] = describe(obj)
			}
			for name, rec := range map[string]*recorder{"every": &every, "latest": &latest} {
				if told := replay(t, rec.events); !maps.Equal(told, want) {
					t.Errorf("seed %d: handler %s was told %v, want %v", seed, name, told, want)
				}
				for _, e := range rec.events {
					if e.Moved && (e.Type != informer.Deleted || e.Final) {
						t.Errorf("seed %d: %s", seed, inWords(e))
					}
				}
			}
		})
	}
}

// Two replicas that swap their halves have everything in the end, each its own, and between them they had it all the time if
// each takes before it gives.
func TestReplicasSwapShards(t *testing.T) {
	eachSharding(t, options{Shard: eighths(0, 4)}, func(w *world) {
		other, err := informer.New(inProcess(w.server), options{Shard: eighths(4, 8)})
		w.must(err)
		w.many(40)
		w.synced()
		w.runs.Go(func() {
			if err := other.Run(w.ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		w.must(other.WaitSynced(w.ctx))
		covered := func(when string) {
			for key := range w.content() {
				_, here := w.inf.Get(key)
				_, there := other.Get(key)
				if !here && !there {
					t.Errorf("%s: nobody has %s", when, key)
				}
			}
		}
		covered("before")
		w.must(w.inf.Reshard(w.ctx, listwatch.Shard{}))
		w.must(other.Reshard(w.ctx, listwatch.Shard{}))
		covered("while both have everything")
		w.many(45)
		w.must(w.inf.Reshard(w.ctx, eighths(4, 8)))
		w.must(other.Reshard(w.ctx, eighths(0, 4)))
		rest()
		covered("after")
		w.holdsShard(eighths(4, 8))
		if w.inf.Len()+other.Len() != len(w.content()) {
			t.Errorf("%d and %d objects of %d", w.inf.Len(), other.Len(), len(w.content()))
		}
		ends := make(chan error, 2) // without that order, they get there too
		go func() { ends <- w.inf.Reshard(w.ctx, eighths(0, 4)) }()
		go func() { ends <- other.Reshard(w.ctx, eighths(4, 8)) }()
		w.must(<-ends)
		w.must(<-ends)
		covered("after swapping at once")
		w.holdsShard(eighths(0, 4))
	})
}
