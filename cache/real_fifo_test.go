package cache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func newAtomicFIFO() *RealFIFO {
	return NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, EmitDeltaTypeBookmark: true})
}

// batched pops one batch and returns what it was, and whether of the initial list.
func batched(t testing.TB, f *RealFIFO) (what string, isInInitialList bool) {
	t.Helper()
	succeed(t, f.PopBatch(
		func(deltas []Delta, initial bool) error {
			if len(deltas) < 2 {
				t.Errorf("a batch of %d", len(deltas))
			}
			what, isInInitialList = "batch: "+strings.Join(states(deltas), "; "), initial
			return nil
		},
		func(obj any, initial bool) error {
			what, isInInitialList = state(obj.(Deltas)), initial
			return nil
		}))
	return what, isInInitialList
}

func TestRealFIFOGivesOutEachThingInOrder(t *testing.T) {
	f := newAtomicFIFO()
	succeed(t, f.Add(newPod("a", "1")), f.Add(newPod("b", "1")), f.Update(newPod("a", "2")), f.Delete(newPod("b", "2")),
		f.Delete(newPod("unknown", "1")), f.Add(newPod("b", "3")))
	check(t, "popped", []string{"Added a@1", "Added b@1", "Updated a@2", "Deleted b@2", "Deleted unknown@1", "Added b@3"}, popAll(t, f))
}

func TestRealFIFOReplace(t *testing.T) {
	f := NewRealFIFO(MetaNamespaceKeyFunc, knownPods("gone@1", "queued@1", "deleted@1", "stays@1"), nil)
	succeed(t,
		f.Add(newPod("new", "1")), f.Update(newPod("new", "2")),
		f.Update(newPod("queued", "2")),
		f.Delete(newPod("deleted", "2")),
		f.Add(newPod("listed", "1")),
		f.Replace(newPods("stays@2", "listed@2", "listed@3"), "9"))
	check(t, "popped", []string{
		"Added new@1", "Updated new@2", "Updated queued@2", "Deleted deleted@2", "Added listed@1",
		"Deleted lost(new, new@2)", "Deleted lost(queued, queued@2)", "Deleted lost(gone, gone@1)",
		"Replaced stays@2", "Replaced listed@2", "Replaced listed@3",
	}, popAll(t, f))
}

func TestRealFIFOResync(t *testing.T) {
	f := NewRealFIFO(MetaNamespaceKeyFunc, knownPods("idle@1", "queued@1"), nil)
	succeed(t, f.Update(newPod("queued", "2")), f.Resync(), f.Resync())
	check(t, "popped", []string{"Updated queued@2", "Sync idle@1"}, popAll(t, f))
}

func TestRealFIFOAtomicEvents(t *testing.T) {
	f := newAtomicFIFO()
	succeed(t, f.Replace(newPods("a@1", "b@1"), "7"), f.Resync(), f.Bookmark("8"), f.Replace(nil, "9"))
	check(t, "popped", []string{"ReplacedAll [a@1 b@1] as of 7", "SyncAll {}", "Bookmark 8", "ReplacedAll [] as of 9"}, popAll(t, f))
}

func TestRealFIFOBookmarksOnlyByOption(t *testing.T) {
	f := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true})
	succeed(t, f.Bookmark("8"))
	check(t, "popped", []string{}, popAll(t, f))
}

