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

	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
)

// inOverlay runs a test with an overlay, and a watch that brings events a minute late.
func inOverlay(t *testing.T, opts informer.OverlayOptions, test func(w *world, o *informer.Overlay[object])) {
	t.Helper()
	inWorld(t, options{Name: "maps"}, func(w *world) {
		o := informer.NewOverlay(w.inf, opts)
		defer o.Close()
		w.create(cm("a", "1"))
		w.server.Inject(apitest.Fault{Verb: "watch", EventDelay: time.Minute})
		w.run()
		time.Sleep(5 * time.Minute)
		w.must(w.inf.WaitSynced(w.ctx))
		test(w, o)
	})
}

func (w *world) wrote(o *informer.Overlay[object], name, value string) object {
	w.Helper()
	obj, err := apitest.Update(w.server, cm(name, value))
	if err != nil {
		obj, err = apitest.Create(w.server, cm(name, value))
	}
	w.must(err)
	w.must(o.Wrote(obj))
	return obj
}

func shown(o *informer.Overlay[object], name string) string {
	obj, ok := o.Get("default/" + name)
	if !ok {
		return "-"
	}
	return obj.Data["v"]
}

func TestOverlayShowsOwnWritesUntilTheStoreHasThem(t *testing.T) {
	inOverlay(t, informer.OverlayOptions{}, func(w *world, o *informer.Overlay[object]) {
		w.wrote(o, "a", "2")
		w.wrote(o, "new", "1")
		if obj, _ := w.inf.Get("default/a"); obj.Data["v"] != "1" {
			t.Fatal("the store should lag")
		}
		if shown(o, "a") != "2" || shown(o, "new") != "1" || o.Len() != 2 {
			t.Errorf("a=%s new=%s, %d entries", shown(o, "a"), shown(o, "new"), o.Len())
		}
		a, _ := o.Get("default/a")
		w.must(o.Deleted(a))
		if shown(o, "a") != "-" {
			t.Error("an own delete is not seen")
		}
		w.delete("a")
		w.update("new", "by somebody else")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if shown(o, "a") != "-" || shown(o, "new") != "by somebody else" || o.Len() != 0 {
			t.Errorf("when caught up: a=%s new=%s, %d entries", shown(o, "a"), shown(o, "new"), o.Len())
		}
		w.equalsServer()
	})
}

// What a restored server has lost is not shown any more, though its version is one the server will not reach for long.
func TestOverlayForgetsWhatARestoredServerHasLost(t *testing.T) {
	inOverlay(t, informer.OverlayOptions{}, func(w *world, o *informer.Overlay[object]) {
		backup := w.server.Backup()
		w.update("a", "2")
		time.Sleep(2 * time.Minute)
		w.server.Inject(apitest.Fault{Verb: "watch", Silent: true})
		w.server.CloseWatches("configmaps", nil)
		time.Sleep(time.Minute)
		w.wrote(o, "a", "3")
		w.wrote(o, "new", "1")
		if shown(o, "a") != "3" || o.Len() != 2 {
			t.Fatalf("a=%s, %d entries", shown(o, "a"), o.Len())
		}
		w.server.Restore(backup)
		w.server.RemoveFaults()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if shown(o, "a") != "1" || shown(o, "new") != "-" || o.Len() != 0 {
			t.Fatalf("a=%s new=%s, %d entries", shown(o, "a"), shown(o, "new"), o.Len())
		}
		w.must(o.Barrier(w.ctx, "default/new"))
	})
}

// The overlay sits in the event path: what a handler is told is what it reads through the overlay, or older.
func TestOverlayIsDroppedBeforeHandlersAreTold(t *testing.T) {
	inOverlay(t, informer.OverlayOptions{}, func(w *world, o *informer.Overlay[object]) {
		var wrong []string
		w.inf.AddHandler(handler{
			Updated: func(_, new object) {
				if got, _ := o.Get("default/a"); older(got, new) {
					wrong = append(wrong, "told of "+describe(new)+", read "+describe(got))
				}
			},
			Deleted: func(d informer.Deletion[object]) {
				if got, ok := o.Get(d.Key); ok {
					wrong = append(wrong, "told that it is deleted, read "+describe(got))
				}
			},
		}, informer.HandlerOptions{})
		mine := w.wrote(o, "a", "2")
		w.delete("a")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		expect(t, wrong)
		if o.Len() != 0 {
			t.Errorf("%d entries left", o.Len())
		}
		w.must(o.Wrote(mine)) // late: the store has seen the object's deletion
		if shown(o, "a") != "-" {
			t.Error("a late write brought a deleted object back")
		}
		again, err := apitest.Create(w.server, cm("a", "anew"))
		w.must(err)
		w.must(o.Wrote(again))
		if shown(o, "a") != "anew" {
			t.Error("a re-created object is not shown")
		}
	})
}

