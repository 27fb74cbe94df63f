package cache

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestUndeltaStorePushesTheWholeContentAfterEveryChange(t *testing.T) {
	var pushed [][]string
	s := NewUndeltaStore(func(objs []any) { pushed = append(pushed, sortedStatesOrEmpty(objs)) }, MetaNamespaceKeyFunc)
	succeed(t,
		s.Add(newPod("a", "1")),
		s.Update(newPod("b", "1")),
		s.Update(newPod("a", "2")),
		s.Delete(newPod("b", "2")),
		s.Delete(newPod("unknown", "2")),
		s.Replace(newPods("c@3", "d@3"), "3"),
		s.Replace(nil, "4"))
	check(t, "pushed", [][]string{{"a@1"}, {"a@1", "b@1"}, {"a@2", "b@1"}, {"a@2"}, {"a@2"}, {"c@3", "d@3"}, {}}, pushed)
}

func TestUndeltaStorePushesNothingWithoutAChange(t *testing.T) {
	s := NewUndeltaStore(func([]any) { t.Error("pushed") }, MetaNamespaceKeyFunc)
	wantKeyError(t, s.Add(7), 7)
	wantKeyError(t, s.Update(7), 7)
	wantKeyError(t, s.Delete(7), 7)
	wantKeyError(t, s.Replace([]any{7}, ""), 7)
	s.Bookmark("3")
	succeed(t, s.Resync())
	_, exists, err := s.GetByKey("a")
	succeed(t, err)
	check(t, "exists", false, exists)
}

func TestUndeltaStoreMakesOneCallPerChangeConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var s *UndeltaStore
		s = NewUndeltaStore(func([]any) {
			calls.Add(1)
			s.List() // no lock is held
		}, MetaNamespaceKeyFunc)
		for writer := range 4 {
			go func() {
				for i := range 50 {
					succeed(t, s.Add(newPod(fmt.Sprint(writer), fmt.Sprint(i))))
				}
			}()
		}
		synctest.Wait()
		check(t, "calls", 200, calls.Load())
	})
}
