package cache

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/internal/ownwrites"
)

// newOverlay returns a store, indexed by node, and a mutation cache over it.
func newOverlay(options MutationCacheOptions) (Indexer, MutationCache) {
	backing := NewIndexer(MetaNamespaceKeyFunc, Indexers{"node": byNode})
	options.Indexer = backing
	return backing, NewIntegerResourceVersionMutationCacheWithOptions(klog.Background(), backing, options)
}

// found reads a key: its state, or "absent".
func found(t testing.TB, m MutationCache, key string) string {
	t.Helper()
	obj, exists, err := m.GetByKey(key)
	succeed(t, err)
	if !exists {
		return "absent"
	}
	return state(obj)
}

func onNode(t testing.TB, m MutationCache, node string) []string {
	t.Helper()
	objs, err := m.ByIndex("node", node)
	succeed(t, err)
	return sortedStatesOrEmpty(objs)
}

// heldBy is the number of writes that m holds, without the deletions that it remembers.
func heldBy(m MutationCache) (writes int) {
	for _, write := range m.(*mutationCache).writes.All() {
		if write.Kind != ownwrites.Deletion {
			writes++
		}
	}
	return writes
}

func newPodWithUID(key, rv, uid string) *corev1.Pod {
	pod := newPod(key, rv)
	pod.UID = types.UID(uid)
	return pod
}

func TestMutationCacheGivesTheNewerOfTheTwo(t *testing.T) {
	backing, m := newOverlay(MutationCacheOptions{})
	succeed(t, backing.Add(newPod("a", "5")), backing.Add(newPod("b", "5")))
	m.Mutation(newPod("a", "7"))
	check(t, "a", "a@7", found(t, m, "a"))
	check(t, "b", "b@5", found(t, m, "b"))
	succeed(t, backing.Update(newPod("a", "6")))
	check(t, "a, the store having moved on, not far enough", "a@7", found(t, m, "a"))
	succeed(t, backing.Update(newPod("a", "8")))
	check(t, "a, the store being newer", "a@8", found(t, m, "a"))
	check(t, "unknown", "absent", found(t, m, "unknown"))
}

func TestMutationCacheComparesNumbers(t *testing.T) {
	backing, m := newOverlay(MutationCacheOptions{})
	succeed(t, backing.Add(newPod("a", "9")))
	m.Mutation(newPod("a", "10"))
	check(t, "a", "a@10", found(t, m, "a"))
}

func TestMutationCacheDropsWhatTheStoreHasCaughtUpWith(t *testing.T) {
	backing, m := newOverlay(MutationCacheOptions{})
	succeed(t, backing.Add(newPod("a", "5")))
	m.Mutation(newPod("a", "7"))
	same := newPod("a", "7")
	succeed(t, backing.Update(same))
	obj, _, err := m.GetByKey("a")
	succeed(t, err)
	check(t, "the store's object is given", true, obj == any(same))
	check(t, "writes held", 0, heldBy(m))
}

func TestMutationCacheIgnoresOlderWrites(t *testing.T) {
	backing, m := newOverlay(MutationCacheOptions{})
	succeed(t, backing.Add(newPod("a", "5")))
	m.Mutation(newPod("a", "4"))
	check(t, "older than the store", 0, heldBy(m))
	m.Mutation(newPod("a", "8"))
	m.Mutation(newPod("a", "7"))
	check(t, "older than another write", "a@8", found(t, m, "a"))
}

func TestMutationCacheShowsAddsOnlyIfTold(t *testing.T) {
	for _, adds := range []bool{false, true} {
		_, m := newOverlay(MutationCacheOptions{IncludeAdds: adds})
		m.Mutation(newPodOn("a", "5", "n1"))
		if adds {
			check(t, "a", "a@5", found(t, m, "a"))
			check(t, "n1", []string{"a@5"}, onNode(t, m, "n1"))
		} else {
			check(t, "a", "absent", found(t, m, "a"))
			check(t, "n1", []string{}, onNode(t, m, "n1"))
		}
	}
}

