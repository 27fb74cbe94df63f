package store

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// frozenSet is a set as it was, and what it must hold for ever.
type frozenSet struct {
	p    posting
	want []uint32
}

// playSet adds and removes random slots below limit, and freezes the set now and then.
func playSet(t *testing.T, next func(int) int, limit, steps int) {
	live := map[uint32]bool{}
	s := &set{owner: 1}
	gen := uint64(1)
	var frozen []frozenSet
	growing := true
	for range steps {
		slot := uint32(next(limit))
		if next(64) == 0 {
			growing = !growing
		}
		if s = s.own(gen); live[slot] {
			s.remove(slot)
			delete(live, slot)
		} else if growing {
			s.add(slot)
			live[slot] = true
		} else {
			for slot := range live { // whichever: shrink
				s.remove(slot)
				delete(live, slot)
				break
			}
		}
		if next(steps/8) == 0 && len(live) > 0 {
			frozen = append(frozen, frozenSet{posting{set: s}, slices.Sorted(maps.Keys(live))})
			gen++
		}
	}
	if len(live) > 0 {
		frozen = append(frozen, frozenSet{posting{set: s}, slices.Sorted(maps.Keys(live))})
	}
	for _, f := range frozen {
		got, err := checkPosting(f.p)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, f.want) {
			t.Fatalf("set of %d holds %v, want %v", f.p.len(), got, f.want)
		}
		checkLoad(t, f.p, f.want, limit)
	}
}

func checkLoad(t *testing.T, p posting, want []uint32, limit int) {
	var got []uint32
	for i := range limit>>blockBits + 2 {
		var sel, all, rest selection
		p.add(i, &sel)
		if next := p.from(i); (sel.some != 0) != (next == i) {
			t.Fatalf("block %d: add gives words %x, from says %d", i, sel.some, next)
		}
		for j := range all.words {
			all.add(j, 1<<63|0x5555555555555555)
			rest.add(j, 1<<63|0x5555555555555555)
		}
		p.keep(i, &all)
		p.cut(i, &rest)
		for j, w := range sel.words {
			some := uint64(1<<63 | 0x5555555555555555)
			if all.words[j] != w&some || rest.words[j] != some&^w || (all.some>>j&1 != 0) != (all.words[j] != 0) || (rest.some>>j&1 != 0) != (rest.words[j] != 0) {
				t.Fatalf("word %d of block %d: %x, kept %x, cut %x", j, i, w, all.words[j], rest.words[j])
			}
			got = appendBits(got, uint32(i<<blockBits|j<<6), w)
		}
	}
	for slot := range uint32(limit) {
		if _, want := slices.BinarySearch(want, slot); p.has(slot) != want {
			t.Fatalf("has(%d) = %v", slot, !want)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("load gives %v, want %v", got, want)
	}
}

func TestSetAgreesWithModelInEveryForm(t *testing.T) {
	for seed := range 12 {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		playSet(t, r.IntN, []int{10, 300, 3000, 20_000}[seed%4], []int{200, 2000, 8000, 20_000}[seed%4])
	}
}

func TestSetOfOneObjectNeedsNoSet(t *testing.T) {
	for _, slot := range []uint32{0, 63, 64, 4095, 4096, 70_000} {
		got, err := checkPosting(posting{one: slot})
		if err != nil || !slices.Equal(got, []uint32{slot}) {
			t.Errorf("posting of %d holds %v, %v", slot, got, err)
		}
		checkLoad(t, posting{one: slot}, []uint32{slot}, 80_000)
	}
}

// A set that grew keeps no more than its form needs after it shrank.
func TestSetShrinksBackToAList(t *testing.T) {
	s := &set{owner: 1}
	for i := range uint32(10_000) {
		s.add(i)
	}
	if s.blocks == nil || s.blocks[0].words == nil {
		t.Fatal("10,000 neighbouring slots are not kept as words")
	}
	for i := range uint32(10_000 - 50) {
		s.remove(i)
	}
	if s.blocks != nil || len(s.few) != 50 {
		t.Errorf("50 slots left: %d in the list, blocks %v", len(s.few), s.blocks)
	}
}

func FuzzSet(f *testing.F) {
	f.Add([]byte("the quick brown fox jumps over the lazy dog"), uint16(300))
	f.Fuzz(func(t *testing.T, data []byte, limit uint16) {
		playSet(t, func(n int) int {
			if n <= 1 || len(data) < 2 {
				return 0
			}
			x := int(data[0])<<8 | int(data[1])
			data = data[2:]
			return x % n
		}, int(limit)+1, len(data)/4+8)
	})
}
