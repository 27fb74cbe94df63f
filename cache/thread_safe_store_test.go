package cache

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
)

// byNode gives the node of a pod.
func byNode(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }

func newPodOn(key, rv, node string) *corev1.Pod {
	pod := newPod(key, rv)
	pod.Spec.NodeName = node
	return pod
}

func TestThreadSafeStoreTakesKeysFromItsCallers(t *testing.T) {
	s := NewThreadSafeStore(nil, nil)
	s.Add("x", newPod("a", "1"))
	s.Update("x", newPod("b", "2"))
	s.Add("y", 7)
	s.Add("nil", nil)
	obj, exists := s.Get("x")
	check(t, "get", "b@2 true", fmt.Sprint(state(obj), " ", exists))
	obj, exists = s.Get("nil")
	check(t, "nil is an object", "nil true", fmt.Sprint(state(obj), " ", exists))
	check(t, "keys", []string{"nil", "x", "y"}, slices.Sorted(slices.Values(s.ListKeys())))
	s.Delete("y")
	s.Delete("y")
	s.DeleteWithObject("nil", nil)
	check(t, "list", []string{"b@2"}, states(s.List()))
	s.Replace(map[string]any{"z": newPod("c", "1")}, "5")
	check(t, "keys", []string{"z"}, s.ListKeys())
	succeed(t, s.Resync())
}

func TestThreadSafeStoreResourceVersion(t *testing.T) {
	s := NewThreadSafeStore(nil, nil)
	s.Add("a", newPod("a", "5"))
	s.Delete("a")
	check(t, "a delete without an object tells no version", "5", s.LastStoreSyncResourceVersion())
	s.DeleteWithObject("a", newPod("a", "6"))
	check(t, "a delete with one does", "6", s.LastStoreSyncResourceVersion())
	s.DeleteWithObject("a", DeletedFinalStateUnknown{Key: "a", Obj: newPod("a", "1")})
	check(t, "a tombstone does not", "6", s.LastStoreSyncResourceVersion())
	s.Replace(nil, "8")
	check(t, "a list does", "8", s.LastStoreSyncResourceVersion())
	s.Bookmark("9")
	check(t, "a bookmark does", "9", s.LastStoreSyncResourceVersion())
}

func TestAnUpdateMovesTheObjectInTheIndex(t *testing.T) {
	s := NewThreadSafeStore(Indexers{"node": byNode}, Indices{})
	s.Add("a", newPodOn("a", "1", "n1"))
	s.Add("b", newPodOn("b", "1", "n1"))
	s.Update("a", newPodOn("a", "2", "n2"))
	for node, want := range map[string][]string{"n1": {"b"}, "n2": {"a"}, "n3": {}} {
		keys, err := s.IndexKeys("node", node)
		succeed(t, err)
		check(t, node, want, keys)
	}
	s.Delete("b")
	check(t, "a value nobody has any more is gone", []string{"n2"}, s.ListIndexFuncValues("node"))
	s.Replace(map[string]any{"c": newPodOn("c", "1", "n3")}, "9")
	check(t, "values", []string{"n3"}, s.ListIndexFuncValues("node"))
	s.Delete("c")
	check(t, "values", []string{}, s.ListIndexFuncValues("node"))
}

func TestThreadSafeStoreTransaction(t *testing.T) {
	s := NewThreadSafeStore(Indexers{"node": byNode}, nil).(ThreadSafeStoreWithTransaction)
	s.Add("gone", newPodOn("gone", "1", "n1"))
	s.Transaction(
		ThreadSafeStoreTransaction{Transaction{newPodOn("a", "2", "n1"), TransactionTypeAdd}, "a"},
		ThreadSafeStoreTransaction{Transaction{newPodOn("a", "3", "n2"), TransactionTypeUpdate}, "a"},
		ThreadSafeStoreTransaction{Transaction{newPod("gone", "4"), TransactionTypeDelete}, "gone"},
	)
	check(t, "list", []string{"a@3"}, states(s.List()))
	check(t, "values", []string{"n2"}, s.ListIndexFuncValues("node"))
	check(t, "resource version", "4", s.LastStoreSyncResourceVersion())
}

// A reader that is slow, or stopped in the middle of what it has got, holds up no writer; and a writer no reader.
func TestReadersDoNotBlockOnTheWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inIndexFunc, release := make(chan struct{}), make(chan struct{})
		slow := func(obj any) ([]string, error) {
			if obj.(*corev1.Pod).Name == "slow" {
				close(inIndexFunc)
				<-release
			}
			return []string{"all"}, nil
		}
		s := NewIndexer(MetaNamespaceKeyFunc, Indexers{"i": slow})
		succeed(t, s.Add(newPod("a", "1")))
		go func() { succeed(t, s.Add(newPod("slow", "2"))) }()
		<-inIndexFunc // the writer is in the middle of a write
		check(t, "list", []string{"a@1"}, states(s.List()))
		_, exists, err := s.GetByKey("a")
		succeed(t, err)
		check(t, "get", true, exists)
		objs, err := s.ByIndex("i", "all")
		succeed(t, err)
		check(t, "by index", []string{"a@1"}, states(objs))
		check(t, "values", []string{"all"}, s.ListIndexFuncValues("i"))
		check(t, "resource version", "1", s.LastStoreSyncResourceVersion())
		close(release)
		synctest.Wait()
		check(t, "list", []string{"a@1", "slow@2"}, sortedStates(s.List()))
	})
}

func TestThreadSafeStoreConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewThreadSafeStore(Indexers{"node": byNode}, nil)
		for writer := range 3 {
			go func() {
				for i := range 200 {
					key := fmt.Sprint(i % 10)
					s.Update(key, newPodOn(key, fmt.Sprint(i), fmt.Sprint("n", (writer+i)%3)))
					if i%7 == 0 {
						s.Delete(key)
					}
				}
			}()
		}
		go func() {
			for i := range 20 {
				succeed(t, s.AddIndexers(Indexers{fmt.Sprint("late", i): byNode}))
			}
		}()
		for range 100 {
			for _, node := range s.ListIndexFuncValues("node") {
				objs, err := s.ByIndex("node", node)
				succeed(t, err)
				for _, obj := range objs {
					if on := obj.(*corev1.Pod).Spec.NodeName; on != node {
						t.Fatalf("found a pod on %s under %s", on, node)
					}
				}
			}
		}
		synctest.Wait()
		for i := range 20 {
			late, err := s.ByIndex(fmt.Sprint("late", i), "n1")
			succeed(t, err)
			usual, err := s.ByIndex("node", "n1")
			succeed(t, err)
			check(t, "an index added under load", sortedStates(usual), sortedStates(late))
		}
	})
}
