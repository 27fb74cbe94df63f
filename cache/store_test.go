package cache

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestKeys(t *testing.T) {
	for _, test := range []struct {
		obj  any
		want string
	}{
		{newPod("ns/a", ""), "ns/a"},
		{newPod("a", ""), "a"},
		{&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, "a"},
		{&metav1.ObjectMeta{Namespace: "ns", Name: "a"}, "ns/a"},
		{ExplicitKey("what/ever/it/is"), "what/ever/it/is"},
	} {
		key, err := MetaNamespaceKeyFunc(test.obj)
		succeed(t, err)
		check(t, fmt.Sprintf("key of %T", test.obj), test.want, key)
		key, err = DeletionHandlingMetaNamespaceKeyFunc(test.obj)
		succeed(t, err)
		check(t, fmt.Sprintf("key of %T, handling deletion", test.obj), test.want, key)
	}
	lost := DeletedFinalStateUnknown{Key: "ns/gone"}
	key, err := DeletionHandlingMetaNamespaceKeyFunc(lost)
	succeed(t, err)
	check(t, "a tombstone carries its key", "ns/gone", key)
	name, err := DeletionHandlingObjectToName(lost)
	succeed(t, err)
	check(t, "name of a tombstone", NewObjectName("ns", "gone"), name)
	name, err = DeletionHandlingObjectToName(newPod("ns/a", ""))
	succeed(t, err)
	check(t, "name of an object", NewObjectName("ns", "a"), name)
	for _, obj := range []any{nil, 7, "ns/a", lost} {
		if key, err := MetaNamespaceKeyFunc(obj); err == nil {
			t.Errorf("key of %T is %q", obj, key)
		}
	}
}

func TestSplitMetaNamespaceKey(t *testing.T) {
	for key, want := range map[string]ObjectName{
		"ns/a": {"ns", "a"}, "a": {"", "a"}, "": {}, "ns/": {"ns", ""}, "/a": {"", "a"},
	} {
		namespace, name, err := SplitMetaNamespaceKey(key)
		succeed(t, err)
		check(t, "parts of "+key, want, ObjectName{namespace, name})
	}
	if _, _, err := SplitMetaNamespaceKey("a/b/c"); err == nil {
		t.Error("splits a key of three parts")
	}
}

func TestObjectName(t *testing.T) {
	name := MetaObjectToName(newPod("ns/a", ""))
	namespace, only := name.Parts()
	check(t, "parts", []string{"ns", "a"}, []string{namespace, only})
	check(t, "text", "ns/a", name.String())
	check(t, "text without namespace", "a", NewObjectName("", "a").String())
	parsed, err := ParseObjectName(name.String())
	succeed(t, err)
	check(t, "parsed", name, parsed)
	check(t, "of apimachinery", name, NamespacedNameAsObjectName(types.NamespacedName{Namespace: "ns", Name: "a"}))
	check(t, "to apimachinery", types.NamespacedName{Namespace: "ns", Name: "a"}, name.AsNamespacedName())
	if _, err := ObjectToName(7); err == nil {
		t.Error("names a number")
	}
}

func TestKeyErrorUnwraps(t *testing.T) {
	inner := errors.New("no key")
	store := NewStore(func(any) (string, error) { return "", inner })
	err := store.Add(7)
	wantKeyError(t, err, 7)
	if !errors.Is(err, inner) {
		t.Errorf("%v does not wrap the key function's error", err)
	}
}

func TestStoreHoldsTheCurrentObjectPerKey(t *testing.T) {
	s := NewStore(MetaNamespaceKeyFunc)
	check(t, "empty list", []any{}, s.List())
	check(t, "empty keys", []string{}, s.ListKeys())
	succeed(t, s.Add(newPod("ns/a", "1")), s.Add(newPod("b", "1")), s.Add(newPod("ns/a", "2")), s.Update(newPod("b", "2")), s.Update(newPod("c", "1")))
	check(t, "list", []string{"b@2", "c@1", "ns/a@2"}, sortedStates(s.List()))
	check(t, "keys", []string{"b", "c", "ns/a"}, slices.Sorted(slices.Values(s.ListKeys())))
	succeed(t, s.Delete(newPod("b", "")), s.Delete(newPod("b", "")), s.Delete(ExplicitKey("c")))
	obj, exists, err := s.Get(newPod("ns/a", ""))
	succeed(t, err)
	check(t, "get", "ns/a@2 true", fmt.Sprint(state(obj), " ", exists))
	obj, exists, err = s.GetByKey("b")
	succeed(t, err)
	check(t, "deleted", "nil false", fmt.Sprint(state(obj), " ", exists))
	succeed(t, s.Resync())
	check(t, "list", []string{"ns/a@2"}, states(s.List()))
}