func TestMutationCacheByIndexIsAsIfTheWritesHadBeenSeen(t *testing.T) {
	backing, m := newOverlay(MutationCacheOptions{IncludeAdds: true})
	succeed(t, backing.Add(newPodOn("stays", "1", "n1")), backing.Add(newPodOn("moves", "2", "n1")), backing.Add(newPodOn("behind", "3", "n1")))
	check(t, "n1", []string{"behind@3", "moves@2", "stays@1"}, onNode(t, m, "n1"))
	m.Mutation(newPodOn("moves", "5", "n2"))
	m.Mutation(newPodOn("added", "6", "n1"))
	m.Mutation(newPodOn("behind", "7", "n1"))
	check(t, "n1", []string{"added@6", "behind@7", "stays@1"}, onNode(t, m, "n1"))
	check(t, "n2", []string{"moves@5"}, onNode(t, m, "n2"))
	succeed(t, backing.Update(newPodOn("moves", "8", "n3")))
	check(t, "n2", []string{}, onNode(t, m, "n2"))
	check(t, "n3", []string{"moves@8"}, onNode(t, m, "n3"))
	check(t, "n3 again", []string{"moves@8"}, onNode(t, m, "n3"))
}

func TestMutationCacheByIndexErrors(t *testing.T) {
	backing, m := newOverlay(MutationCacheOptions{IncludeAdds: true})
	if _, err := m.ByIndex("nope", "v"); err == nil {
		t.Error("an unknown index is found")
	}
	m.Mutation(newPod("a", "5"))
	if _, err := m.ByIndex("nope", "v"); err == nil {
		t.Error("an unknown index is found")
	}
	if _, err := NewIntegerResourceVersionMutationCache(klog.Background(), backing, nil, time.Minute, true).ByIndex("node", "n1"); err == nil {
		t.Error("an index is found without an indexer")
	}
	unreadable := errors.New("unreadable")
	broken := NewIntegerResourceVersionMutationCache(klog.Background(), &FakeCustomStore{
		GetByKeyFunc: func(string) (any, bool, error) { return nil, false, unreadable },
	}, backing, 0, true)
	broken.Mutation(newPodOn("a", "5", "n1"))
	if _, _, err := broken.GetByKey("a"); !errors.Is(err, unreadable) {
		t.Errorf("got %v, want the store's error", err)
	}
	if _, err := broken.ByIndex("node", "n1"); !errors.Is(err, unreadable) {
		t.Errorf("got %v, want the store's error", err)
	}
}

func TestMutationCacheIndexFunctionThatFailsOnAWrite(t *testing.T) {
	backing := NewIndexer(MetaNamespaceKeyFunc, Indexers{"odd": func(obj any) ([]string, error) {
		if obj.(*corev1.Pod).Name == "panics" {
			panic("odd")
		}
		return nil, errors.New("odd")
	}})
	m := NewIntegerResourceVersionMutationCache(klog.Background(), backing, backing, time.Minute, true)
	m.Mutation(newPod("a", "5"))
	m.Mutation(newPod("panics", "6"))
	objs, err := m.ByIndex("odd", "v")
	succeed(t, err)
	check(t, "found", []any{}, objs)
}

func TestMutationCacheForgetsAfterTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, test := range []struct{ ttl, lives time.Duration }{{time.Minute, time.Minute}, {0, 5 * time.Minute}} {
			backing, m := newOverlay(MutationCacheOptions{TTL: test.ttl, IncludeAdds: true})
			succeed(t, backing.Add(newPod("a", "5")))
			m.Mutation(newPod("a", "7"))
			m.Mutation(newPodOn("added", "8", "n1"))
			time.Sleep(test.lives - 1)
			check(t, "a in time", "a@7", found(t, m, "a"))
			check(t, "added in time", "added@8", found(t, m, "added"))
			time.Sleep(1)
			check(t, "a", "a@5", found(t, m, "a"))
			check(t, "added", "absent", found(t, m, "added"))
			check(t, "n1", []string{}, onNode(t, m, "n1"))
			check(t, "writes held", 0, heldBy(m))
		}
	})
}

