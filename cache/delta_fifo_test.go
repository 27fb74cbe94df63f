package cache

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
)

// knownPods is a consumer's store of pods "KEY@RV".
func knownPods(states ...string) Store {
	known := NewStore(DeletionHandlingMetaNamespaceKeyFunc)
	for _, pod := range newPods(states...) {
		if err := known.Add(pod); err != nil {
			panic(err)
		}
	}
	return known
}

func newReplacedFIFO(known KeyListerGetter) *DeltaFIFO {
	return NewDeltaFIFOWithOptions(DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true})
}

func TestDeltaFIFOHoldsAllThatHappenedToAKey(t *testing.T) {
	f := NewDeltaFIFO(MetaNamespaceKeyFunc, nil)
	succeed(t, f.Add(newPod("a", "1")), f.Add(newPod("b", "1")), f.Update(newPod("a", "2")), f.Delete(newPod("a", "3")), f.Add(newPod("a", "4")))
	check(t, "keys", []string{"a", "b"}, f.ListKeys())
	check(t, "list", []string{"a@4", "b@1"}, states(f.List()))
	check(t, "popped", []string{"Added a@1; Updated a@2; Deleted a@3; Added a@4", "Added b@1"}, popAll(t, f))
}

func TestDeltasHandedOutDoNotChange(t *testing.T) {
	f := NewDeltaFIFO(MetaNamespaceKeyFunc, nil)
	succeed(t, f.Add(newPod("a", "1")), f.Delete(DeletedFinalStateUnknown{Key: "a", Obj: newPod("a", "1")}))
	obj, exists, err := f.Get(newPod("a", ""))
	succeed(t, err)
	check(t, "exists", true, exists)
	byKey, _, err := f.GetByKey("a")
	succeed(t, err)
	obj.(Deltas)[0] = Delta{Type: Sync} // a copy is the caller's
	check(t, "queued", "Added a@1; Deleted lost(a, a@1)", state(byKey))

	popped, err := f.Pop(func(any, bool) error { return ErrRequeue{} })
	succeed(t, err)
	succeed(t, f.Delete(newPod("a", "2")), f.Add(newPod("a", "3")))
	check(t, "popped", "Added a@1; Deleted lost(a, a@1)", state(popped))
	check(t, "queued", []string{"Added a@1; Deleted a@2; Added a@3"}, popAll(t, f))

	succeed(t, f.Add(newPod("b", "1")), f.Update(newPod("b", "2")), f.Update(newPod("b", "3")))
	popped, err = f.Pop(func(any, bool) error { return ErrRequeue{} })
	succeed(t, err)
	succeed(t, f.Update(newPod("b", "4")))
	_ = append(popped.(Deltas), Delta{Type: Sync, Object: newPod("b", "9")}) // nor is the array behind it shared
	check(t, "queued", []string{"Added b@1; Updated b@2; Updated b@3; Updated b@4"}, popAll(t, f))

	_, exists, err = f.GetByKey("a")
	succeed(t, err)
	check(t, "popped exists", false, exists)
}

func TestTwoDeletesInARowCollapseIntoTheOneThatKnowsMore(t *testing.T) {
	real2, real3 := newPod("a", "2"), newPod("a", "3")
	lost1, lost2 := DeletedFinalStateUnknown{"a", newPod("a", "1")}, DeletedFinalStateUnknown{"a", newPod("a", "2")}
	for _, test := range []struct {
		name          string
		first, second any
		want          string
	}{
		{"object and tombstone", real2, lost1, "Added a@1; Deleted a@2"},
		{"tombstone and object", lost1, real2, "Added a@1; Deleted a@2"},
		{"two objects", real2, real3, "Added a@1; Deleted a@2"},
		{"two tombstones", lost1, lost2, "Added a@1; Deleted lost(a, a@2)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := NewDeltaFIFO(MetaNamespaceKeyFunc, nil)
			succeed(t, f.Add(newPod("a", "1")), f.Delete(test.first), f.Delete(test.second))
			check(t, "popped", []string{test.want}, popAll(t, f))
		})
	}
	t.Run("not in a row", func(t *testing.T) {
		f := NewDeltaFIFO(MetaNamespaceKeyFunc, nil)
		succeed(t, f.Add(newPod("a", "1")), f.Delete(real2), f.Add(real3), f.Delete(newPod("a", "4")))
		check(t, "popped", []string{"Added a@1; Deleted a@2; Added a@3; Deleted a@4"}, popAll(t, f))
	})
}

