package cache

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
)

func priority(obj any) int {
	n, err := strconv.Atoi(obj.(*corev1.Pod).ResourceVersion)
	if err != nil {
		panic(err)
	}
	return n
}

// newPodHeap gives out pods of lesser resource versions first.
func newPodHeap() *Heap {
	return NewHeap(MetaNamespaceKeyFunc, func(a, b any) bool { return priority(a) < priority(b) })
}

func popHeap(t testing.TB, h *Heap) string {
	t.Helper()
	obj, err := h.Pop()
	succeed(t, err)
	return state(obj)
}

func drain(t testing.TB, h *Heap) []string {
	t.Helper()
	all := []string{}
	for len(h.ListKeys()) > 0 {
		all = append(all, popHeap(t, h))
	}
	return all
}

func TestHeapGivesOutTheLeast(t *testing.T) {
	h := newPodHeap()
	succeed(t, h.Add(newPod("b", "2")), h.Add(newPod("c", "3")), h.Add(newPod("a", "1")))
	check(t, "popped", []string{"a@1", "b@2", "c@3"}, drain(t, h))
}

func TestHeapAddOfAnExistingKeyUpdatesAndSortsAnew(t *testing.T) {
	h := newPodHeap()
	succeed(t, h.Add(newPod("a", "1")), h.Add(newPod("b", "2")), h.Add(newPod("c", "3")))
	succeed(t, h.Add(newPod("a", "9")), h.Update(newPod("c", "0")), h.Update(newPod("new", "5")))
	check(t, "popped", []string{"c@0", "b@2", "new@5", "a@9"}, drain(t, h))
}

func TestHeapAddIfNotPresentChangesNothing(t *testing.T) {
	h := newPodHeap()
	succeed(t, h.Add(newPod("a", "5")), h.AddIfNotPresent(newPod("a", "1")), h.AddIfNotPresent(newPod("b", "2")))
	check(t, "popped", []string{"b@2", "a@5"}, drain(t, h))
}

func TestHeapBulkAddIsInBeforeAConsumerWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newPodHeap()
		got := make(chan string, 2)
		for range 2 {
			go func() { got <- popHeap(t, h) }()
		}
		synctest.Wait()
		succeed(t, h.BulkAdd(newPods("c@3", "b@2", "a@1", "a@4")))
		check(t, "popped", []string{"b@2", "c@3"}, slices.Sorted(slices.Values([]string{<-got, <-got})))
		check(t, "left", []string{"a@4"}, drain(t, h))
	})
}

func TestHeapDelete(t *testing.T) {
	h := newPodHeap()
	succeed(t, h.BulkAdd(newPods("a@1", "b@2", "c@3")), h.Delete(newPod("b", "")))
	if err := h.Delete(newPod("b", "")); err == nil {
		t.Error("deletes what is absent")
	}
	check(t, "popped", []string{"a@1", "c@3"}, drain(t, h))
}

func TestHeapReads(t *testing.T) {
	h := newPodHeap()
	succeed(t, h.BulkAdd(newPods("b@2", "a@1")))
	obj, exists, err := h.Get(newPod("b", ""))
	succeed(t, err)
	check(t, "get", "b@2 true", fmt.Sprint(state(obj), " ", exists))
	_, exists, err = h.GetByKey("z")
	succeed(t, err)
	check(t, "absent key exists", false, exists)
	check(t, "list", []string{"a@1", "b@2"}, sortedStates(h.List()))
	check(t, "keys", []string{"a", "b"}, slices.Sorted(slices.Values(h.ListKeys())))
}

func TestHeapClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newPodHeap()
		failed := make(chan error, 1)
		go func() {
			_, err := h.Pop()
			failed <- err
		}()
		synctest.Wait()
		check(t, "closed", false, h.IsClosed())
		check(t, "Pop has returned", 0, len(failed))
		h.Close()
		check(t, "closed", true, h.IsClosed())
		if err := <-failed; err == nil {
			t.Error("Pop of a closed heap is no error")
		}
		for name, err := range map[string]error{
			"Add": h.Add(newPod("a", "1")), "Update": h.Update(newPod("a", "1")), "AddIfNotPresent": h.AddIfNotPresent(newPod("a", "1")),
			"BulkAdd": h.BulkAdd(newPods("a@1")),
		} {
			if err == nil {
				t.Errorf("%s to a closed heap is no error", name)
			}
		}
		check(t, "keys", []string{}, h.ListKeys())
	})
}

func TestHeapClosedIsDrainedFirst(t *testing.T) {
	h := newPodHeap()
	succeed(t, h.Add(newPod("a", "1")))
	h.Close()
	check(t, "popped", "a@1", popHeap(t, h))
	if _, err := h.Pop(); err == nil {
		t.Error("Pop of a closed and empty heap is no error")
	}
}

func TestHeapKeyErrors(t *testing.T) {
	h := newPodHeap()
	wantKeyError(t, h.Add(7), 7)
	wantKeyError(t, h.Update(7), 7)
	wantKeyError(t, h.AddIfNotPresent(7), 7)
	wantKeyError(t, h.Delete(7), 7)
	_, _, err := h.Get(7)
	wantKeyError(t, err, 7)
	wantKeyError(t, h.BulkAdd([]any{newPod("a", "1"), 7}), 7)
	check(t, "nothing is half-applied", []string{}, h.ListKeys())
}

func runHeapScript(t *testing.T, s *script) {
	h, model, next := newPodHeap(), map[string]*corev1.Pod{}, versions()
	// Priorities differ always, or the order would not be determined.
	prioritized := func() string {
		n, _ := strconv.Atoi(next())
		return strconv.Itoa(s.pick(8)*1000 + n)
	}
	for !s.ended() {
		switch s.pick(6) {
		case 0:
			pod := newPod(s.key(), prioritized())
			succeed(t, h.Add(pod))
			model[pod.Name] = pod
		case 1:
			pod := newPod(s.key(), prioritized())
			succeed(t, h.AddIfNotPresent(pod))
			if model[pod.Name] == nil {
				model[pod.Name] = pod
			}
		case 2:
			key := s.key()
			if err := h.Delete(newPod(key, "")); (err == nil) != (model[key] != nil) {
				t.Errorf("deleting %s: %v, model has %v", key, err, model[key])
			}
			delete(model, key)
		case 3:
			list := s.pods(prioritized)
			succeed(t, h.BulkAdd(list))
			for _, obj := range list {
				model[keyOfPod(obj)] = obj.(*corev1.Pod)
			}
		default:
			if len(model) == 0 {
				continue
			}
			least := slices.MinFunc(slices.Collect(maps.Values(model)), func(a, b *corev1.Pod) int { return cmp.Compare(priority(a), priority(b)) })
			check(t, "popped", state(least), popHeap(t, h))
			delete(model, least.Name)
		}
		check(t, "list", slices.Sorted(slices.Values(states(slices.Collect(maps.Values(model))))), slices.Sorted(slices.Values(states(h.List()))))
	}
}

func TestHeapAgainstAModel(t *testing.T) { randomScripts(t, runHeapScript) }

func FuzzHeap(f *testing.F) { fuzzScripts(f, runHeapScript) }