// What is over the size bound is no silent NotFound: a caller that takes that for an answer creates a duplicate.
func TestMutationCacheOverItsSizeIsAnErrorUntilTheStoreCatchesUp(t *testing.T) {
	backing, m := newOverlay(MutationCacheOptions{MaxCacheSize: 2, IncludeAdds: true})
	for i, key := range []string{"a", "b", "c"} {
		m.Mutation(newPodOn(key, fmt.Sprint(5+i), "n1"))
	}
	if obj, exists, err := m.GetByKey("a"); !errors.Is(err, ErrMutationEvicted) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("got %v, %v, %v, want an error that names the object", obj, exists, err)
	}
	if objs, err := m.ByIndex("node", "n1"); !errors.Is(err, ErrMutationEvicted) {
		t.Errorf("got %v, %v, want an error", objs, err)
	}
	check(t, "b", "b@6", found(t, m, "b"))
	check(t, "c", "c@7", found(t, m, "c"))
	succeed(t, backing.Add(newPodOn("a", "5", "n1")))
	check(t, "a, the store having caught up", "a@5", found(t, m, "a"))
	check(t, "n1", []string{"a@5", "b@6", "c@7"}, onNode(t, m, "n1"))
	m.Mutation(newPodOn("a", "9", "n1"))
	check(t, "a, written again", "a@9", found(t, m, "a"))
}

func TestMutationCacheMakesRoomByWhatIsSettledFirst(t *testing.T) {
	backing, m := newOverlay(MutationCacheOptions{MaxCacheSize: 2, IncludeAdds: true})
	m.Mutation(newPod("a", "5"))
	m.Mutation(newPod("b", "6"))
	succeed(t, backing.Add(newPod("b", "6")))
	m.Mutation(newPod("c", "7"))
	check(t, "a", "a@5", found(t, m, "a"))
	check(t, "b", "b@6", found(t, m, "b"))
	check(t, "c", "c@7", found(t, m, "c"))
}

func TestMutationCacheEvictsWithoutAddsAsWell(t *testing.T) {
	backing, m := newOverlay(MutationCacheOptions{MaxCacheSize: 1})
	succeed(t, backing.Add(newPod("a", "1")), backing.Add(newPod("b", "2")))
	m.Mutation(newPod("a", "5"))
	m.Mutation(newPod("b", "6"))
	if _, _, err := m.GetByKey("a"); !errors.Is(err, ErrMutationEvicted) {
		t.Errorf("got %v: what is stored is known to be stale", err)
	}
	m.Mutation(newPod("added", "7"))
	m.Mutation(newPod("b", "8"))
	check(t, "an add that would not be shown is no error either", "absent", found(t, m, "added"))
}

func TestMutationCacheDefaultSize(t *testing.T) {
	_, m := newOverlay(MutationCacheOptions{IncludeAdds: true})
	for i := range 101 {
		m.Mutation(newPod(fmt.Sprint("p", i), fmt.Sprint(1+i)))
	}
	if _, _, err := m.GetByKey("p0"); !errors.Is(err, ErrMutationEvicted) {
		t.Errorf("the first of 101: %v", err)
	}
	check(t, "the second", "p1@2", found(t, m, "p1"))
}

// A controller must not go on with an object that was deleted: neither when its own write is older than the deletion,
// nor when it is told late. A successor of the same name is another object.
func TestMutationCacheShowsNoGhostsOfDeletedObjects(t *testing.T) {
	for name, onDelete := range map[string]bool{"told by OnDelete": true, "seen in the store": false} {
		t.Run(name, func(t *testing.T) {
			backing, m := newOverlay(MutationCacheOptions{IncludeAdds: true})
			succeed(t, backing.Add(newPodWithUID("a", "4", "one")))
			m.Mutation(newPodWithUID("a", "5", "one"))
			check(t, "a", "a@5", found(t, m, "a"))

			last := newPodWithUID("a", "6", "one")
			succeed(t, backing.Delete(last)) // the store comes first, then the handlers
			if onDelete {
				m.OnDelete(last)
			}
			check(t, "in the delete handler", "absent", found(t, m, "a"))
			check(t, "by index", []string{}, onNode(t, m, ""))

			m.Mutation(newPodWithUID("a", "5", "one"))
			check(t, "after a late write", "absent", found(t, m, "a"))

			m.Mutation(newPodWithUID("a", "8", "two"))
			check(t, "its successor", "a@8", found(t, m, "a"))
		})
	}
}