func TestOverlayTellsReCreationApartByUID(t *testing.T) {
	inOverlay(t, informer.OverlayOptions{}, func(w *world, o *informer.Overlay[object]) {
		former, _ := w.inf.Get("default/a")
		w.delete("a")
		w.must(o.Deleted(former))
		second := w.wrote(o, "a", "second")
		if shown(o, "a") != "second" {
			t.Errorf("shows %s", shown(o, "a"))
		}
		w.must(o.Deleted(former)) // of another object
		if shown(o, "a") != "second" {
			t.Error("the deletion of the former object hides the new one")
		}
		w.must(o.Wrote(former)) // older
		if shown(o, "a") != "second" {
			t.Error("an older write shadows a newer one")
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got, _ := o.Get("default/a"); got == nil || got.UID != second.UID || o.Len() != 0 {
			t.Errorf("shows %s, %d entries", describe(got), o.Len())
		}
	})
}

// Who deletes an object need not know its last state, and the store may not even know that its predecessor is gone.
func TestOverlayHidesAllThatADeletionEnds(t *testing.T) {
	inOverlay(t, informer.OverlayOptions{}, func(w *world, o *informer.Overlay[object]) {
		byValue := informer.AddIndex(w.inf, "value", func(obj object) []string { return []string{obj.Data["v"]} })
		first, _ := w.inf.Get("default/a")
		hidden := func(what string) {
			t.Helper()
			found := maps.Collect(o.Index(byValue, first.Data["v"]))
			if all := maps.Collect(o.All()); shown(o, "a") != "-" || len(found) != 0 || len(all) != 0 {
				t.Errorf("%s: shows %s, by index %v, in all %v", what, shown(o, "a"), found, all)
			}
		}
		w.wrote(o, "a", "2")
		w.must(o.Deleted(first))
		hidden("deleted, as it was before the own write")
		w.delete("a")
		second := w.wrote(o, "a", "second")
		w.must(o.Deleted(second))
		w.delete("a")
		hidden("deleted, while the store has its predecessor")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		hidden("seen")
		if o.Len() != 0 || w.inf.Len() != 0 {
			t.Errorf("%d entries, %d stored", o.Len(), w.inf.Len())
		}
	})
}

// An own delete of an object that the store has not even seen yet hides it when it comes.
func TestOverlayHidesADeletedObjectThatComesLate(t *testing.T) {
	f := newFunnel()
	f.run(t, options{}, func(inf *informer.Informer[object]) {
		o := informer.NewOverlay(inf, informer.OverlayOptions{})
		mine := cm("a", "1")
		mine.UID, mine.ResourceVersion = types.UID("u"), "15"
		if err := errors.Join(o.Wrote(mine), o.Deleted(mine)); err != nil {
			t.Fatal(err)
		}
		f.send(modified(mine))
		synctest.Wait()
		if _, ok := inf.Get("default/a"); !ok || shown(o, "a") != "-" || o.Len() != 1 {
			t.Errorf("while the deletion is on its way: shows %s, %d entries", shown(o, "a"), o.Len())
		}
		gone := mine.DeepCopy()
		gone.ResourceVersion = "16"
		f.send(deleted(gone))
		synctest.Wait()
		if shown(o, "a") != "-" || o.Len() != 0 {
			t.Errorf("after the deletion: shows %s, %d entries", shown(o, "a"), o.Len())
		}
	})
}

// Nothing is lost to size: the write that is one too many is refused.
func TestOverlayRefusesWhatItCannotRemember(t *testing.T) {
	inOverlay(t, informer.OverlayOptions{Max: 2}, func(w *world, o *informer.Overlay[object]) {
		w.wrote(o, "b", "1")
		w.wrote(o, "c", "1")
		w.wrote(o, "b", "2") // of a key it has already
		d, err := apitest.Create(w.server, cm("d", "1"))
		w.must(err)
		if err := o.Wrote(d); !errors.Is(err, informer.ErrOverlayFull) || !strings.Contains(err.Error(), "default/d") {
			t.Errorf("error is %v", err)
		}
		if shown(o, "b") != "2" || shown(o, "c") != "1" {
			t.Error("an entry was lost")
		}
		w.must(w.inf.WaitFor(w.ctx, d.ResourceVersion)) // the way out
		if shown(o, "d") != "1" || o.Len() != 0 {
			t.Errorf("d=%s, %d entries", shown(o, "d"), o.Len())
		}
	})
}

func TestOverlayRefusesVersionsThatAreNoNumbers(t *testing.T) {
	inOverlay(t, informer.OverlayOptions{}, func(w *world, o *informer.Overlay[object]) {
		for _, rv := range []string{"", "x"} {
			obj := cm("a", "2")
			obj.ResourceVersion = rv
			if err := o.Wrote(obj); err == nil || !strings.Contains(err.Error(), "default/a") {
				t.Errorf("%q: %v", rv, err)
			}
		}
	})
}

func TestOverlayIndexAndListAreThoseOfWhatIsShown(t *testing.T) {
	inOverlay(t, informer.OverlayOptions{}, func(w *world, o *informer.Overlay[object]) {
		byValue := informer.AddIndex(w.inf, "value", func(obj object) []string { return []string{obj.Data["v"]} })
		w.wrote(o, "a", "2")
		w.wrote(o, "b", "2")
		w.wrote(o, "c", "3")
		names := func(value string) (names []string) {
			for key := range o.Index(byValue, value) {
				names = append(names, key)
			}
			slices.Sort(names)
			return names
		}
		expect(t, names("1"))
		expect(t, names("2"), "default/a", "default/b")
		b, _ := o.Get("default/b")
		w.must(o.Deleted(b))
		w.delete("b")
		expect(t, names("2"), "default/a")
		all := maps.Collect(o.All())
		if len(all) != 2 || all["default/a"].Data["v"] != "2" || all["default/c"].Data["v"] != "3" {
			t.Errorf("all: %v", all)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		expect(t, names("2"), "default/a")
		if got, want := len(maps.Collect(o.All())), w.inf.Len(); got != want || o.Len() != 0 {
			t.Errorf("%d shown, %d stored, %d entries", got, want, o.Len())
		}
	})
}

// A barrier waits for the own writes to one key, and no other.
func TestBarrierWaitsForOneKey(t *testing.T) {
	inOverlay(t, informer.OverlayOptions{}, func(w *world, o *informer.Overlay[object]) {
		w.wrote(o, "a", "2")
		began := time.Now()
		w.must(o.Barrier(w.ctx, "default/other"))
		if waited := time.Since(began); waited != 0 {
			t.Errorf("a key without own writes was held up for %s", waited)
		}
		w.must(o.Barrier(w.ctx, "default/a"))
		if obj, _ := w.inf.Get("default/a"); obj.Data["v"] != "2" || time.Since(began) == 0 {
			t.Errorf("after %s the store has %s", time.Since(began), describe(obj))
		}
		w.wrote(o, "a", "3")
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		if err := o.Barrier(ctx, "default/a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
}

// A controller that makes one child for each parent from its cache alone makes duplicates when the watch lags, and with
// the overlay none.
func TestOneChildPerParent(t *testing.T) {
	const parents = 10_000
	reconcileAll := func(t *testing.T, own bool) (children int) {
		inWorld(t, options{}, func(w *world) {
			byParent := informer.AddIndex(w.inf, "parent", func(obj object) []string {
				if parent := obj.Labels["parent"]; parent != "" {
					return []string{parent}
				}
				return nil
			})
			o := informer.NewOverlay(w.inf, informer.OverlayOptions{Max: parents})
			w.server.Inject(apitest.Fault{Verb: "watch", BookmarkDelay: time.Second, EventDelay: 10 * time.Millisecond})
			w.synced()
			has := func(parent string) bool {
				if own {
					for range o.Index(byParent, parent) {
						return true
					}
					return false
				}
				return byParent.Count(w.inf.Snapshot(), parent) > 0
			}
			reconcile := func(parent string) {
				if has(parent) {
					return
				}
				child := cm("", parent)
				child.GenerateName, child.Labels = "child-", map[string]string{"parent": parent}
				made, err := apitest.Create(w.server, child)
				w.must(err)
				children++
				if own {
					w.must(o.Wrote(made))
				}
			}
			for n := range parents {
				reconcile(fmt.Sprint("p", n))
				if n%4 == 0 {
					reconcile(fmt.Sprint("p", n)) // something made the parent due again at once
				}
				if n%8 == 0 {
					time.Sleep(10 * time.Millisecond)
				}
				if n%16 == 0 && n >= 500 {
					reconcile(fmt.Sprint("p", n-500))
				}
			}
		})
		return children
	}
	if children := reconcileAll(t, false); children <= parents {
		t.Errorf("from the cache alone: %d children for %d parents; the test shows nothing", children, parents)
	} else {
		t.Logf("from the cache alone: %d children for %d parents", children, parents)
	}
	if children := reconcileAll(t, true); children != parents {
		t.Errorf("with the overlay: %d children for %d parents", children, parents)
	}
}
