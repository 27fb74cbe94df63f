package informer_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// listModes are the ways a list can come.
var listModes = map[string]reflector.Options{
	"streaming": {},
	"whole":     {Streaming: reflector.StreamingOff},
	"paged":     {Streaming: reflector.StreamingOff, PageSize: 3},
}

func inListModes(t *testing.T, test func(w *world)) {
	for name, opts := range listModes {
		t.Run(name, func(t *testing.T) { inWorld(t, options{Reflector: opts}, test) })
	}
}

// relist makes the informer list again, after write; nothing that write did is seen by a watch.
func (w *world) relist(write func()) {
	w.Helper()
	lists := w.inf.Status().Reflector.Lists
	w.server.Inject(apitest.Fault{Verb: "watch", Times: 1, Error: apierrors.NewResourceExpired("too old")})
	w.server.LoseEvents(write)
	for range 100 {
		time.Sleep(time.Second)
		synctest.Wait()
		if w.inf.Status().Reflector.Lists > lists {
			return
		}
	}
	w.Fatal("no relist")
}

// A relist tells only what it changed: unchanged objects keep their pointers.
func TestRelistTellsOnlyWhatChanged(t *testing.T) {
	inListModes(t, func(w *world) {
		for n := range 10 {
			w.create(cm(fmt.Sprint("o", n), "1"))
		}
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.synced()
		synctest.Wait()
		rec.take()
		before := map[string]object{}
		for key, obj := range w.inf.Snapshot().All() {
			before[key] = obj
		}
		w.relist(func() {})
		expect(w, rec.take())
		for key, obj := range w.inf.Snapshot().All() {
			if before[key] != obj {
				w.Errorf("%s has another pointer after the relist", key)
			}
		}
		w.relist(func() {
			w.update("o3", "2")
			w.delete("o7")
			w.create(cm("new", "1"))
		})
		got := rec.take()
		slices.Sort(got)
		expect(w, got, "Added new=1", "Deleted o7=1 lost", "Updated o3=1>2")
		w.equalsServer()
	})
}

// A delete that was missed is a typed deletion with the last known state, which is not the final one.
func TestMissedDeleteIsTyped(t *testing.T) {
	inListModes(t, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"))
		var got []informer.Deletion[object]
		w.inf.AddHandler(handler{Deleted: func(d informer.Deletion[object]) { got = append(got, d) }}, informer.HandlerOptions{})
		w.synced()
		w.relist(func() {
			w.update("a", "2")
			w.delete("a")
		})
		if len(got) != 1 || got[0].Key != "default/a" || got[0].Last.Data["v"] != "1" || got[0].Final {
			w.Errorf("deletions: %+v", got)
		}
	})
}

// Delete and re-creation during a gap are a delete and an add; asked for, they are one update.
func TestRecreationIsDeleteAndAdd(t *testing.T) {
	inListModes(t, func(w *world) {
		w.create(cm("a", "old"))
		var rec, joined recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.inf.AddHandler(joined.handler(), informer.HandlerOptions{JoinRecreated: true})
		w.synced()
		w.relist(func() {
			w.delete("a")
			w.create(cm("a", "new"))
		})
		expect(w, rec.take(), "Added a=old initial", "Deleted a=old lost", "Added a=new")
		expect(w, joined.take(), "Added a=old initial", "Updated a=old>new")
	})
}

// Readers never see a mixture of old and new during a relist.
func TestRelistShowsAtOnce(t *testing.T) {
	inListModes(t, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"), cm("c", "1"), cm("d", "1"))
		var seen [][]string
		look := func(event) {
			var names []string
			for _, obj := range w.inf.Snapshot().All() {
				names = append(names, obj.Name+obj.Data["v"])
			}
			slices.Sort(names)
			seen = append(seen, names)
		}
		w.synced()
		w.inf.AddHandler(handler{Event: look}, informer.HandlerOptions{})
		synctest.Wait()
		seen = nil
		w.relist(func() {
			w.delete("a", "d")
			w.update("b", "2")
			w.update("c", "2")
			w.create(cm("e", "2"))
		})
		if len(seen) != 5 {
			w.Errorf("%d events, want 5", len(seen))
		}
		for _, names := range seen {
			expect(w, names, "b2", "c2", "e2")
		}
	})
}