func TestListsAreTheCallers(t *testing.T) {
	s := NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
	succeed(t, s.Add(newPod("ns/a", "1")))
	list, keys := s.List(), s.ListKeys()
	byIndex, err := s.ByIndex(NamespaceIndex, "ns")
	succeed(t, err)
	list[0], keys[0], byIndex[0] = nil, "", nil
	delete(s.GetIndexers(), NamespaceIndex)
	check(t, "list", []string{"ns/a@1"}, states(s.List()))
	byIndex, err = s.ByIndex(NamespaceIndex, "ns")
	succeed(t, err)
	check(t, "by index", []string{"ns/a@1"}, states(byIndex))
}

func TestReplaceSwapsTheContentAsAWhole(t *testing.T) {
	s := NewStore(MetaNamespaceKeyFunc)
	succeed(t, s.Replace(newPods("a@1", "b@1"), "1"))
	succeed(t, s.Replace(newPods("b@2", "c@2", "c@3"), "7"))
	check(t, "list", []string{"b@2", "c@3"}, sortedStates(s.List()))
	check(t, "resource version", "7", s.LastStoreSyncResourceVersion())
	succeed(t, s.Replace(nil, "8"))
	check(t, "list", []any{}, s.List())
}

// A list is one state of the store, also while it is replaced: never old and new together.
func TestEveryQueryIsAnsweredFromOneState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		byRV := func(obj any) ([]string, error) { return []string{"all", obj.(*corev1.Pod).ResourceVersion}, nil }
		s := NewIndexer(MetaNamespaceKeyFunc, Indexers{"i": byRV})
		old, next := []string{"a@1", "b@1"}, []string{"b@2", "c@2", "d@2"}
		succeed(t, s.Replace(newPods(old...), "1"))
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 300 {
				succeed(t, s.Replace(newPods(next...), "2"), s.Replace(newPods(old...), "1"))
			}
		}()
		queries := map[string]func() []any{
			"List":    s.List,
			"ByIndex": func() []any { objs, _ := s.ByIndex("i", "all"); return objs },
			"Index":   func() []any { objs, _ := s.Index("i", newPod("x", "3")); return objs },
		}
		for name, query := range queries {
			go func() {
				for !isClosed(done) {
					if got := sortedStates(query()); !slices.Equal(got, old) && !slices.Equal(got, next) {
						t.Errorf("%s saw %v, a state that never was", name, got)
						return
					}
				}
			}()
		}
		<-done
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestLastStoreSyncResourceVersionIsTheOneSeenLast(t *testing.T) {
	s := NewStore(MetaNamespaceKeyFunc)
	for _, step := range []struct {
		name string
		do   func() error
		want string
	}{
		{"nothing", func() error { return nil }, ""},
		{"add", func() error { return s.Add(newPod("a", "5")) }, "5"},
		{"update", func() error { return s.Update(newPod("a", "6")) }, "6"},
		{"no version", func() error { return s.Update(newPod("b", "")) }, "6"},
		{"delete", func() error { return s.Delete(newPod("a", "7")) }, "7"},
		{"delete of what is absent", func() error { return s.Delete(newPod("a", "8")) }, "8"},
		{"bookmark", func() error { s.Bookmark("9"); return nil }, "9"},
		{"replace", func() error { return s.Replace(newPods("a@3"), "20") }, "20"},
		{"failure", func() error { wantKeyError(t, s.Add(7), 7); return nil }, "20"},
		{"transaction", func() error {
			s.(TransactionStore).Transaction(Transaction{newPod("a", "21"), TransactionTypeAdd}, Transaction{newPod("b", "22"), TransactionTypeUpdate})
			return nil
		}, "22"},
	} {
		succeed(t, step.do())
		check(t, "after "+step.name, step.want, s.LastStoreSyncResourceVersion())
	}
}

