package cache

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// byRV gives "any", and the resource version.
func byRV(obj any) ([]string, error) { return []string{"any", obj.(*corev1.Pod).ResourceVersion}, nil }

func TestQueriesByIndex(t *testing.T) {
	s := NewIndexer(MetaNamespaceKeyFunc, Indexers{"rv": byRV, NamespaceIndex: MetaNamespaceIndexFunc})
	for _, pod := range newPods("n/a@1", "n/b@2", "m/c@1") {
		succeed(t, s.Add(pod))
	}
	objs, err := s.Index("rv", newPod("x", "1"))
	succeed(t, err)
	check(t, "objects that share a value, each once", []string{"m/c@1", "n/a@1", "n/b@2"}, sortedStates(objs))
	objs, err = s.Index(NamespaceIndex, newPod("m/x", ""))
	succeed(t, err)
	check(t, "same namespace", []string{"m/c@1"}, states(objs))
	objs, err = s.ByIndex("rv", "1")
	succeed(t, err)
	check(t, "by value", []string{"m/c@1", "n/a@1"}, sortedStates(objs))
	keys, err := s.IndexKeys("rv", "2")
	succeed(t, err)
	check(t, "keys", []string{"n/b"}, keys)
	check(t, "values", []string{"1", "2", "any"}, slices.Sorted(slices.Values(s.ListIndexFuncValues("rv"))))
	objs, err = s.ByIndex("rv", "none")
	succeed(t, err)
	check(t, "no match", []any{}, objs)
}

func TestAnUnknownIndexIsAnError(t *testing.T) {
	s := NewIndexer(MetaNamespaceKeyFunc, nil)
	_, err1 := s.Index("nope", newPod("a", "1"))
	_, err2 := s.ByIndex("nope", "v")
	_, err3 := s.IndexKeys("nope", "v")
	for _, err := range []error{err1, err2, err3} {
		if err == nil || !strings.Contains(err.Error(), "nope") {
			t.Errorf("got %v, want an error with the name", err)
		}
	}
	check(t, "values", []string{}, s.ListIndexFuncValues("nope"))
	check(t, "indexers", Indexers{}, s.GetIndexers())
}

func TestAddIndexersOnAFilledStoreBackFills(t *testing.T) {
	s := NewIndexer(MetaNamespaceKeyFunc, nil)
	for i := range 1000 {
		succeed(t, s.Add(newPod(fmt.Sprintf("n/%d", i), fmt.Sprint(i%10))))
	}
	succeed(t, s.AddIndexers(Indexers{"rv": byRV, "ns": MetaNamespaceIndexFunc}))
	keys, err := s.IndexKeys("rv", "3")
	succeed(t, err)
	check(t, "found", 100, len(keys))
	check(t, "indexers", 2, len(s.GetIndexers()))
}

func TestAClashOfIndexNamesChangesNothing(t *testing.T) {
	s := NewIndexer(MetaNamespaceKeyFunc, Indexers{"rv": byRV})
	succeed(t, s.Add(newPod("a", "1")))
	other := func(any) ([]string, error) { return []string{"other"}, nil }
	if err := s.AddIndexers(Indexers{"new": other, "rv": other}); err == nil || !strings.Contains(err.Error(), "rv") {
		t.Errorf("got %v, want an error with the name", err)
	}
	check(t, "indexers", 1, len(s.GetIndexers()))
	if _, err := s.ByIndex("new", "other"); err == nil {
		t.Error("one of the two was added")
	}
	objs, err := s.ByIndex("rv", "1")
	succeed(t, err)
	check(t, "the old index", []string{"a@1"}, states(objs))
}