func TestDeltaFIFODeleteOfWhatIsNeitherQueuedNorKnownIsIgnored(t *testing.T) {
	f := newReplacedFIFO(knownPods("known@1"))
	succeed(t, f.Delete(newPod("unknown", "1")))
	check(t, "synced", true, f.HasSynced())
	check(t, "keys", []string{}, f.ListKeys())
	succeed(t, f.Add(newPod("queued", "1")), f.Delete(newPod("queued", "2")), f.Delete(newPod("known", "2")))
	check(t, "popped", []string{"Added queued@1; Deleted queued@2", "Deleted known@2"}, popAll(t, f))

	f = NewDeltaFIFO(MetaNamespaceKeyFunc, nil)
	succeed(t, f.Delete(newPod("a", "1")))
	check(t, "without known objects", []string{}, popAll(t, f))

	f = newReplacedFIFO(&FakeCustomStore{GetByKeyFunc: func(string) (any, bool, error) { return nil, false, errors.New("unreadable") }})
	succeed(t, f.Delete(newPod("a", "1")))
	check(t, "when it cannot be told", []string{"Deleted a@1"}, popAll(t, f))
}

func TestDeltaFIFOReplace(t *testing.T) {
	f := newReplacedFIFO(knownPods("gone@1", "stays@1", "queued@1"))
	succeed(t,
		f.Update(newPod("queued", "2")),
		f.Add(newPod("new", "1")),
		f.Add(newPod("deleted", "1")), f.Delete(newPod("deleted", "2")),
		f.Add(newPod("lost", "1")), f.Delete(DeletedFinalStateUnknown{Key: "lost", Obj: newPod("lost", "1")}),
		f.Replace(newPods("stays@2", "listed@1", "listed@2"), "9"))
	check(t, "popped", []string{
		"Updated queued@2; Deleted lost(queued, queued@2)", // the newest state known, and that is in the queue
		"Added new@1; Deleted lost(new, new@1)",
		"Added deleted@1; Deleted deleted@2", // an object beats a tombstone
		"Added lost@1; Deleted lost(lost, lost@1)",
		"Replaced stays@2",
		"Replaced listed@1; Replaced listed@2",
		"Deleted lost(gone, gone@1)",
	}, popAll(t, f))
}

func TestDeltaFIFOReplaceWithoutTheOptionIsSync(t *testing.T) {
	f := NewDeltaFIFO(MetaNamespaceKeyFunc, nil)
	succeed(t, f.Replace(newPods("a@1"), "1"))
	check(t, "popped", []string{"Sync a@1"}, popAll(t, f))
}

func TestDeltaFIFOReplaceSurvivesKnownObjectsThatCannotBeRead(t *testing.T) {
	f := newReplacedFIFO(&FakeCustomStore{
		ListKeysFunc: func() []string { return []string{"vanished", "broken"} },
		GetByKeyFunc: func(key string) (any, bool, error) {
			if key == "broken" {
				return "garbage", true, errors.New("unreadable")
			}
			return nil, false, nil
		},
	})
	succeed(t, f.Resync())
	check(t, "resync", []string{}, f.ListKeys())
	succeed(t, f.Replace(nil, "1"))
	check(t, "popped", []string{"Deleted lost(vanished, nil)", "Deleted lost(broken, nil)"}, popAll(t, f))
}

