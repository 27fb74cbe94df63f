package apitest

import (
	"slices"
	"sort"

	"k8s.io/apimachinery/pkg/watch"
)

// change is one write of a resource.
type change struct {
	typ  watch.EventType // Added, Modified or Deleted
	rv   uint64
	obj  *object // the new state; of a delete the last one under the delete's resource version
	prev *object // nil if Added
}

// history keeps the last changes of one resource. From the present state and these, every state back to floor can be told.
type history struct {
	limit   int
	changes []*change
	// floor is the oldest resource version whose following changes are all kept.
	floor uint64
	// snaps are states told lately, so that the pages of one list are cut from one of them.
	snaps []*snapshot
}

// snapshot is a resource's state at one resource version. It is never changed.
type snapshot struct {
	rv      uint64
	objects []*object // by key
}

const keptSnapshots = 4

func (h *history) init(limit int, floor uint64) { h.limit, h.floor = limit, floor }

func (h *history) add(c *change) {
	h.changes = append(h.changes, c)
	if over := len(h.changes) - h.limit; over > 0 {
		h.floor = h.changes[over-1].rv
		// Cut rarely: the changes before floor that still take room are at most as many as those kept.
		if over >= h.limit {
			h.changes = slices.Clone(h.changes[over:])
		}
	}
}

// compact forgets what was before rv.
func (h *history) compact(rv uint64) {
	if rv > h.floor {
		h.floor = rv
	}
	h.changes = slices.Clone(h.after(h.floor))
	h.snaps = slices.DeleteFunc(h.snaps, func(s *snapshot) bool { return s.rv < h.floor })
}

// reset starts again at rv.
func (h *history) reset(rv uint64) { h.changes, h.snaps, h.floor = nil, nil, rv }

// after gives the changes later than rv, which is at least floor.
func (h *history) after(rv uint64) []*change {
	i := sort.Search(len(h.changes), func(i int) bool { return h.changes[i].rv > rv })
	return h.changes[i:]
}

// undone tells what the objects that changed after rv were then: nil for those that did not exist.
func undone(after []*change) map[string]*object {
	then := map[string]*object{}
	for _, c := range slices.Backward(after) {
		then[c.obj.key] = c.prev
	}
	return then
}

// sortedKeys are the keys of a map in order. Adding is cheap and the order is restored when it is asked for.
type sortedKeys struct {
	sorted []string
	added  []string
}

func (k *sortedKeys) add(key string) { k.added = append(k.added, key) }

// in gives the keys that m has, in order; the slice is valid until the next add.
func (k *sortedKeys) in(m map[string]*object) []string {
	if len(k.added) == 0 && len(k.sorted) == len(m) {
		return k.sorted
	}
	slices.Sort(k.added)
	merged := make([]string, 0, len(m))
	take := func(key string) {
		if _, ok := m[key]; ok && (len(merged) == 0 || merged[len(merged)-1] != key) {
			merged = append(merged, key)
		}
	}
	i := 0
	for _, key := range k.added {
		for i < len(k.sorted) && k.sorted[i] < key {
			take(k.sorted[i])
			i++
		}
		take(key)
	}
	for ; i < len(k.sorted); i++ {
		take(k.sorted[i])
	}
	k.sorted, k.added = merged, nil
	return merged
}

// snapshotLocked tells the resource's state at rv, which is between the history's floor and now.
func (r *resource) snapshotLocked(rv, now uint64) *snapshot {
	after := r.history.after(rv)
	if rv >= now {
		after = nil
	}
	// A snapshot holds for every resource version up to the resource's next change.
	lastChange := r.history.floor
	if n := len(r.history.changes) - len(after); n > 0 {
		lastChange = max(lastChange, r.history.changes[n-1].rv)
	}
	for _, s := range r.history.snaps {
		if s.rv >= lastChange && s.rv <= rv {
			return s
		}
	}
	s := &snapshot{rv: rv, objects: make([]*object, 0, len(r.objects))}
	then := undone(after)
	for _, key := range r.keys.in(r.objects) {
		if _, changed := then[key]; !changed {
			s.objects = append(s.objects, r.objects[key])
		}
	}
	for _, o := range then {
		if o != nil {
			s.objects = append(s.objects, o)
		}
	}
	if len(then) > 0 {
		slices.SortFunc(s.objects, byKey)
	}
	if len(r.history.snaps) >= keptSnapshots {
		r.history.snaps = slices.Clone(r.history.snaps[1:])
	}
	r.history.snaps = append(r.history.snaps, s)
	return s
}

func byKey(a, b *object) int {
	switch {
	case a.key < b.key:
		return -1
	case a.key > b.key:
		return 1
	}
	return 0
}
