package feed

import (
	"fmt"
	"testing"
	"time"
)

// check panics if p is not sound.
func (p *pending[T]) check() {
	live, first := 0, Position(0)
	for i := range p.slots[:cap(p.slots)] {
		s := &p.slots[:cap(p.slots)][i]
		if s.hash == 0 {
			if s.change.Key != "" || s.change.Kind != 0 {
				panic(fmt.Sprintf("BUG: slot %d is not in use but holds %+v", i, s.change))
			}
			continue
		}
		if i < p.head || i >= len(p.slots) {
			panic(fmt.Sprintf("BUG: slot %d is in use outside of %d..%d", i, p.head, len(p.slots)))
		}
		if live++; live > 1 && s.first <= first {
			panic(fmt.Sprintf("BUG: slot %d is not in order", i))
		}
		first = s.first
		if p.find(s.change.Key, s.hash) != s {
			panic(fmt.Sprintf("BUG: slot %d is not found by its key %s", i, s.change.Key))
		}
	}
	if live != p.live {
		panic(fmt.Sprintf("BUG: %d slots are in use, not %d", live, p.live))
	}
	if len(p.table) != 2*cap(p.slots) {
		panic(fmt.Sprintf("BUG: a table of %d for %d slots", len(p.table), cap(p.slots)))
	}
}

// runPending gives pending a history in phases that fill it and that drain it, and compares it with the model.
func runPending(t *testing.T, data []byte) {
	t.Helper()
	var (
		s   = &script{data}
		w   = world{state: map[string]int{}}
		p   pending[int]
		m   modelCursor
		pos Position
	)
	m.policy = LatestState
	for !s.done() {
		keys := []int{1, 7, 100, 255}[s.choose(4)]
		for range 4 * s.choose(256) {
			c := w.change(s, keys)
			p.fold(&entry[int]{c, time.Duration(pos)}, pos)
			m.append([]Change[int]{c})
			pos++
		}
		p.check()
		dst := make([]Change[int], s.choose(256))
		until := m.pos + Position(s.choose(256)*s.choose(256))
		want := m.next(len(dst), until)
		n := p.take(dst, until)
		p.check()
		if fmt.Sprint(dst[:n]) != fmt.Sprint(want) {
			t.Fatalf("take gave %v, want %v", dst[:n], want)
		}
		if p.live != len(m.waiting) {
			t.Fatalf("%d wait, should be %d", p.live, len(m.waiting))
		}
		if o := p.oldest(); o == nil {
			if p.live != 0 {
				t.Fatalf("no oldest of %d", p.live)
			}
		} else if first := m.waiting[0].first; o.first != first || o.at != time.Duration(first) {
			t.Fatalf("the oldest is of %d (%d), should be of %d", o.first, o.at, first)
		}
	}
}

func FuzzPending(f *testing.F) {
	f.Add([]byte{3, 20, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 200, 20, 20, 0, 30})
	f.Fuzz(func(t *testing.T, data []byte) { runPending(t, data) })
}

func TestPendingOfRandomHistories(t *testing.T) {
	forRandomScripts(t, 60, 6000, runPending)
}

func TestPendingGivesBackRoomWhenHardlyAnyIsInUse(t *testing.T) {
	var p pending[int]
	pos := Position(0)
	fold := func(key string) {
		p.fold(&entry[int]{change: Change[int]{Key: key, Kind: Updated}}, pos)
		pos++
	}
	for i := range 20_000 {
		fold(fmt.Sprint("k", i))
	}
	big := cap(p.slots)
	dst := make([]Change[int], 19_990)
	if n := p.take(dst, pos); n != len(dst) {
		t.Fatalf("took %d", n)
	}
	for i := range 150_000 { // never empty, never much
		fold(fmt.Sprint("l", i))
		p.take(dst[:1], pos)
	}
	p.check()
	if p.live != 10 || cap(p.slots) > keepPending {
		t.Fatalf("room for %d (once %d) while %d wait", cap(p.slots), big, p.live)
	}
}

func TestPendingNeedsNoMoreRoomThanItsKeys(t *testing.T) {
	var p pending[int]
	for i := range Position(200_000) { // each added and deleted again, none ever waits for long
		key := fmt.Sprint("k", i/2)
		p.fold(&entry[int]{change: Change[int]{Key: key, Kind: []Kind{Added, Deleted}[i%2]}}, i)
	}
	p.check()
	if p.live != 0 || cap(p.slots) > minPending {
		t.Fatalf("%d wait in room for %d", p.live, cap(p.slots))
	}
}
