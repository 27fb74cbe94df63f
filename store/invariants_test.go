package store

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"testing"
)

// checkInvariants fails t if anything inside the store contradicts anything else. No transaction may be running.
func checkInvariants[T any](t testing.TB, w *Writer[T]) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	bad := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("invariant: "+format, args...)
	}
	if w.s.objects.Load() != w.objects.cur || w.s.Len() != w.objects.n || w.s.Revision() != w.revision {
		bad("what is published is not the newest version")
	}
	if p := &w.plan; len(p.changes)+len(p.steps)+len(p.tasks)+len(p.values.values) > 0 || p.changes != nil {
		bad("a plan is left")
	}
	if err := checkTable(&w.objects); err != nil {
		bad("objects: %v", err)
	}
	for _, x := range w.indexes {
		if err := checkIndexing(x, w.objects.cur, w.refs); err != nil {
			bad("index %q: %v", x.ix.name, err)
		}
	}
	for _, x := range w.orders {
		if err := checkOrdering(x, w.objects.cur, w.objects.n); err != nil {
			bad("order: %v", err)
		}
	}
}

func checkTable[V any](tb *table[V]) error {
	live := map[uint32]bool{}
	for i, ch := range tb.cur.chunks {
		if ch == nil {
			return fmt.Errorf("chunk %d is missing", i)
		}
		for j := range ch.pages {
			p := ch.pages[j].Load()
			if (p == nil) != (ch.live[j] == 0) || p == nil && ch.owned>>j&1 != 0 {
				return fmt.Errorf("page %d.%d: %v, live %b, owned %b", i, j, p, ch.live[j], ch.owned)
			}
			for k := 0; p != nil && k < pageCells; k++ {
				slot := uint32(i<<slotBits | j<<pageBits | k)
				if ch.live[j]>>k&1 == 0 {
					if any(p[k].val) != any(*new(V)) {
						return fmt.Errorf("free slot %d holds a value", slot)
					}
					continue
				}
				live[slot] = true
				if found, at := tb.cur.find(hashOf(p[k].key), p[k].key); at == nil || found != slot {
					return fmt.Errorf("key %q is at slot %d, found at %d", p[k].key, slot, found)
				}
			}
		}
	}
	if len(live) != tb.n {
		return fmt.Errorf("n is %d, %d are live", tb.n, len(live))
	}
	return checkSlots(&tb.slots, live, tb.cur.hints)
}

func checkSlots(s *slots, live map[uint32]bool, h *hints) error {
	free := 0
	for i, w := range s.free {
		if (w != 0) != (s.sum[i>>6]>>(i&63)&1 != 0) {
			return fmt.Errorf("summary of free word %d is wrong", i)
		}
		for ; w != 0; w &= w - 1 {
			free++
			if slot := uint32(i<<6 | bits.TrailingZeros64(w)); live[slot] || slot >= s.top {
				return fmt.Errorf("slot %d is free and in use", slot)
			}
		}
	}
	if free != s.n || free+len(live) != int(s.top) {
		return fmt.Errorf("%d slots, %d live, %d free, counted as %d", s.top, len(live), free, s.n)
	}
	used, ghosts := 0, 0
	for i := range h.entries {
		if e := h.entries[i].Load(); e != 0 {
			used++
			ghosts += int(e >> 32 & 1)
		}
	}
	if used != h.used || ghosts != h.ghosts || used-ghosts > len(live) || used >= len(h.entries) {
		return fmt.Errorf("hints: %d of %d used, counted as %d; %d ghosts, counted as %d; %d live", used, len(h.entries), h.used, ghosts, h.ghosts, len(live))
	}
	return nil
}