func TestRealFIFOInitialList(t *testing.T) {
	type pop struct {
		what            string
		initial, synced bool
	}
	for name, test := range map[string]struct {
		f    *RealFIFO
		pops []pop
	}{
		"single events": {NewRealFIFO(MetaNamespaceKeyFunc, knownPods("gone@1"), nil), []pop{
			{"Sync gone@1", false, false},
			{"Deleted lost(gone, gone@1)", true, false},
			{"Replaced a@1", true, false},
			{"Replaced a@2", true, true},
			{"Added z@1", false, true},
		}},
		"atomic events": {newAtomicFIFO(), []pop{
			{"SyncAll {}", false, false},
			{"ReplacedAll [a@1 a@2] as of 1", true, true},
			{"Added z@1", false, true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.f
			succeed(t, f.Resync())
			check(t, "synced at first", false, f.HasSynced())
			succeed(t, f.Replace(newPods("a@1", "a@2"), "1"), f.Add(newPod("z", "1")))
			for _, want := range test.pops {
				what, initial := popped(t, f)
				check(t, "popped", want.what, what)
				check(t, "initial of "+what, want.initial, initial)
				check(t, "synced after "+what, want.synced, f.HasSynced())
				check(t, "done after "+what, want.synced, IsDone(f.HasSyncedChecker()))
			}
		})
	}
}

func TestRealFIFOHasSynced(t *testing.T) {
	for name, test := range map[string]struct {
		first  func(f *RealFIFO) error
		synced bool
	}{
		"add":               {func(f *RealFIFO) error { return f.Add(newPod("a", "1")) }, true},
		"update":            {func(f *RealFIFO) error { return f.Update(newPod("a", "1")) }, true},
		"delete":            {func(f *RealFIFO) error { return f.Delete(newPod("a", "1")) }, true},
		"bookmark":          {func(f *RealFIFO) error { return f.Bookmark("1") }, false},
		"empty atomic list": {func(f *RealFIFO) error { return f.Replace(nil, "1") }, false}, // it has to be processed
	} {
		f := newAtomicFIFO()
		succeed(t, test.first(f))
		check(t, "synced after "+name, test.synced, f.HasSynced())
	}
	f := NewRealFIFO(MetaNamespaceKeyFunc, knownPods(), nil)
	succeed(t, f.Replace(nil, "1"))
	check(t, "synced after an empty list", true, f.HasSynced())
}

func TestRealFIFOPopBatch(t *testing.T) {
	f := newAtomicFIFO()
	succeed(t, f.Add(newPod("a", "1")), f.Update(newPod("b", "1")), f.Delete(newPod("c", "1")), f.Bookmark("2"), f.Add(newPod("d", "1")),
		f.Resync(), f.Add(newPod("e", "1")), f.Add(newPod("f", "1")), f.Update(newPod("e", "2")), f.Add(newPod("g", "1")), f.Replace(nil, "3"))
	for _, want := range []string{
		"batch: Added a@1; Updated b@1; Deleted c@1",
		"Bookmark 2",
		"Added d@1", // one is no batch
		"SyncAll {}",
		"batch: Added e@1; Added f@1", // no object twice
		"batch: Updated e@2; Added g@1",
		"ReplacedAll [] as of 3",
	} {
		what, _ := batched(t, f)
		check(t, "popped", want, what)
	}
	f.Close()
	if err := f.PopBatch(nil, nil); !errors.Is(err, ErrFIFOClosed) {
		t.Errorf("PopBatch of a closed queue: %v", err)
	}
}

func TestRealFIFOBatchIsOfTheInitialListOrNot(t *testing.T) {
	f := NewRealFIFO(MetaNamespaceKeyFunc, knownPods("gone@1"), nil)
	succeed(t, f.Replace(newPods("a@1", "b@1"), "1"), f.Add(newPod("c", "1")), f.Add(newPod("d", "1")))
	what, initial := batched(t, f)
	check(t, "popped", "batch: Deleted lost(gone, gone@1); Replaced a@1; Replaced b@1", what)
	check(t, "initial", true, initial)
	check(t, "synced", true, f.HasSynced())
	what, initial = batched(t, f)
	check(t, "popped", "batch: Added c@1; Added d@1", what)
	check(t, "initial", false, initial)
}

func TestRealFIFOBatchIsBounded(t *testing.T) {
	f := newAtomicFIFO()
	for i := range batchLimit + 10 {
		succeed(t, f.Add(newPod(fmt.Sprint(i), "1")))
	}
	var sizes []int
	for range 2 {
		succeed(t, f.PopBatch(func(deltas []Delta, _ bool) error { sizes = append(sizes, len(deltas)); return nil }, nil))
	}
	check(t, "sizes", []int{1000, 10}, sizes)
}

func TestRealFIFOErrRequeue(t *testing.T) {
	inner := errors.New("not now")
	requeue := func(any, bool) error { return ErrRequeue{inner} }
	for name, test := range map[string]struct {
		fill func(f *RealFIFO) error
		left []string
	}{
		"to the end": {func(f *RealFIFO) error { return errors.Join(f.Add(newPod("a", "1")), f.Add(newPod("b", "1"))) },
			[]string{"Added b@1", "Added a@1"}},
		"unless something newer is there": {func(f *RealFIFO) error { return errors.Join(f.Add(newPod("a", "1")), f.Update(newPod("a", "2"))) },
			[]string{"Updated a@2"}},
		"unless a list is there": {func(f *RealFIFO) error { return errors.Join(f.Add(newPod("a", "1")), f.Replace(nil, "2")) },
			[]string{"ReplacedAll [] as of 2"}},
		"a list to the front": {func(f *RealFIFO) error { return errors.Join(f.Replace(nil, "1"), f.Add(newPod("a", "2"))) },
			[]string{"ReplacedAll [] as of 1", "Added a@2"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newAtomicFIFO()
			succeed(t, test.fill(f))
			if _, err := f.Pop(requeue); err != inner {
				t.Errorf("got error %v, want the inner one", err)
			}
			check(t, "left", test.left, popAll(t, f))
		})
	}
	t.Run("batch", func(t *testing.T) {
		f := newAtomicFIFO()
		succeed(t, f.Add(newPod("a", "1")), f.Add(newPod("b", "1")), f.Update(newPod("a", "2")))
		if err := f.PopBatch(func([]Delta, bool) error { return ErrRequeue{inner} }, requeue); err != inner {
			t.Errorf("got error %v, want the inner one", err)
		}
		check(t, "left", []string{"Updated a@2", "Added b@1"}, popAll(t, f))
	})
}

func TestRealFIFOReplaceWaitsForWhatIsBeingProcessedUnlessUnlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, unlocked := range []bool{false, true} {
			f := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: unlocked})
			succeed(t, f.Add(newPod("a", "1")))
			release, replaced := make(chan struct{}), make(chan struct{})
			go f.Pop(func(any, bool) error { <-release; return nil })
			synctest.Wait()
			succeed(t, f.Update(newPod("a", "2"))) // never waits
			go func() {
				succeed(t, f.Replace(nil, "3"))
				close(replaced)
			}()
			synctest.Wait()
			select {
			case <-replaced:
				check(t, "unlocked", true, unlocked)
			default:
				check(t, "unlocked", false, unlocked)
			}
			close(release)
			<-replaced
			check(t, "left", []string{"Updated a@2", "ReplacedAll [] as of 3"}, popAll(t, f))
		}
	})
}