// An object that a relist does not have may be known to nobody but the queue: its addition was not processed yet.
func TestAnObjectThatIsOnlyInTheQueueIsDeletedByARelistWithoutIt(t *testing.T) {
	known := knownPods()
	for _, q := range []Queue{newReplacedFIFO(known), NewRealFIFO(MetaNamespaceKeyFunc, known, nil)} {
		t.Run(fmt.Sprintf("%T", q), func(t *testing.T) {
			succeed(t, q.Add(newPod("x", "1")), q.Replace(nil, "2"))
			var seen []string
			q.Close()
			for {
				_, err := q.Pop(func(obj any, _ bool) error {
					for _, d := range obj.(Deltas) {
						seen = append(seen, state(d))
						if d.Type == Deleted {
							succeed(t, known.Delete(d.Object))
						} else {
							succeed(t, known.Add(d.Object))
						}
					}
					return nil
				})
				if err != nil {
					break
				}
			}
			check(t, "seen", []string{"Added x@1", "Deleted lost(x, x@1)"}, seen)
			check(t, "stored", []string{}, known.ListKeys())
		})
	}
}

// As above, but the addition is out of the queue and not in the store yet.
func TestAnObjectInProcessIsDeletedByARelistWithoutIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := knownPods()
		for _, q := range []Queue{newReplacedFIFO(known), NewRealFIFO(MetaNamespaceKeyFunc, known, nil)} {
			succeed(t, q.Add(newPod("x", "1")))
			release := make(chan struct{})
			go q.Pop(func(any, bool) error {
				<-release
				return known.Add(newPod("x", "1"))
			})
			synctest.Wait()
			go func() { succeed(t, q.Replace(nil, "2")) }()
			synctest.Wait()
			close(release)
			synctest.Wait()
			check(t, fmt.Sprintf("%T", q), []string{"Deleted lost(x, x@1)"}, popAll(t, q))
			succeed(t, known.Delete(newPod("x", "1")))
		}
	})
}

func TestDeltaFIFOAcceptsAddsWhileProcessing(t *testing.T) {
	f := newReplacedFIFO(knownPods())
	succeed(t, f.Add(newPod("a", "1")))
	_, err := f.Pop(func(any, bool) error {
		check(t, "queue while processing", []string{}, f.ListKeys())
		return f.Update(newPod("a", "2"))
	})
	succeed(t, err)
	check(t, "popped", []string{"Updated a@2"}, popAll(t, f))
}

func TestDeltaFIFOResync(t *testing.T) {
	f := newReplacedFIFO(knownPods("idle@1", "queued@1"))
	succeed(t, f.Resync())
	check(t, "resync alone does not count as the first change", false, f.HasSynced())
	popped(t, f)
	popped(t, f)
	succeed(t, f.Update(newPod("queued", "2")), f.Resync(), f.Resync())
	check(t, "popped", []string{"Updated queued@2", "Sync idle@1"}, popAll(t, f))

	f = NewDeltaFIFO(MetaNamespaceKeyFunc, nil)
	succeed(t, f.Resync())
	check(t, "without known objects", []string{}, popAll(t, f))
}

func TestDeltaFIFOIsInInitialList(t *testing.T) {
	f := newReplacedFIFO(knownPods("gone@1"))
	succeed(t, f.Replace(newPods("a@1", "a@2", "b@1"), "1"), f.Add(newPod("c", "1")), f.Replace(newPods("a@3", "b@3", "c@3", "d@3"), "3"))
	for _, want := range []struct {
		what            string
		initial, synced bool
	}{
		{"Replaced a@1; Replaced a@2; Replaced a@3", true, false},
		{"Replaced b@1; Replaced b@3", true, false},
		{"Deleted lost(gone, gone@1)", true, true},
		{"Added c@1; Replaced c@3", false, true},
		{"Replaced d@3", false, true},
	} {
		what, initial := popped(t, f)
		check(t, "popped", want.what, what)
		check(t, "initial of "+what, want.initial, initial)
		check(t, "synced after "+what, want.synced, f.HasSynced())
		check(t, "done after "+what, want.synced, IsDone(f.HasSyncedChecker()))
	}
}

