package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Keys whose hashes are all the same, or nearly, are still told apart.
func TestTableTellsKeysOfOneHashApart(t *testing.T) {
	for _, hash := range []func(string) uint32{
		func(string) uint32 { return 0 },
		func(string) uint32 { return 1<<hashBits - 1 }, // probing wraps around
		func(k string) uint32 { return uint32(len(k)) << 28 & (1<<hashBits - 1) },
	} {
		tb := newTable(setAlone[int])
		r := rand.New(rand.NewPCG(1, 1))
		want := map[string]int{}
		for i := range 3000 {
			st := stamp{uint64(i/100 + 1), uint64(i/10 + 1)}
			key := fmt.Sprint(r.IntN(60))
			slot, at := tb.cur.find(hash(key), key)
			if _, has := want[key]; has != (at != nil) || has && at.val != want[key] {
				t.Fatalf("step %d: found %q %v, want %v", i, key, at, want[key])
			}
			switch {
			case at == nil:
				tb.insert(hash(key), key, i, st)
				want[key] = i
			case i%2 == 0:
				tb.update(slot, i, st)
				want[key] = i
			default:
				tb.remove(hash(key), slot, st)
				delete(want, key)
			}
		}
		for key, val := range want {
			if _, at := tb.cur.find(hash(key), key); at == nil || at.val != val {
				t.Errorf("%q is lost", key)
			}
		}
	}
}

// Keys that come once and go would fill the hints with ghosts for ever.
func TestHintsDoNotGrowWithKeysThatAreGone(t *testing.T) {
	tb := newTable(setAlone[int])
	for i := range 10_000 {
		st := stamp{1, uint64(i + 1)}
		key := fmt.Sprint(i)
		slot := tb.insert(hashOf(key), key, i, st)
		if i >= 100 {
			old := fmt.Sprint(i - 100)
			slot, _ := tb.cur.find(hashOf(old), old)
			tb.remove(hashOf(old), slot, st)
		}
		if slot > 100 {
			t.Fatalf("slot %d for 101 keys", slot)
		}
	}
	if n := len(tb.cur.hints.entries); n > 8*100 {
		t.Errorf("%d hint entries for 100 keys", n)
	}
}

func TestSlotsAreLowestFirst(t *testing.T) {
	var s slots
	used := map[uint32]bool{}
	r := rand.New(rand.NewPCG(5, 5))
	for range 10_000 {
		if slot := uint32(r.IntN(5000)); used[slot] {
			s.give(slot)
			delete(used, slot)
			continue
		}
		slot := s.take()
		if used[slot] {
			t.Fatalf("slot %d given out twice", slot)
		}
		for low := range slot {
			if !used[low] {
				t.Fatalf("slot %d given out, %d is free", slot, low)
			}
		}
		used[slot] = true
	}
}

func TestTuplesKeepEachListOnce(t *testing.T) {
	var tu tuples
	r := rand.New(rand.NewPCG(9, 9))
	lists := make([][]uint32, 40)
	for i := range lists {
		for range 2 + r.IntN(6) {
			lists[i] = append(lists[i], r.Uint32N(4))
		}
	}
	type ref struct {
		n    uint32
		list []uint32
	}
	var refs []ref
	for range 20_000 {
		if len(refs) > 0 && r.IntN(2) == 0 {
			i := r.IntN(len(refs))
			tu.release(refs[i].n)
			refs = slices.Delete(refs, i, i+1)
			continue
		}
		list := lists[r.IntN(len(lists))]
		n := tu.intern(list)
		for _, x := range refs {
			if (x.n == n) != slices.Equal(x.list, list) {
				t.Fatalf("tuple %d stands for %v and %v", n, x.list, list)
			}
		}
		if refs = append(refs, ref{n, list}); len(refs) > 60 {
			tu.release(refs[0].n)
			refs = refs[1:]
		}
	}
	if len(tu.list) > len(lists) || len(tu.byHash.entries) > 8*len(lists) {
		t.Errorf("%d tuples, %d hints for %d lists", len(tu.list), len(tu.byHash.entries), len(lists))
	}
	for _, x := range refs {
		tu.release(x.n)
	}
	for i := range tu.list {
		if tu.list[i].ids != nil || tu.list[i].refs != 0 {
			t.Errorf("tuple %d is left", i)
		}
	}
}