// An older state never replaces a newer one.
func TestLateStateIsIgnored(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"))
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.synced()
		synctest.Wait()
		rec.take()
		// A server whose cache is behind: the first list after the update is answered from before it.
		before := w.server.ResourceVersion()
		w.update("a", "2")
		w.settle()
		rec.take()
		fault := w.server.Inject(apitest.Fault{StaleAt: number(t, before)})
		w.relist(func() {})
		fault.Remove()
		expect(t, rec.take())
		w.equalsServer()
	})
}

func number(t testing.TB, rv string) (n uint64) {
	t.Helper()
	if _, err := fmt.Sscan(rv, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// When the server's history starts over, older versions count, once, and the caller is told.
func TestHistoryResetIsReportedAndResynced(t *testing.T) {
	inListModes(t, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"))
		backup := w.server.Backup()
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.synced()
		w.update("a", "2")
		w.update("a", "3")
		w.delete("b")
		w.create(cm("c", "1"))
		w.settle()
		rec.take()
		w.server.Restore(backup)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		w.equalsServer()
		got := rec.take()
		slices.Sort(got)
		expect(w, got, "Added b=1", "Deleted c=1 lost", "Updated a=3>1")
		if at, want := w.inf.Version().ResourceVersion, w.server.ResourceVersion(); at != want {
			w.Errorf("version is %s, the server's %s", at, want)
		}
		w.update("a", "4")
		time.Sleep(time.Minute)
		synctest.Wait()
		w.equalsServer()
	})
}

// Fakes change objects and leave the resource version: the change is told all the same.
func TestWatchEventsWithUnchangedResourceVersionAreTold(t *testing.T) {
	a1, a2 := cm("a", "1"), cm("a", "2")
	a1.ResourceVersion, a2.ResourceVersion = "7", "7"
	a1.UID, a2.UID = types.UID("u"), types.UID("u")
	f := newFunnel(a1)
	var rec recorder
	f.run(t, options{}, func(inf *informer.Informer[object]) {
		inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		f.send(modified(a2))
		synctest.Wait()
		expect(t, rec.take(), "Added a=1 initial", "Updated a=1>2")
	})
}

func stateOfA(value, rv, uid string) object {
	obj := cm("a", value)
	obj.ResourceVersion, obj.UID = rv, types.UID(uid)
	return obj
}

// An object that left and came back is told as a change from the state told last, and not from the one that it left in; the deletion of
// one that was never told ends the one that was.
func TestWhatIsToldBeginsWithWhatWasToldLast(t *testing.T) {
	f := newFunnel(stateOfA("1", "1", "u"))
	var rec recorder
	var busy chan struct{}
	handler := rec.handler()
	record := handler.Event
	handler.Event = func(e event) {
		record(e)
		<-busy
	}
	f.run(t, options{}, func(inf *informer.Informer[object]) {
		busy = make(chan struct{})
		inf.AddHandler(handler, informer.HandlerOptions{Delivery: informer.LatestState})
		synctest.Wait()
		f.send(deleted(stateOfA("2", "12", "u")))
		f.send(modified(stateOfA("3", "13", "u")))
		synctest.Wait()
		busy <- struct{}{}
		synctest.Wait()
		f.send(deleted(stateOfA("4", "14", "another")))
		synctest.Wait()
		close(busy)
		synctest.Wait()
		expect(t, rec.take(), "Added a=1 initial", "Updated a=1>3", "Deleted a=3 lost")
	})
}

func TestLateEventIsIgnored(t *testing.T) {
	f := newFunnel(stateOfA("12", "12", "u"))
	var rec recorder
	f.run(t, options{}, func(inf *informer.Informer[object]) {
		inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		f.send(modified(stateOfA("11", "11", "u")))         // late
		f.send(deleted(stateOfA("9", "9", "former")))       // of an object that was there before
		f.send(modified(stateOfA("13", "13", "u")))         // fine
		f.send(modified(stateOfA("14", "14", "another")))   // replaced within one stream
		f.send(deleted(stateOfA("final", "15", "another"))) // fine
		synctest.Wait()
		expect(t, rec.take(), "Added a=12 initial", "Updated a=12>13", "Deleted a=13 lost", "Added a=14", "Deleted a=final")
	})
}

func format(n uint64) string { return fmt.Sprint(n) }

func TestTooOldWatchListsAgain(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"))
		w.synced()
		w.server.SendError("", apierrors.NewResourceExpired("too old"))
		w.update("a", "2")
		time.Sleep(time.Minute)
		synctest.Wait()
		w.equalsServer()
	})
}