// The store still has the predecessor when the successor is written; when it has seen that go, the successor stays.
func TestMutationCacheKeepsASuccessorWhenThePredecessorGoes(t *testing.T) {
	backing, m := newOverlay(MutationCacheOptions{IncludeAdds: true})
	succeed(t, backing.Add(newPodWithUID("a", "4", "one")))
	m.Mutation(newPodWithUID("a", "8", "two"))
	check(t, "a", "a@8", found(t, m, "a"))
	last := newPodWithUID("a", "7", "one")
	succeed(t, backing.Delete(last))
	m.OnDelete(last)
	check(t, "a", "a@8", found(t, m, "a"))
}

func TestOnDeleteEndsAllWritesToTheVeryObject(t *testing.T) {
	_, m := newOverlay(MutationCacheOptions{IncludeAdds: true})
	m.Mutation(newPodWithUID("a", "9", "one"))
	m.OnDelete(newPodWithUID("a", "5", "one")) // the final state was not seen
	check(t, "a", "absent", found(t, m, "a"))
	m.Mutation(newPodWithUID("a", "10", "one"))
	check(t, "a, told late", "absent", found(t, m, "a"))
}

// The cache may lie over another store than that whose handlers tell it of a deletion.
func TestOnDeleteHidesWhatTheStoreStillHas(t *testing.T) {
	backing, m := newOverlay(MutationCacheOptions{})
	succeed(t, backing.Add(newPodWithUID("a", "4", "one")), backing.Add(newPodWithUID("b", "3", "other")))
	m.OnDelete(newPodWithUID("a", "5", "one"))
	check(t, "a", "absent", found(t, m, "a"))
	check(t, "by index", []string{"b@3"}, onNode(t, m, ""))
	succeed(t, backing.Update(newPodWithUID("a", "8", "two")))
	check(t, "its successor", "a@8", found(t, m, "a"))
	check(t, "by index", []string{"a@8", "b@3"}, onNode(t, m, ""))
}

func TestOnDeleteIsForgottenAfterTheTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, m := newOverlay(MutationCacheOptions{TTL: time.Minute, MaxCacheSize: 2})
		for i := range 3 {
			m.OnDelete(newPod(fmt.Sprint(i), "5"))
		}
		writes := m.(*mutationCache).writes
		check(t, "deletions held", 2, writes.Len())
		time.Sleep(time.Minute)
		check(t, "a", "absent", found(t, m, "a"))
		check(t, "deletions held", 0, writes.Len())
	})
}

func TestOnAddOrUpdateSettlesAWrite(t *testing.T) {
	_, m := newOverlay(MutationCacheOptions{IncludeAdds: true})
	m.Mutation(newPod("a", "5"))
	m.OnAddOrUpdate(newPod("a", "4"))
	check(t, "an older state was seen", "a@5", found(t, m, "a"))
	m.OnAddOrUpdate(newPod("a", "5"))
	check(t, "the state was seen", "absent", found(t, m, "a"))
}

func TestMutationCacheDoesNotHoldWhatItCannotCompare(t *testing.T) {
	var logged []string
	logger := funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{})
	backing := knownPods("a@not-a-number")
	m := NewIntegerResourceVersionMutationCache(logger, backing, nil, time.Minute, true)
	m.Mutation(newPod("b", "not-a-number"))
	m.Mutation("text")
	m.OnAddOrUpdate(newPod("b", ""))
	m.OnDelete(newPod("b", ""))
	check(t, "lines logged", 4, len(logged))
	check(t, "b", "absent", found(t, m, "b"))
	m.Mutation(newPod("a", "5"))
	check(t, "what is stored is taken for newer", "a@not-a-number", found(t, m, "a"))
}

