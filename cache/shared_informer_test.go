package cache

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func newPodInformer(s *podServer) SharedIndexInformer {
	return NewSharedIndexInformer(s.listerWatcher(), &corev1.Pod{}, 0, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
}

func addHandler(t testing.TB, inf SharedInformer, h ResourceEventHandler) ResourceEventHandlerRegistration {
	t.Helper()
	r, err := inf.AddEventHandler(h)
	succeed(t, err)
	return r
}

func TestSharedInformerTellsAHandlerTheFirstListAndWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		s.create("b", "1")
		inf, h := newPodInformer(s), &callLog{}
		addHandler(t, inf, h)
		start(t, inf.RunWithContext)
		h.toldInAnyOrder(t, "first list", "initial a:1", "initial b:1")

		s.update("a", "2")
		s.create("c", "1")
		s.delete("b")
		h.told(t, "watch", "update a:1 a:2", "add c:1", "delete b:1")
		check(t, "store", []string{"a:2", "c:1"}, contents(inf.GetStore().List()))
		check(t, "resource version", s.ResourceVersion(), inf.LastSyncResourceVersion())
	})
}

func TestSharedInformerCallsComeAfterStoreAndIndexes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := NewSharedIndexInformer(s.listerWatcher(), &corev1.Pod{}, 0, Indexers{
			"content": func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
		})
		seen := map[string][]string{}
		addHandler(t, inf, ResourceEventHandlerFuncs{
			AddFunc: func(obj any) {
				found, err := inf.GetIndexer().ByIndex("content", obj.(*corev1.Pod).Spec.NodeName)
				succeed(t, err)
				seen["add"] = contents(found)
			},
			UpdateFunc: func(_, obj any) {
				found, err := inf.GetIndexer().ByIndex("content", obj.(*corev1.Pod).Spec.NodeName)
				succeed(t, err)
				seen["update"] = contents(found)
			},
			DeleteFunc: func(obj any) { seen["delete"] = contents(inf.GetIndexer().List()) },
		})
		start(t, inf.RunWithContext)
		synctest.Wait()
		s.update("a", "2")
		synctest.Wait()
		s.delete("a")
		synctest.Wait()
		check(t, "seen by handlers", map[string][]string{"add": {"a:1"}, "update": {"a:2"}, "delete": {}}, seen)
	})
}

func TestSharedInformerTellsALateHandlerWhatThereIsAndThenWhatFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := newPodInformer(s)
		start(t, inf.RunWithContext)
		synctest.Wait()
		s.update("a", "2")
		s.create("b", "1")
		synctest.Wait()

		h := &callLog{}
		r := addHandler(t, inf, h)
		s.update("b", "2")
		synctest.Wait()
		calls := h.take()
		check(t, "number of calls", 3, len(calls))
		check(t, "last call", "update b:1 b:2", calls[2])
		check(t, "synced", true, r.HasSynced())
	})
}

func TestSharedInformerHandlersDontDelayTheStoreOrOneAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := newPodInformer(s)
		release := make(chan struct{})
		slow := &callLog{before: func(string) { <-release }}
		fast := &callLog{}
		addHandler(t, inf, slow)
		addHandler(t, inf, fast)
		start(t, inf.RunWithContext)
		s.update("a", "2")
		s.update("a", "3")
		synctest.Wait()
		check(t, "store", []string{"a:3"}, contents(inf.GetStore().List()))
		if got := fast.take(); len(got) == 0 || !strings.HasSuffix(got[len(got)-1], "a:3") {
			t.Errorf("the other handler was told %v, want up to a:3", got)
		}
		check(t, "slow handler", []string{}, slow.take())
		close(release)
		synctest.Wait()
		if got := slow.take(); !strings.HasSuffix(got[len(got)-1], "a:3") {
			t.Errorf("released, the slow handler was told %v, want up to a:3", got)
		}
	})
}