func TestRealFIFOPopBlocksUntilThereIsAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newAtomicFIFO()
		got := make(chan string, 1)
		go func() {
			what, _ := popped(t, f)
			got <- what
		}()
		synctest.Wait()
		check(t, "popped before there was any", 0, len(got))
		succeed(t, f.Resync())
		check(t, "popped", "SyncAll {}", <-got)
	})
}

func TestRealFIFOKeyErrorsAndTransformer(t *testing.T) {
	known := knownPods("known@1")
	f := NewRealFIFO(MetaNamespaceKeyFunc, known, addLabel)
	if f.Transformer() == nil {
		t.Error("tells no transformer")
	}
	wantKeyError(t, f.Add(7), 7)
	wantKeyError(t, f.Update(7), 7)
	wantKeyError(t, f.Delete(7), 7)
	wantKeyError(t, f.Replace([]any{newPod("a", "1"), 7}, "1"), 7)
	bad := newPod("bad", "1")
	for name, err := range map[string]error{"add": f.Add(bad), "replace": f.Replace([]any{newPod("a", "1"), bad}, "")} {
		if err == nil || !strings.Contains(err.Error(), "bad") {
			t.Errorf("%s of a bad pod: %v", name, err)
		}
	}
	check(t, "synced", false, f.HasSynced())
	succeed(t, f.Resync(), f.Add(newPod("a", "1")), f.Delete(DeletedFinalStateUnknown{"a", newPod("a", "1t")}), f.Replace(newPods("b@1"), "1"))
	check(t, "popped", []string{"Sync known@1", "Added a@1t", "Deleted lost(a, a@1t)", "Deleted lost(known, known@1)", "Replaced b@1t"}, popAll(t, f))
}

func TestRealFIFOOptionsThatContradictEachOther(t *testing.T) {
	known := knownPods()
	for name, opts := range map[string]RealFIFOOptions{
		"nothing known":          {},
		"known and atomic":       {KnownObjects: known, AtomicEvents: true},
		"unlocked, not atomic":   {KnownObjects: known, UnlockWhileProcessing: true},
		"bookmarks, not atomic":  {KnownObjects: known, EmitDeltaTypeBookmark: true},
		"nothing but a key func": {KeyFunction: MetaNamespaceKeyFunc},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			NewRealFIFOWithOptions(opts)
		})
	}
}

