package store

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/puzpuzpuz/xsync/v4"
)

// The package has structures of its own where good libraries exist. These benchmarks say what that buys; where a library
// does as well, it should be used instead.

// BenchmarkKeyMaps compares point reads by random keys with maps that could serve them, and the bytes each needs for an
// object (B/object: the store's include its pages, so all it needs to list as well).
func BenchmarkKeyMaps(b *testing.B) {
	s := newBenchStore(b)
	type entry struct {
		pod  *benchPod
		slot uint32
	}
	before := heap()
	lockFree := xsync.NewMap[string, entry]()
	for i, key := range s.keys {
		lockFree.Store(key, entry{s.pods[i], uint32(i)})
	}
	lockFreeBytes := heap() - before
	before = heap()
	locked, mu := map[string]entry{}, sync.RWMutex{}
	for i, key := range s.keys {
		locked[key] = entry{s.pods[i], uint32(i)}
	}
	lockedBytes := heap() - before
	run := func(name string, bytes int64, get func(key string) bool) {
		b.Run("map="+name, func(b *testing.B) {
			for n := range b.N {
				if !get(s.keys[s.order[n%benchObjects]]) {
					b.Fatal("not found")
				}
			}
			if bytes > 0 {
				b.ReportMetric(float64(bytes)/benchObjects, "B/object")
			}
		})
	}
	run("store", 0, func(key string) bool { _, ok := s.Get(key); return ok })
	run("xsync", lockFreeBytes, func(key string) bool { _, ok := lockFree.Load(key); return ok })
	run("rwmutex", lockedBytes, func(key string) bool {
		mu.RLock()
		defer mu.RUnlock()
		_, ok := locked[key]
		return ok
	})
}

// BenchmarkSets compares sets of slots, members spread over 100,000 slots: a change (one random member out and in again),
// alone and after a snapshot (the set has to be copied, as far as it is); and the bytes per member.
func BenchmarkSets(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10_000, 50_000} {
		members := rand.New(rand.NewPCG(1, 1)).Perm(benchObjects)[:n]
		for _, snapshots := range []int{0, 1} {
			name := fmt.Sprintf("members=%d/snapshots=%d/set=", n, snapshots)
			b.Run(name+"store", func(b *testing.B) {
				before := heap()
				s := &set{owner: 1}
				for _, x := range members {
					s.add(uint32(x))
				}
				bytes := heap() - before
				gen := uint64(1)
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					gen += uint64(snapshots)
					s = s.own(gen)
					s.remove(uint32(members[i%n]))
					s.add(uint32(members[i%n]))
				}
				b.ReportMetric(float64(bytes)/float64(n), "B/member")
			})
			b.Run(name+"roaring", func(b *testing.B) {
				before := heap()
				s := roaring.New()
				for _, x := range members {
					s.Add(uint32(x))
				}
				bytes := heap() - before
				b.ReportAllocs()
				b.ResetTimer()
				for i := range b.N {
					if snapshots > 0 {
						s = s.Clone()
					}
					s.Remove(uint32(members[i%n]))
					s.Add(uint32(members[i%n]))
				}
				b.ReportMetric(float64(bytes)/float64(n), "B/member")
			})
		}
	}
}

// BenchmarkIntersections compares finding what two sets have in common.
func BenchmarkIntersections(b *testing.B) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, n := range [][2]int{{10, 1000}, {100, 1000}, {1000, 30_000}, {30_000, 50_000}} {
		var ours [2]posting
		var theirs [2]*roaring.Bitmap
		for i := range ours {
			s := &set{owner: 1}
			theirs[i] = roaring.New()
			for _, x := range r.Perm(benchObjects)[:n[i]] {
				s.add(uint32(x))
				theirs[i].Add(uint32(x))
			}
			ours[i] = posting{set: s}
		}
		name := "sizes=" + strconv.Itoa(n[0]) + "," + strconv.Itoa(n[1]) + "/set="
		b.Run(name+"store", func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				f := allOf([]finding{ours[0], ours[1]})
				total := 0
				for range found(f) {
					total++
				}
				sink.Store(int64(total))
			}
		})
		b.Run(name+"roaring", func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				total := 0
				for it := roaring.And(theirs[0], theirs[1]).Iterator(); it.HasNext(); it.Next() {
					total++
				}
				sink.Store(int64(total))
			}
		})
	}
}
