package store

import "slices"

// tuples keeps each distinct list of value numbers once: objects with several values mostly share their list with
// others (pods of one owner have the same labels).
type tuples struct {
	byHash *hints
	list   []tuple
	free   []uint32
}

type tuple struct {
	ids  []uint32
	hash uint32
	refs uint32
}

// intern returns the number of the list ids, with one more reference.
func (t *tuples) intern(ids []uint32) uint32 {
	if t.byHash == nil {
		t.byHash = newHints(0)
	}
	hash := hashIDs(ids)
	for n, pos, ok := t.byHash.first(hash); ok; n, pos, ok = t.byHash.next(hash, pos) {
		if tu := &t.list[n]; tu.refs > 0 && slices.Equal(tu.ids, ids) {
			tu.refs++
			return n
		}
	}
	var n uint32
	if last := len(t.free) - 1; last >= 0 {
		n, t.free = t.free[last], t.free[:last]
	} else {
		n = uint32(len(t.list))
		t.list = append(t.list, tuple{})
	}
	t.list[n] = tuple{ids: slices.Clone(ids), hash: hash, refs: 1}
	if t.byHash.full() {
		t.byHash = t.byHash.renewed(len(t.list) - len(t.free))
	}
	t.byHash.add(hash, n)
	return n
}

// release takes back one reference.
func (t *tuples) release(n uint32) {
	tu := &t.list[n]
	if tu.refs--; tu.refs == 0 {
		t.byHash.ghost(tu.hash, n)
		*tu = tuple{}
		t.free = append(t.free, n)
	}
}

// hashIDs is FNV-1a by whole words, its high bits spread: the numbers are the writer's own, no attacker chooses them.
func hashIDs(ids []uint32) uint32 {
	h := uint64(14695981039346656037)
	for _, id := range ids {
		h = (h ^ uint64(id)) * 1099511628211
	}
	return uint32(h * 0x9e3779b97f4a7c15 >> (64 - hashBits))
}