func TestRealFIFOName(t *testing.T) {
	check(t, "default", "RealFIFO", newAtomicFIFO().Name())
	check(t, "own", "pods", NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, Name: "pods"}).Name())
	name, err := NewInformerName(t.Name())
	succeed(t, err)
	defer name.Release()
	f := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, Name: "pods", Identifier: name.WithResource(schema.GroupVersionResource{Resource: "pods"})})
	check(t, "of the identifier", t.Name(), f.Name())
	f.Close()
	check(t, "closed", true, f.IsClosed())
}

func TestRealFIFOMetrics(t *testing.T) {
	name, err := NewInformerName(t.Name())
	succeed(t, err)
	metrics := &recordedMetrics{}
	f := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, MetricsProvider: metrics,
		Identifier: name.WithResource(schema.GroupVersionResource{Resource: "pods"})})
	succeed(t, f.Add(newPod("a", "1")), f.Add(newPod("b", "1")))
	popped(t, f)
	f.Pop(func(any, bool) error { return ErrRequeue{} })
	name.Release()
	popped(t, f)
	check(t, "queued", []float64{1, 2, 1, 0, 1}, metrics.queued)
	check(t, "latencies observed", 2, len(metrics.latency))
}

// runRealFIFOScript checks a RealFIFO that knows the consumer's objects: what has been given out has to lead a consumer
// to the same content as the producer's calls, at any time when nothing is queued.
func runRealFIFOScript(t *testing.T, s *script) {
	known, next := knownPods(), versions()
	f := NewRealFIFO(MetaNamespaceKeyFunc, known, nil)
	world := map[string]string{} // what the producer has told
	var line []string            // what was queued for each single call
	apply := func(d Delta) error {
		if d.Type == Deleted {
			return known.Delete(d.Object)
		}
		return known.Add(d.Object)
	}
	for !s.ended() {
		switch s.pick(8) {
		case 0, 1:
			pod := newPod(s.key(), next())
			succeed(t, f.Add(pod))
			world[pod.Name] = state(pod)
			line = append(line, "Added "+state(pod))
		case 2:
			pod := newPod(s.key(), next())
			succeed(t, f.Delete(pod))
			delete(world, pod.Name)
			line = append(line, "Deleted "+state(pod))
		case 3:
			list := s.pods(next)
			succeed(t, f.Replace(slices.Clone(list), ""))
			clear(world)
			for _, obj := range list {
				world[keyOfPod(obj)] = state(obj)
			}
			line = line[:0]
			for _, item := range f.items {
				line = append(line, state(item.Delta)) // which ones, the end tells
			}
		case 4:
			if s.pick(2) == 0 && len(line) == 0 {
				succeed(t, f.Resync())
				line = append(line, states(known.List())...)
				for i := range line {
					line[i] = "Sync " + line[i]
				}
				slices.Sort(line)
				slices.SortFunc(f.items, func(a, b realItem) int { return strings.Compare(a.key, b.key) })
			}
		case 5:
			if len(line) == 0 {
				continue
			}
			succeed(t, f.PopBatch(func(deltas []Delta, _ bool) error {
				seen := map[string]bool{}
				for _, d := range deltas {
					check(t, "batched", line[0], state(d))
					line = line[1:]
					key, err := f.keyFunc.keyInQueue(d.Object)
					succeed(t, err)
					check(t, "twice in a batch", false, seen[key])
					seen[key] = true
					succeed(t, apply(d))
				}
				return nil
			}, func(obj any, _ bool) error {
				check(t, "popped", line[0], state(obj))
				line = line[1:]
				return apply(obj.(Deltas)[0])
			}))
		default:
			if len(line) == 0 {
				continue
			}
			obj, err := f.Pop(func(obj any, _ bool) error { return apply(obj.(Deltas)[0]) })
			succeed(t, err)
			check(t, "popped", line[0], state(obj))
			line = line[1:]
		}
		check(t, "queued", len(line), len(f.items))
		if len(line) == 0 {
			want := []string{}
			for _, pod := range world {
				want = append(want, pod)
			}
			check(t, "the consumer has what the producer told", slices.Sorted(slices.Values(want)), sortedOrNil(known.List()))
		}
	}
}

func TestRealFIFOAgainstAModel(t *testing.T) { randomScripts(t, runRealFIFOScript) }

func FuzzRealFIFO(f *testing.F) { fuzzScripts(f, runRealFIFOScript) }