func TestDeltaFIFOHasSyncedAtOnceIfTheFirstCallIsNoReplace(t *testing.T) {
	for name, first := range map[string]func(f *DeltaFIFO) error{
		"add":                func(f *DeltaFIFO) error { return f.Add(newPod("a", "1")) },
		"update":             func(f *DeltaFIFO) error { return f.Update(newPod("a", "1")) },
		"delete":             func(f *DeltaFIFO) error { return f.Delete(newPod("a", "1")) },
		"add if not present": func(f *DeltaFIFO) error { return f.AddIfNotPresent(Deltas{{Added, newPod("a", "1")}}) },
		"empty list":         func(f *DeltaFIFO) error { return f.Replace(nil, "") },
	} {
		f := NewDeltaFIFO(MetaNamespaceKeyFunc, nil)
		check(t, "synced before "+name, false, f.HasSynced())
		succeed(t, first(f))
		check(t, "synced after "+name, true, f.HasSynced())
	}
}

func TestDeltaFIFOAddIfNotPresentTakesDeltasOnly(t *testing.T) {
	f := NewDeltaFIFO(MetaNamespaceKeyFunc, nil)
	if err := f.AddIfNotPresent(newPod("a", "1")); err == nil {
		t.Error("takes a pod")
	}
	succeed(t, f.Add(newPod("a", "2")))
	succeed(t, f.AddIfNotPresent(Deltas{{Added, newPod("a", "1")}}), f.AddIfNotPresent(Deltas{{Added, newPod("b", "1")}}))
	check(t, "popped", []string{"Added a@2", "Added b@1"}, popAll(t, f))
}

func TestDeltaFIFOErrRequeue(t *testing.T) {
	inner := errors.New("not now")
	f := NewDeltaFIFO(MetaNamespaceKeyFunc, nil)
	succeed(t, f.Add(newPod("a", "1")), f.Add(newPod("b", "1")))
	for range 2 {
		if _, err := f.Pop(func(any, bool) error { return ErrRequeue{inner} }); err != inner {
			t.Errorf("got error %v, want the inner one", err)
		}
	}
	if _, err := f.Pop(func(any, bool) error {
		return errors.Join(f.Update(newPod("a", "2")), ErrRequeue{inner})
	}); err != inner {
		t.Errorf("got error %v, want the inner one", err)
	}
	check(t, "popped", []string{"Added b@1", "Updated a@2"}, popAll(t, f))
}

func TestDeltaFIFOKeyOf(t *testing.T) {
	f := NewDeltaFIFOWithOptions(DeltaFIFOOptions{})
	for _, obj := range []any{
		newPod("ns/a", "1"),
		ExplicitKey("ns/a"),
		DeletedFinalStateUnknown{Key: "ns/a"},
		Deltas{{Added, newPod("ns/b", "1")}, {Added, newPod("ns/a", "1")}},
		Deltas{{Deleted, DeletedFinalStateUnknown{Key: "ns/a"}}},
	} {
		key, err := f.KeyOf(obj)
		succeed(t, err)
		check(t, fmt.Sprintf("key of %T", obj), "ns/a", key)
	}
	_, err := f.KeyOf(Deltas{})
	var keyError KeyError
	if !errors.As(err, &keyError) || !errors.Is(err, ErrZeroLengthDeltasObject) {
		t.Errorf("key of no deltas: %v", err)
	}
	_, err = f.KeyOf(7)
	wantKeyError(t, err, 7)
}