func TestMutationCacheCompareResourceVersion(t *testing.T) {
	_, m := newOverlay(MutationCacheOptions{})
	c := m.(ResourceVersionComparator)
	for _, test := range []struct {
		left, right string
		want        int
	}{{"9", "10", -1}, {"10", "9", 1}, {"9", "9", 0}, {"9", "x", 0}} {
		check(t, test.left+" and "+test.right, test.want, c.CompareResourceVersion(newPod("a", test.left), newPod("a", test.right)))
	}
	check(t, "no metadata", 0, c.CompareResourceVersion(nil, newPod("a", "1")))
}

// Read your writes, however the store follows: what is read is never older than what was written or read before.
func TestMutationCacheNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backing, m := newOverlay(MutationCacheOptions{IncludeAdds: true, MaxCacheSize: 2})
		feed, done := make(chan *corev1.Pod, 1000), make(chan struct{})
		go func() {
			defer close(done)
			for pod := range feed {
				succeed(t, backing.Update(pod))
				m.OnAddOrUpdate(pod)
				time.Sleep(time.Microsecond)
			}
		}()
		for i := 1; i <= 300; i++ {
			pod := newPodOn("a", strconv.Itoa(i), "n1")
			feed <- pod
			m.Mutation(pod)
			obj, exists, err := m.GetByKey("a")
			succeed(t, err)
			if !exists || priority(obj) < i {
				t.Fatalf("wrote %d, read %v", i, state(obj))
			}
			objs, err := m.ByIndex("node", "n1")
			succeed(t, err)
			if len(objs) != 1 || priority(objs[0]) < i {
				t.Fatalf("wrote %d, found %v", i, states(objs))
			}
		}
		close(feed)
		<-done
	})
}

// runMutationScript compares a mutation cache without bounds with what it is to be: of each key the newest state.
func runMutationScript(t *testing.T, s *script) {
	backing, m := newOverlay(MutationCacheOptions{IncludeAdds: true})
	next := versions()
	server := map[string]*corev1.Pod{} // the newest states, all of them written by the caller
	var behind []func()                // what the store is still to see
	for !s.ended() {
		switch s.pick(4) {
		case 0, 1:
			pod := newPodOn(s.key(), next(), fmt.Sprint("n", s.pick(3)))
			if old := server[pod.Name]; old != nil {
				pod.UID = old.UID
			} else {
				pod.UID = types.UID(pod.ResourceVersion)
			}
			server[pod.Name] = pod
			m.Mutation(pod)
			behind = append(behind, func() {
				succeed(t, backing.Update(pod))
				m.OnAddOrUpdate(pod)
			})
		case 2:
			key := s.key()
			last := server[key]
			if last == nil {
				continue
			}
			last = last.DeepCopy()
			last.ResourceVersion = next()
			delete(server, key)
			// Somebody else deletes it: nobody knows until the store has seen it.
			behind = append(behind, func() {
				succeed(t, backing.Delete(last))
				m.OnDelete(last)
			})
		case 3:
			for range s.pick(4) {
				if len(behind) > 0 {
					behind[0]()
					behind = behind[1:]
				}
			}
		}
		for key := range "abcde" {
			key := string(rune('a' + key))
			if want := server[key]; want != nil {
				check(t, key, state(want), found(t, m, key))
			}
		}
		for _, node := range []string{"n0", "n1", "n2"} {
			on := onNode(t, m, node)
			for _, pod := range server {
				check(t, fmt.Sprintf("%s on %s", state(pod), node), pod.Spec.NodeName == node, slices.Contains(on, state(pod)))
			}
		}
	}
	for _, see := range behind {
		see()
	}
	for key := range "abcde" {
		key := string(rune('a' + key))
		want := "absent"
		if server[key] != nil {
			want = state(server[key])
		}
		check(t, "in the end, "+key, want, found(t, m, key))
	}
	check(t, "writes held in the end", 0, heldBy(m))
}

func TestMutationCacheAgainstAModel(t *testing.T) { randomScripts(t, runMutationScript) }

func FuzzMutationCache(f *testing.F) { fuzzScripts(f, runMutationScript) }