// One odd object must not take the process down: it is stored, not found in the index that fails on it, and found again
// when it is good.
func TestAnIndexFunctionThatFailsLeavesTheObjectOutOfItsIndex(t *testing.T) {
	for name, fail := range map[string]func() ([]string, error){
		"error": func() ([]string, error) { return []string{"v"}, errors.New("odd object") },
		"panic": func() ([]string, error) { panic("odd object") },
	} {
		t.Run(name, func(t *testing.T) {
			ok := func(any) ([]string, error) { return []string{"v"}, nil }
			bad := func(obj any) ([]string, error) {
				if obj.(*corev1.Pod).ResourceVersion == "13" {
					return fail()
				}
				return []string{"v"}, nil
			}
			s := NewIndexer(MetaNamespaceKeyFunc, Indexers{"ok": ok, "bad": bad})
			found := func(index string) []string {
				objs, err := s.ByIndex(index, "v")
				succeed(t, err)
				return sortedStates(objs)
			}
			succeed(t, s.Add(newPod("a", "13")), s.Add(newPod("b", "1")))
			_, exists, err := s.GetByKey("a")
			succeed(t, err)
			check(t, "stored", true, exists)
			check(t, "ok", []string{"a@13", "b@1"}, found("ok"))
			check(t, "bad", []string{"b@1"}, found("bad"))
			succeed(t, s.Update(newPod("a", "14")))
			check(t, "bad, repaired", []string{"a@14", "b@1"}, found("bad"))
			succeed(t, s.Update(newPod("a", "13")))
			check(t, "bad again", []string{"b@1"}, found("bad"))
			succeed(t, s.Replace(newPods("a@13", "c@2"), "3"))
			check(t, "bad, replaced", []string{"c@2"}, found("bad"))
			succeed(t, s.AddIndexers(Indexers{"late": bad}))
			check(t, "late", []string{"c@2"}, found("late"))
			if objs, err := s.Index("bad", newPod("x", "13")); err == nil {
				t.Errorf("Index of an object the function fails on: %v", objs)
			}
			succeed(t, s.Delete(newPod("a", "13")), s.Delete(newPod("c", "3")))
			for _, index := range []string{"ok", "bad", "late"} {
				check(t, "no residue in "+index, []string{}, s.ListIndexFuncValues(index))
			}
		})
	}
}

func TestMetaNamespaceIndexFunc(t *testing.T) {
	values, err := MetaNamespaceIndexFunc(newPod("ns/a", ""))
	succeed(t, err)
	check(t, "values", []string{"ns"}, values)
	values, err = MetaNamespaceIndexFunc(newPod("a", ""))
	succeed(t, err)
	check(t, "values of a cluster-scoped object", []string{""}, values)
	if _, err := MetaNamespaceIndexFunc(7); err == nil {
		t.Error("a number has a namespace")
	}
}

func TestIndexFuncToKeyFuncAdapter(t *testing.T) {
	inner := errors.New("inner")
	key := IndexFuncToKeyFuncAdapter(func(obj any) ([]string, error) {
		values := obj.([]string)
		if slices.Contains(values, "fail") {
			return nil, inner
		}
		return values, nil
	})
	got, err := key([]string{"a"})
	succeed(t, err)
	check(t, "key", "a", got)
	got, err = key(ExplicitKey("b"))
	succeed(t, err)
	check(t, "explicit key", "b", got)
	for _, bad := range [][]string{{}, {"a", "b"}} {
		if _, err := key(bad); err == nil {
			t.Errorf("a key of %v", bad)
		}
	}
	if _, err := key([]string{"fail"}); !errors.Is(err, inner) {
		t.Errorf("got %v, want the function's error", err)
	}
}

func TestTypedIndexer(t *testing.T) {
	typed := TypedIndexers[*corev1.Pod]{"rv": func(pod *corev1.Pod) ([]string, error) { return []string{pod.ResourceVersion}, nil }}
	s := newTypedIndexer[*corev1.Pod](NewIndexer(MetaNamespaceKeyFunc, TypedIndexersToIndexers(typed)))
	succeed(t, s.Add(newPod("a", "1")), s.Add(newPod("b", "2")))
	pods, err := s.ByTypedIndex("rv", "2")
	succeed(t, err)
	check(t, "by index", []string{"b@2"}, states(pods))
	pods, err = s.TypedIndex("rv", newPod("x", "1"))
	succeed(t, err)
	check(t, "index", []string{"a@1"}, states(pods))
	if _, err := s.ByTypedIndex("nope", ""); err == nil {
		t.Error("unknown index")
	}
	succeed(t, s.AddTypedIndexers(TypedIndexers[*corev1.Pod]{"late": typed["rv"]}))
	pods, err = s.ByTypedIndex("late", "2")
	succeed(t, err)
	check(t, "by late index", []string{"b@2"}, states(pods))
	succeed(t, s.AddIndexers(Indexers{"any": func(any) ([]string, error) { return []string{"v"}, nil }}), s.Add(ExplicitKey("odd")))
	if _, err := s.ByTypedIndex("any", "v"); err == nil || !strings.Contains(err.Error(), "ExplicitKey") {
		t.Errorf("an object of another type: %v", err)
	}
	if _, err := TypedIndexerFuncToIndexerFunc(typed["rv"])(nil); err == nil {
		t.Error("an index value of nil")
	}
}