func TestDeltaFIFOKeyErrors(t *testing.T) {
	f := newReplacedFIFO(knownPods("known@1"))
	wantKeyError(t, f.Add(7), 7)
	wantKeyError(t, f.Update(7), 7)
	wantKeyError(t, f.Delete(7), 7)
	_, _, err := f.Get(7)
	wantKeyError(t, err, 7)
	if !errors.Is(f.AddIfNotPresent(Deltas{}), ErrZeroLengthDeltasObject) {
		t.Error("takes no deltas")
	}
	wantKeyError(t, f.Replace([]any{newPod("a", "1"), 7}, "1"), 7)
	check(t, "nothing is half-applied", []string{}, f.ListKeys())
	check(t, "synced", false, f.HasSynced())
}

// addLabel is a transform that fails for pods named bad.
func addLabel(obj any) (any, error) {
	pod := obj.(*corev1.Pod).DeepCopy()
	if pod.Name == "bad" {
		return nil, errors.New("bad pod")
	}
	pod.ResourceVersion += "t"
	return pod, nil
}

func TestDeltaFIFOTransformer(t *testing.T) {
	known := knownPods("known@1")
	f := NewDeltaFIFOWithOptions(DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true, Transformer: addLabel})
	if f.Transformer() == nil {
		t.Error("tells no transformer")
	}
	bad := newPod("bad", "1")
	for name, err := range map[string]error{
		"add": f.Add(bad), "update": f.Update(bad), "delete": f.Delete(bad), "replace": f.Replace([]any{newPod("a", "1"), bad}, ""),
	} {
		if err == nil {
			t.Errorf("%s of a bad pod is no error", name)
		}
	}
	check(t, "nothing is half-applied", []string{}, f.ListKeys())
	succeed(t, f.Add(newPod("a", "1")), f.Update(newPod("a", "2")), f.Delete(newPod("a", "3")), f.Delete(DeletedFinalStateUnknown{"a", newPod("a", "3")}),
		f.Replace(newPods("b@1"), "1"))
	check(t, "popped", []string{"Added a@1t; Updated a@2t; Deleted a@3t", "Replaced b@1t", "Deleted lost(known, known@1)"}, popAll(t, f))
	f = NewDeltaFIFOWithOptions(DeltaFIFOOptions{KnownObjects: known, Transformer: addLabel})
	succeed(t, f.Resync())
	check(t, "what is known was transformed once", []string{"Sync known@1"}, popAll(t, f))
}

func TestDeltaFIFOName(t *testing.T) {
	check(t, "default", "DeltaFIFO", NewDeltaFIFO(MetaNamespaceKeyFunc, nil).Name())
	check(t, "own", "pods", NewDeltaFIFOWithOptions(DeltaFIFOOptions{Name: "pods"}).HasSyncedChecker().Name())
	f := NewDeltaFIFO(MetaNamespaceKeyFunc, nil)
	check(t, "closed", false, f.IsClosed())
	f.Close()
	check(t, "closed", true, f.IsClosed())
}

func TestDeltas(t *testing.T) {
	deltas := Deltas{{Added, newPod("a", "1")}, {Updated, newPod("a", "2")}}
	check(t, "oldest", "Added a@1", state(*deltas.Oldest()))
	check(t, "newest", "Updated a@2", state(*deltas.Newest()))
	if (Deltas{}).Oldest() != nil || (Deltas{}).Newest() != nil {
		t.Error("no deltas have an oldest or newest")
	}
}

// deltaModel is what a DeltaFIFO should be, naively.
type deltaModel struct {
	order  []string
	deltas map[string][]string // key to deltas
	newest map[string]string   // key to the last state among them
	lost   map[string]bool     // the last delta is a tombstone
	known  map[string]string
}

func (m *deltaModel) add(key, what, newest string, lost bool) {
	if !slices.Contains(m.order, key) {
		m.order = append(m.order, key)
	}
	deltas := m.deltas[key]
	if n := len(deltas); n > 0 && what[0] == 'D' && deltas[n-1][0] == 'D' {
		if !m.lost[key] {
			return
		}
		deltas = deltas[:n-1]
	}
	m.deltas[key] = append(deltas, what)
	m.newest[key], m.lost[key] = newest, lost
}