// checkIndexing compares an index with one rebuilt from the objects.
func checkIndexing[T any](x *indexing[T], objects *content[ref], r refs[T]) error {
	if err := checkTable(&x.values); err != nil {
		return fmt.Errorf("values: %w", err)
	}
	if err := checkTable(&x.failures); err != nil {
		return fmt.Errorf("failures: %w", err)
	}
	want := map[string][]uint32{}
	failed := 0
	tuples := map[uint32]uint32{}
	for slot, at := range objects.all() {
		values, err := x.ix.call(r.unpack(objects.of, at.val))
		if err != nil {
			failed++
			if !x.failed(at.key) {
				return fmt.Errorf("failure of %q is not recorded", at.key)
			}
			values = nil
		}
		values = slices.Compact(slices.Sorted(slices.Values(values)))
		if !x.has(x.under.get(slot, x.col), values) {
			return fmt.Errorf("%q is not remembered under %q", at.key, values)
		}
		for _, v := range values {
			want[v] = append(want[v], slot)
		}
		if u := x.under.get(slot, x.col); u&underTuple != 0 {
			tuples[u&^underTuple]++
		}
	}
	if failed != x.failures.n {
		return fmt.Errorf("%d failures recorded, %d found", x.failures.n, failed)
	}
	for slot := range x.under.height() {
		if x.under.get(uint32(slot), x.col) != 0 && objects.lookup(uint32(slot)) == nil {
			return fmt.Errorf("slot %d is free and has values", slot)
		}
	}
	for i, tu := range x.tuples.list {
		if tu.refs != tuples[uint32(i)] {
			return fmt.Errorf("tuple %d has %d references, counted as %d", i, tuples[uint32(i)], tu.refs)
		}
	}
	got := map[string][]uint32{}
	for _, at := range x.values.cur.all() {
		slots, err := checkPosting(at.val)
		if err != nil {
			return fmt.Errorf("value %q: %w", at.key, err)
		}
		got[at.key] = slots
	}
	if !maps.EqualFunc(got, want, slices.Equal) {
		return fmt.Errorf("holds %v, rebuilt: %v", got, want)
	}
	return nil
}

// checkPosting returns the slots of p.
func checkPosting(p posting) ([]uint32, error) {
	var all []uint32
	var buf [runSlots]uint32
	for at := 0; ; {
		run := p.run(&at, &buf)
		if len(run) == 0 {
			break
		}
		all = append(all, run...)
	}
	if len(all) == 0 || len(all) != p.len() {
		return nil, fmt.Errorf("%d slots, counted as %d", len(all), p.len())
	}
	for i := range all[1:] {
		if all[i] >= all[i+1] {
			return nil, fmt.Errorf("slots %d and %d out of order", all[i], all[i+1])
		}
	}
	if p.set == nil {
		return all, nil
	}
	return all, checkSet(p.set)
}

func checkSet(s *set) error {
	if s.blocks == nil {
		if len(s.few) != s.n || s.n > fewMax {
			return fmt.Errorf("list of %d, counted as %d", len(s.few), s.n)
		}
		return nil
	}
	n := 0
	for i, b := range s.blocks {
		if b == nil {
			continue
		}
		var sel selection
		posting{set: s}.add(i, &sel)
		if sel.count() != b.n || b.n == 0 || b.words == nil && len(b.list) > listMax || b.words != nil && b.list != nil {
			return fmt.Errorf("block %d: %d slots, counted as %d", i, sel.count(), b.n)
		}
		n += b.n
	}
	if n != s.n || s.few != nil || n <= fewMax/4 {
		return fmt.Errorf("%d in blocks, counted as %d", n, s.n)
	}
	return nil
}

func checkOrdering[T any](x *ordering[T], objects *content[ref], n int) error {
	var keys []string
	for i, l := range x.leaves {
		if len(l.slots) == 0 || len(l.slots) > leafMax {
			return fmt.Errorf("leaf %d has %d slots", i, len(l.slots))
		}
		for _, slot := range l.slots {
			at := objects.lookup(slot)
			if at == nil {
				return fmt.Errorf("free slot %d in leaf %d", slot, i)
			}
			keys = append(keys, at.key)
		}
	}
	if len(keys) != n {
		return fmt.Errorf("%d keys of %d", len(keys), n)
	}
	for i := 1; i < n; i++ {
		if keys[i-1] >= keys[i] {
			return fmt.Errorf("%q before %q", keys[i-1], keys[i])
		}
	}
	return nil
}