func TestSharedInformerTellsAMissedDeleteAsATombstone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		s.create("b", "1")
		inf, h := newPodInformer(s), &callLog{}
		addHandler(t, inf, h)
		start(t, inf.RunWithContext)
		synctest.Wait()
		h.take()
		s.LoseEvents(func() { s.delete("a") })
		settle()
		h.told(t, "after the gap", "delete lost(ns/a, a:1)")
	})
}

func TestSharedInformerTellsNothingOfARelistThatChangedNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		s.create("b", "1")
		inf, h := newPodInformer(s), &callLog{}
		addHandler(t, inf, h)
		start(t, inf.RunWithContext)
		synctest.Wait()
		h.take()
		before, _, err := inf.GetStore().GetByKey("ns/a")
		succeed(t, err)
		s.LoseEvents(func() { s.update("b", "2") })
		settle()
		h.told(t, "after the gap", "update b:1 b:2")
		after, _, err := inf.GetStore().GetByKey("ns/a")
		succeed(t, err)
		if before != after {
			t.Error("an unchanged object is another one after a relist")
		}
	})
}

func TestSharedInformerTellsARecreatedObjectAsOneUpdate(t *testing.T) {
	for _, gap := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newPodServer(t)
			first := s.create("a", "1")
			inf, h := newPodInformer(s), &callLog{}
			addHandler(t, inf, h)
			var uids []string
			addHandler(t, inf, ResourceEventHandlerFuncs{UpdateFunc: func(old, new any) {
				uids = append(uids, string(old.(*corev1.Pod).UID), string(new.(*corev1.Pod).UID))
			}})
			start(t, inf.RunWithContext)
			synctest.Wait()
			h.take()
			if !gap {
				s.delete("a")
				s.create("a", "2")
				h.told(t, "while watching", "delete a:1", "add a:2")
				return
			}
			var second *corev1.Pod
			s.LoseEvents(func() {
				s.delete("a")
				second = s.create("a", "2")
			})
			settle()
			h.told(t, "after the gap", "update a:1 a:2")
			check(t, "UIDs", []string{string(first.UID), string(second.UID)}, uids)
		})
	}
}

func TestSharedInformerShowsARelistAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		s.create("b", "1")
		inf := newPodInformer(s)
		var stores [][]string
		h := &callLog{before: func(string) { stores = append(stores, contents(inf.GetStore().List())) }}
		start(t, inf.RunWithContext)
		synctest.Wait()
		addHandler(t, inf, h)
		synctest.Wait()
		stores = nil
		s.LoseEvents(func() {
			s.delete("a")
			s.update("b", "2")
			s.create("c", "2")
		})
		settle()
		want := []string{"b:2", "c:2"}
		check(t, "stores seen in calls", [][]string{want, want, want}, stores)
	})
}

func TestSharedInformerSyncIsOfTheStoreAndOfEachHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		for _, name := range []string{"a", "b", "c"} {
			s.create(name, "1")
		}
		inf := newPodInformer(s)
		release, calls := make(chan struct{}), 0
		h := &callLog{before: func(string) {
			if calls++; calls == 2 {
				<-release
			}
		}}
		r := addHandler(t, inf, h)
		check(t, "informer synced before it runs", false, inf.HasSynced())
		start(t, inf.RunWithContext)
		synctest.Wait()
		check(t, "informer synced", true, inf.HasSynced())
		check(t, "informer done", true, IsDone(inf.HasSyncedChecker()))
		check(t, "handler synced in its second call", false, r.HasSynced())
		check(t, "handler done in its second call", false, IsDone(r.HasSyncedChecker()))
		check(t, "calls", 1, len(h.take()))
		close(release)
		synctest.Wait()
		check(t, "handler synced after its third call", true, r.HasSynced())
		check(t, "handler done", true, IsDone(r.HasSyncedChecker()))
		check(t, "calls after the release", 2, len(h.take()))
	})
}

func TestSharedInformerRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf, h := newPodInformer(s), &callLog{}
		addHandler(t, inf, h)
		first := start(t, inf.RunWithContext)
		synctest.Wait()
		second := start(t, inf.RunWithContext)
		check(t, "second run ended while the first runs", true, second.ended())
		check(t, "stopped", false, inf.IsStopped())
		h.told(t, "of both runs", "initial a:1")

		first.stop()
		check(t, "stopped after the run", true, inf.IsStopped())
		third := start(t, inf.RunWithContext)
		check(t, "third run ended", true, third.ended())
		s.create("b", "1")
		h.told(t, "after the run")
	})
}

func TestSharedInformerThatStoppedRefusesHandlersAndIndexers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := newPodInformer(s)
		r := addHandler(t, inf, &callLog{})
		run := start(t, inf.RunWithContext)
		synctest.Wait()
		run.stop()
		if _, err := inf.AddEventHandler(&callLog{}); err == nil || !strings.Contains(err.Error(), "stopped already") {
			t.Errorf("adding a handler: got error %v", err)
		}
		if err := inf.AddIndexers(Indexers{"x": MetaNamespaceIndexFunc}); err == nil {
			t.Error("adding an indexer: no error")
		}
		succeed(t, inf.RemoveEventHandler(r), ShutDownEventHandler(inf, r))
		check(t, "what it holds stays readable", []string{"a:1"}, contents(inf.GetStore().List()))
	})
}

func TestSharedInformerIsConfiguredBeforeItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := newPodInformer(s)
		succeed(t,
			inf.SetTransform(func(obj any) (any, error) {
				pod := obj.(*corev1.Pod)
				pod.Spec.NodeName = "transformed"
				return pod, nil
			}),
			inf.SetWatchErrorHandler(func(*Reflector, error) {}),
			inf.SetWatchErrorHandlerWithContext(DefaultWatchErrorHandler),
		)
		start(t, inf.RunWithContext)
		synctest.Wait()
		check(t, "store", []string{"a:transformed"}, contents(inf.GetStore().List()))
		for what, err := range map[string]error{
			"transform":                        inf.SetTransform(nil),
			"watch error handler":              inf.SetWatchErrorHandler(nil),
			"watch error handler with context": inf.SetWatchErrorHandlerWithContext(nil),
		} {
			if err == nil {
				t.Errorf("setting the %s of a running informer: no error", what)
			}
		}
	})
}

func TestSharedInformerLeavesOutWhatTheTransformRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("good", "1")
		s.create("bad", "1")
		s.create("worse", "1")
		inf, h := newPodInformer(s), &callLog{}
		addHandler(t, inf, h)
		transforms := 0
		succeed(t, inf.SetTransform(func(obj any) (any, error) {
			transforms++
			switch content(obj) {
			case "bad:1":
				return nil, errors.New("refused")
			case "worse:1":
				panic("a test's")
			}
			return obj, nil
		}))
		start(t, inf.RunWithContext)
		h.told(t, "first list", "initial good:1")
		check(t, "synced", true, inf.HasSynced())
		s.update("bad", "2")
		s.update("worse", "2")
		h.told(t, "when they change", "add bad:2", "add worse:2")
		check(t, "calls of the transform, one for each received object", 5, transforms)
	})
}

func TestSharedInformerTellsAWatchErrorHandlerEachFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := newPodInformer(s)
		var told []error
		var description string
		succeed(t, inf.SetWatchErrorHandler(func(r *Reflector, err error) {
			told = append(told, err)
			description = r.TypeDescription()
		}))
		refused := errors.New("connection refused by a test")
		s.Inject(apitestFault("list", refused, 0))
		watch := s.Inject(apitestFault("watch", refused, 0))
		start(t, inf.RunWithContext)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if len(told) == 0 || !errors.Is(told[0], refused) {
			t.Errorf("told %v, want the server's errors", told)
		}
		check(t, "type", "*v1.Pod", description)
		check(t, "synced", false, inf.HasSynced())
		s.RemoveFaults()
		settle()
		time.Sleep(time.Minute)
		check(t, "synced when the server works again", true, inf.HasSynced())
		if watch.Hits()+len(told) == 0 {
			t.Error("the server was not asked")
		}
	})
}