func runDeltaFIFOScript(t *testing.T, s *script) {
	known := knownPods()
	f, next := newReplacedFIFO(known), versions()
	m := &deltaModel{deltas: map[string][]string{}, newest: map[string]string{}, lost: map[string]bool{}, known: map[string]string{}}
	for !s.ended() {
		switch s.pick(7) {
		case 0:
			pod := newPod(s.key(), next())
			succeed(t, f.Add(pod))
			m.add(pod.Name, "Added "+state(pod), state(pod), false)
		case 1:
			pod := newPod(s.key(), next())
			succeed(t, f.Update(pod))
			m.add(pod.Name, "Updated "+state(pod), state(pod), false)
		case 2:
			pod := newPod(s.key(), next())
			succeed(t, f.Delete(pod))
			if m.deltas[pod.Name] != nil || m.known[pod.Name] != "" {
				m.add(pod.Name, "Deleted "+state(pod), state(pod), false)
			}
		case 3:
			list := s.pods(next)
			succeed(t, f.Replace(slices.Clone(list), ""))
			listed := map[string]bool{}
			for _, obj := range list {
				listed[keyOfPod(obj)] = true
				m.add(keyOfPod(obj), "Replaced "+state(obj), state(obj), false)
			}
			for _, key := range slices.Clone(m.order) {
				if !listed[key] {
					m.add(key, fmt.Sprintf("Deleted lost(%s, %s)", key, m.newest[key]), m.newest[key], true)
				}
			}
			// In which order the rest is deleted depends on the store.
			queued := len(m.order)
			for _, key := range known.ListKeys() {
				if !listed[key] && m.deltas[key] == nil {
					m.add(key, fmt.Sprintf("Deleted lost(%s, %s)", key, m.known[key]), m.known[key], true)
				}
			}
			check(t, "keys", slices.Sorted(slices.Values(m.order[queued:])), slices.Sorted(slices.Values(f.ListKeys()[queued:])))
			m.order = f.ListKeys()
		case 4:
			succeed(t, f.Resync())
			for _, key := range known.ListKeys() {
				if m.deltas[key] == nil {
					m.add(key, "Sync "+m.known[key], m.known[key], false)
				}
			}
			m.order = append(m.order[:0:0], f.ListKeys()...)
		default:
			if len(m.order) == 0 {
				continue
			}
			requeue := s.pick(3) == 0
			key := m.order[0]
			obj, err := f.Pop(func(obj any, _ bool) error {
				if requeue {
					return ErrRequeue{}
				}
				for _, d := range obj.(Deltas) {
					if d.Type == Deleted {
						succeed(t, known.Delete(d.Object))
					} else {
						succeed(t, known.Add(d.Object))
					}
				}
				return nil
			})
			succeed(t, err)
			check(t, "popped", m.deltas[key], states(obj.(Deltas)))
			m.order = m.order[1:]
			if requeue {
				m.order = append(m.order, key)
				break
			}
			if last := m.deltas[key][len(m.deltas[key])-1]; last[0] == 'D' {
				delete(m.known, key)
			} else {
				m.known[key] = m.newest[key]
			}
			delete(m.deltas, key)
			delete(m.newest, key)
			delete(m.lost, key)
		}
		check(t, "keys", append([]string{}, m.order...), f.ListKeys())
		check(t, "known", slices.Sorted(maps.Values(m.known)), slices.Sorted(slices.Values(sortedOrNil(known.List()))))
	}
}

func sortedOrNil(objs []any) []string {
	if len(objs) == 0 {
		return nil
	}
	return sortedStates(objs)
}

func TestDeltaFIFOAgainstAModel(t *testing.T) { randomScripts(t, runDeltaFIFOScript) }

func FuzzDeltaFIFO(f *testing.F) { fuzzScripts(f, runDeltaFIFOScript) }
