package cache

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	clocktesting "k8s.io/utils/clock/testing"
)

// entryKey is the key function of a FakeExpirationPolicy.
func entryKey(obj any) (string, error) { return MetaNamespaceKeyFunc(obj.(*TimestampedEntry).Obj) }

func TestTTLPolicy(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, test := range []struct {
		ttl, age time.Duration
		want     bool
	}{
		{time.Second, 0, false},
		{time.Second, time.Second, false},
		{time.Second, time.Second + 1, true},
		{0, time.Hour, false},
		{-1, time.Hour, false},
	} {
		policy := &TTLPolicy{TTL: test.ttl, Clock: clocktesting.NewFakeClock(now)}
		got := policy.IsExpired(&TimestampedEntry{Timestamp: now.Add(-test.age)})
		check(t, fmt.Sprintf("age %v of %v expired", test.age, test.ttl), test.want, got)
	}
}

func TestExpiredEntriesAreGoneFromReadsAndRemovedThen(t *testing.T) {
	reads := map[string]func(s Store) bool{
		"Get":      func(s Store) bool { _, exists, err := s.Get(newPod("a", "")); succeed(t, err); return exists },
		"GetByKey": func(s Store) bool { _, exists, err := s.GetByKey("a"); succeed(t, err); return exists },
		"List":     func(s Store) bool { return slices.Contains(states(s.List()), "a@1") },
	}
	for name, read := range reads {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewTTLStore(MetaNamespaceKeyFunc, time.Minute)
				succeed(t, s.Add(newPod("a", "1")))
				time.Sleep(time.Minute)
				succeed(t, s.Add(newPod("b", "1")))
				check(t, "there in time", true, read(s))
				time.Sleep(1)
				check(t, "in the store until somebody looks", []string{"a", "b"}, slices.Sorted(slices.Values(s.ListKeys())))
				check(t, "there when expired", false, read(s))
				check(t, "removed", []string{"b"}, s.ListKeys())
				check(t, "list", []string{"b@1"}, states(s.List()))
			})
		})
	}
}

func TestAPutMakesAnEntryFresh(t *testing.T) {
	puts := map[string]func(s Store) error{
		"Add":     func(s Store) error { return s.Add(newPod("a", "2")) },
		"Update":  func(s Store) error { return s.Update(newPod("a", "2")) },
		"Replace": func(s Store) error { return s.Replace(newPods("a@2"), "2") },
	}
	for name, put := range puts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := NewTTLStore(MetaNamespaceKeyFunc, time.Minute)
				succeed(t, s.Add(newPod("a", "1")))
				time.Sleep(50 * time.Second)
				succeed(t, put(s))
				time.Sleep(50 * time.Second)
				check(t, "list", []string{"a@2"}, states(s.List()))
				check(t, "resource version", "2", s.LastStoreSyncResourceVersion())
				time.Sleep(time.Minute)
				check(t, "list", []any{}, s.List())
			})
		})
	}
}

func TestTTLOfZeroOrLessNeverExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, ttl := range []time.Duration{0, -time.Second} {
			s := NewTTLStore(MetaNamespaceKeyFunc, ttl)
			succeed(t, s.Add(newPod("a", "1")))
			time.Sleep(1000 * time.Hour)
			check(t, "list", []string{"a@1"}, states(s.List()))
		}
	})
}

func TestExpirationCacheTakesAClock(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	deleted := make(chan string, 10)
	s := NewFakeExpirationStore(MetaNamespaceKeyFunc, deleted, &TTLPolicy{TTL: time.Minute, Clock: clock}, clock)
	succeed(t, s.Replace(newPods("a@1", "b@1"), "1"), s.Delete(newPod("b", "1")))
	check(t, "deleted", "b", <-deleted)
	clock.Step(2 * time.Minute)
	check(t, "list", []any{}, s.List())
	check(t, "found expired", "a", <-deleted)
}

func TestFakeExpirationPolicy(t *testing.T) {
	policy := &FakeExpirationPolicy{NeverExpire: sets.New("a"), RetrieveKeyFunc: entryKey}
	s := NewExpirationStore(MetaNamespaceKeyFunc, policy)
	succeed(t, s.Add(newPod("a", "1")), s.Add(newPod("b", "1")))
	check(t, "list", []string{"a@1"}, states(s.List()))
	policy.RetrieveKeyFunc = func(any) (string, error) { return MetaNamespaceKeyFunc(7) }
	check(t, "without a key", true, policy.IsExpired(&TimestampedEntry{}))
}

// judging is a policy that stops in the middle of judging an entry, and finds it expired.
type judging struct {
	started, release chan struct{}
	only             any
}

func (p *judging) IsExpired(entry *TimestampedEntry) bool {
	if entry.Obj != p.only {
		return false
	}
	close(p.started)
	<-p.release
	return true
}

func TestAReaderDoesNotRemoveAnObjectThatWasJustRefreshed(t *testing.T) {
	for name, read := range map[string]func(s Store){
		"Get":  func(s Store) { s.Get(newPod("a", "")) },
		"List": func(s Store) { s.List() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				old := newPod("a", "1")
				policy := &judging{started: make(chan struct{}), release: make(chan struct{}), only: old}
				s := NewExpirationStore(MetaNamespaceKeyFunc, policy)
				succeed(t, s.Add(old))
				go read(s)
				<-policy.started
				succeed(t, s.Add(newPod("a", "2"))) // nor does the reader hold it up
				close(policy.release)
				synctest.Wait()
				check(t, "list", []string{"a@2"}, states(s.List()))
			})
		})
	}
}

// Reading goes on while a write is under way: an unexpired entry is read without a lock.
func TestReadingAnUnexpiredEntryTakesNoLock(t *testing.T) {
	s := newExpirationCache(MetaNamespaceKeyFunc, &TTLPolicy{}, clocktesting.NewFakeClock(time.Unix(1000, 0)))
	succeed(t, s.Add(newPod("a", "1")))
	s.content.writeMu.Lock()
	defer s.content.writeMu.Unlock()
	obj, exists, err := s.Get(newPod("a", ""))
	succeed(t, err)
	check(t, "get", "a@1 true", fmt.Sprint(state(obj), " ", exists))
	check(t, "list", []string{"a@1"}, states(s.List()))
}

func TestExpirationCacheKeyErrors(t *testing.T) {
	s := NewTTLStore(MetaNamespaceKeyFunc, time.Minute)
	wantKeyError(t, s.Add(7), 7)
	wantKeyError(t, s.Update(7), 7)
	wantKeyError(t, s.Delete(7), 7)
	_, _, err := s.Get(7)
	wantKeyError(t, err, 7)
	wantKeyError(t, s.Replace([]any{newPod("b", "1"), 7}, "9"), 7)
	check(t, "nothing is half-applied", []any{}, s.List())
	succeed(t, s.Resync(), s.Delete(newPod("a", "7")))
	check(t, "resource version", "7", s.LastStoreSyncResourceVersion())
	s.Bookmark("8")
	check(t, "resource version", "8", s.LastStoreSyncResourceVersion())
}

func TestExpirationCacheConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewTTLStore(MetaNamespaceKeyFunc, time.Millisecond)
		for range 3 {
			go func() {
				for i := range 100 {
					succeed(t, s.Add(newPod(fmt.Sprint(i%5), "1")))
					s.List()
					s.GetByKey("1")
					time.Sleep(300 * time.Microsecond)
				}
			}()
		}
		time.Sleep(time.Second)
		check(t, "list", []any{}, s.List())
		check(t, "keys", []string{}, s.ListKeys())
	})
}