func TestSharedInformerStoreCanBeWrittenToWhileItDoesNotRun(t *testing.T) {
	s := newPodServer(t)
	inf := newPodInformer(s)
	pod := newPod("ns/a", "1")
	succeed(t, inf.GetIndexer().Add(pod))
	found, err := inf.GetIndexer().ByIndex(NamespaceIndex, "ns")
	succeed(t, err)
	check(t, "by index", []string{"ns/a@1"}, states(found))

	changed := newPod("ns/a", "1") // tests often leave the resource version as it is
	changed.Labels = map[string]string{"changed": "yes"}
	succeed(t, inf.GetStore().Update(changed))
	got, exists, err := inf.GetStore().Get(pod)
	succeed(t, err)
	if !exists || got != any(changed) {
		t.Errorf("got %v (%v), want the object put in last", got, exists)
	}
	succeed(t, inf.GetIndexer().Delete(DeletedFinalStateUnknown{Key: "ns/a"}))
	check(t, "after the delete", []string{}, inf.GetIndexer().ListKeys())
	succeed(t, inf.GetIndexer().Replace(newPods("ns/b@1", "ns/c@1"), "7"))
	check(t, "keys after Replace", 2, len(inf.GetIndexer().ListKeys()))
	check(t, "resource version after Replace", "7", inf.GetIndexer().LastStoreSyncResourceVersion())
}

func TestSharedInformerComparesWhatItsStoreWasFilledWithWithTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("listed", "1")
		inf, h := newPodInformer(s), &callLog{}
		addHandler(t, inf, h)
		succeed(t, inf.GetIndexer().Add(podOf("listed", "0")), inf.GetIndexer().Add(podOf("gone", "0")))
		start(t, inf.RunWithContext)
		h.told(t, "first list", "delete lost(ns/gone, gone:0)", "update listed:0 listed:1")
		check(t, "store", []string{"listed:1"}, contents(inf.GetStore().List()))
	})
}

func TestSharedInformerIndexersComeAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := newPodInformer(s)
		start(t, inf.RunWithContext)
		synctest.Wait()
		byContent := Indexers{"content": func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }}
		succeed(t, inf.AddIndexers(byContent))
		found, err := inf.GetIndexer().ByIndex("content", "1")
		succeed(t, err)
		check(t, "back-filled", []string{"a:1"}, contents(found))
		if err := inf.AddIndexers(byContent); err == nil {
			t.Error("a name that is taken: no error")
		}
		s.update("a", "2")
		synctest.Wait()
		for value, want := range map[string][]string{"1": {}, "2": {"a:2"}} {
			found, err := inf.GetIndexer().ByIndex("content", value)
			succeed(t, err)
			check(t, "index value "+value, want, contents(found))
		}
	})
}

func TestSharedInformerControllerKnowsWhatTheInformerKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := newPodInformer(s)
		c := inf.GetController()
		c.Run(nil)
		check(t, "synced", false, c.HasSynced())
		start(t, inf.RunWithContext)
		synctest.Wait()
		check(t, "synced", true, c.HasSynced())
		check(t, "done", true, IsDone(c.HasSyncedChecker()))
		check(t, "resource version", s.ResourceVersion(), c.LastSyncResourceVersion())
	})
}

func TestSharedInformerOfOneNamespaceWithoutIndexes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		inf := NewSharedInformer(s.ListerWatcher(podsResource, "other"), &corev1.Pod{}, 0)
		start(t, inf.RunWithContext)
		synctest.Wait()
		check(t, "synced", true, inf.HasSynced())
		check(t, "store", []string{}, inf.GetStore().ListKeys())
	})
}

func TestSharedInformerRunEndsWithItsStopChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		inf := newPodInformer(s)
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			inf.Run(stop)
		}()
		synctest.Wait()
		check(t, "synced", true, inf.HasSynced())
		close(stop)
		<-done
		check(t, "stopped", true, inf.IsStopped())
	})
}