func TestStoreKeyErrors(t *testing.T) {
	s := NewStore(MetaNamespaceKeyFunc)
	succeed(t, s.Add(newPod("a", "1")))
	wantKeyError(t, s.Add(7), 7)
	wantKeyError(t, s.Update(7), 7)
	wantKeyError(t, s.Delete(7), 7)
	_, _, err := s.Get(7)
	wantKeyError(t, err, 7)
	wantKeyError(t, s.Replace([]any{newPod("b", "1"), 7}, "9"), 7)
	check(t, "nothing is half-applied", []string{"a@1"}, states(s.List()))
}

func TestTransaction(t *testing.T) {
	s := NewStore(MetaNamespaceKeyFunc)
	succeed(t, s.Add(newPod("gone", "1")), s.Add(newPod("old", "1")))
	txns := s.(TransactionStore)
	if err := txns.Transaction(); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
	if err := txns.Transaction(
		Transaction{newPod("new", "2"), TransactionTypeAdd},
		Transaction{newPod("old", "3"), TransactionTypeUpdate},
		Transaction{newPod("gone", "4"), TransactionTypeDelete},
		Transaction{newPod("brief", "5"), TransactionTypeAdd},
		Transaction{newPod("brief", "6"), TransactionTypeDelete},
	); err != nil {
		t.Errorf("all can be done: %v", err)
	}
	check(t, "list", []string{"new@2", "old@3"}, sortedStates(s.List()))
}

func TestTransactionDoesWhatCanBeDone(t *testing.T) {
	s := NewStore(MetaNamespaceKeyFunc, WithTransformer(addLabel))
	err := s.(TransactionStore).Transaction(
		Transaction{newPod("a", "1"), TransactionTypeAdd},
		Transaction{7, TransactionTypeAdd},
		Transaction{newPod("bad", "1"), TransactionTypeUpdate},
		Transaction{newPod("b", "1"), TransactionTypeUpdate},
		Transaction{newPod("c", "1"), "Guess"},
	)
	if err == nil {
		t.Fatal("no error")
	}
	check(t, "done", []int{0, 3}, err.SuccessfulIndices)
	check(t, "total", 5, err.TotalTransactions)
	check(t, "errors", 3, len(err.Errors))
	wantKeyError(t, err.Errors[0], 7)
	wantKeyError(t, err, 7) // found through the whole
	check(t, "list", []string{"a@1t", "b@1t"}, sortedStates(s.List()))
}

func TestATransactionIsSeenAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(MetaNamespaceKeyFunc)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 300 {
				s.(TransactionStore).Transaction(Transaction{newPod("a", "1"), TransactionTypeAdd}, Transaction{newPod("b", "1"), TransactionTypeAdd})
				s.(TransactionStore).Transaction(Transaction{newPod("a", "1"), TransactionTypeDelete}, Transaction{newPod("b", "1"), TransactionTypeDelete})
			}
		}()
		for !isClosed(done) {
			if n := len(s.List()); n != 0 && n != 2 {
				t.Fatalf("saw %d of 2", n)
			}
		}
	})
}

func TestStoreTransformer(t *testing.T) {
	s := NewStore(MetaNamespaceKeyFunc, WithTransformer(addLabel))
	succeed(t, s.Add(newPod("a", "1")), s.Update(newPod("b", "1")))
	check(t, "list", []string{"a@1t", "b@1t"}, sortedStates(s.List()))
	bad := newPod("bad", "1")
	for name, err := range map[string]error{"add": s.Add(bad), "update": s.Update(bad), "replace": s.Replace([]any{newPod("c", "1"), bad}, "")} {
		if err == nil {
			t.Errorf("%s of a bad pod is no error", name)
		}
	}
	check(t, "nothing is half-applied", []string{"a@1t", "b@1t"}, sortedStates(s.List()))
	succeed(t, s.Delete(bad), s.Replace(newPods("c@1"), ""))
	check(t, "list", []string{"c@1t"}, states(s.List()))
}

func TestStoreMetrics(t *testing.T) {
	name, err := NewInformerName(t.Name())
	succeed(t, err)
	metrics := &recordedMetrics{}
	s := NewStore(MetaNamespaceKeyFunc, WithStoreMetrics(name.WithResource(podsResource), metrics))
	succeed(t, s.Add(newPod("a", "5")), s.Add(newPod("b", "not a number")), s.Replace(newPods("a@5"), "7"))
	s.Bookmark("9")
	name.Release()
	s.Bookmark("10")
	check(t, "published", []float64{5, 7, 9}, metrics.version)
}

// runStoreScript compares an Indexer with maps.
func runStoreScript(t *testing.T, s *script) {
	byParity := func(obj any) ([]string, error) {
		switch rv := priority(obj); {
		case rv%7 == 0:
			return nil, errors.New("sevens fail")
		case rv%5 == 0:
			return nil, nil
		case rv%3 == 0:
			return []string{"even", "odd", "odd"}, nil
		case rv%2 == 0:
			return []string{"even"}, nil
		}
		return []string{"odd"}, nil
	}
	store, model, next := NewIndexer(MetaNamespaceKeyFunc, nil), map[string]*corev1.Pod{}, versions()
	indexed := false
	for !s.ended() {
		switch s.pick(6) {
		case 0, 1:
			pod := newPod(s.key(), next())
			succeed(t, store.Add(pod))
			model[pod.Name] = pod
		case 2:
			key := s.key()
			succeed(t, store.Delete(newPod(key, "")))
			delete(model, key)
		case 3:
			list := s.pods(next)
			clear(model)
			for _, obj := range list {
				model[keyOfPod(obj)] = obj.(*corev1.Pod)
			}
			succeed(t, store.Replace(list, ""))
		case 4:
			var txns []Transaction
			for _, obj := range s.pods(next) {
				if s.pick(2) == 0 {
					txns = append(txns, Transaction{obj, TransactionTypeDelete})
					delete(model, keyOfPod(obj))
				} else {
					txns = append(txns, Transaction{obj, TransactionTypeUpdate})
					model[keyOfPod(obj)] = obj.(*corev1.Pod)
				}
			}
			if err := store.(TransactionStore).Transaction(txns...); err != nil {
				t.Error(err)
			}
		case 5:
			if err := store.AddIndexers(Indexers{"parity": byParity}); (err != nil) != indexed {
				t.Errorf("adding the index: %v; it was there: %v", err, indexed)
			}
			indexed = true
		}
		check(t, "list", sortedStates(slices.Collect(maps.Values(model))), sortedStates(store.List()))
		check(t, "keys", slices.Sorted(maps.Keys(model)), slices.AppendSeq([]string(nil), slices.Values(slices.Sorted(slices.Values(store.ListKeys())))))
		if !indexed {
			continue
		}
		values := map[string][]string{}
		for _, pod := range model {
			found, err := byParity(pod)
			if err == nil {
				slices.Sort(found)
				for _, value := range slices.Compact(found) {
					values[value] = append(values[value], state(pod))
				}
			}
		}
		check(t, "values", slices.Sorted(maps.Keys(values)), slices.AppendSeq([]string(nil), slices.Values(slices.Sorted(slices.Values(store.ListIndexFuncValues("parity"))))))
		for _, value := range []string{"even", "odd", "neither"} {
			objs, err := store.ByIndex("parity", value)
			succeed(t, err)
			slices.Sort(values[value])
			check(t, value, append([]string{}, values[value]...), sortedStatesOrEmpty(objs))
			keys, err := store.IndexKeys("parity", value)
			succeed(t, err)
			check(t, "keys of "+value, len(values[value]), len(keys))
		}
	}
}

func sortedStatesOrEmpty(objs []any) []string {
	return append([]string{}, sortedStates(objs)...)
}

func TestStoreAgainstAModel(t *testing.T) { randomScripts(t, runStoreScript) }

func FuzzStore(f *testing.F) { fuzzScripts(f, runStoreScript) }
