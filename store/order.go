package store

import (
	"iter"
	"slices"
)

// Order iterates over the objects of a snapshot in the (bytewise) order of their keys, from any key on: for pages that stay
// stable while objects come and go. Snapshots that do not have it are sorted on the spot: slow, and right. Safe for
// concurrent use.
type Order[T any] struct {
	_ byte // so that each is another address
}

// AddOrder adds an order: snapshots taken from now on have it. It costs about 6 bytes per object, and makes adding and
// deleting keys (not updating) dearer.
func AddOrder[T any](w *Writer[T]) *Order[T] {
	w.mu.Lock()
	defer w.mu.Unlock()
	x := &ordering[T]{o: new(Order[T])}
	x.rebuild(w.objects.cur, aside)
	w.restructureLocked(func() { w.orders = append(slices.Clone(w.orders), x) })
	return x.o
}

// RemoveOrder drops the order from the snapshots taken from now on. Of an order that is not there: nothing.
func (w *Writer[T]) RemoveOrder(o *Order[T]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.restructureLocked(func() {
		w.orders = slices.DeleteFunc(slices.Clone(w.orders), func(x *ordering[T]) bool { return x.o == o })
	})
}

// Range iterates over the objects with from <= key < to, in the order of their keys. A to of "" means no end.
// The page after the one that ended with key k starts from k+"\x00".
func (o *Order[T]) Range(s *Snapshot[T], from, to string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		leaves := s.order(o)
		i, j := search(leaves, s.objects, from)
		for ; i < len(leaves); i, j = i+1, 0 {
			for _, slot := range leaves[i].slots[j:] {
				at := s.objects.at(slot)
				if to != "" && at.key >= to || !yield(at.key, s.unpack(at)) {
					return
				}
			}
		}
	}
}

func (s *Snapshot[T]) order(o *Order[T]) []*leaf {
	for _, v := range s.orders {
		if v.o == o {
			return v.leaves
		}
	}
	x := ordering[T]{}
	x.rebuild(s.objects, aside)
	return x.leaves
}

// orderView is an order in one version.
type orderView[T any] struct {
	o      *Order[T]
	leaves []*leaf
}

// leaf is a run of slots in the order of their keys, never empty.
type leaf struct {
	owner uint64
	slots []uint32
}

// A leaf is split above leafMax, and joined to a neighbour below leafMin.
const (
	leafMax = 128
	leafMin = leafMax / 4
)

// ordering is the writer's hand on one order.
type ordering[T any] struct {
	o      *Order[T]
	owner  uint64
	leaves []*leaf
}

func (x *ordering[T]) view() orderView[T] { return orderView[T]{x.o, x.leaves} }

// search returns the place of the first key that is not below key: the end of a leaf, if that is where it would go.
func search(leaves []*leaf, c *content[ref], key string) (i, j int) {
	compare := func(slot uint32) int {
		if c.at(slot).key < key {
			return -1
		}
		return 1
	}
	i, _ = slices.BinarySearchFunc(leaves, key, func(l *leaf, key string) int {
		if c.at(l.slots[0]).key <= key {
			return -1
		}
		return 1
	})
	if i--; i < 0 {
		return 0, 0
	}
	j, _ = slices.BinarySearchFunc(leaves[i].slots, key, func(slot uint32, _ string) int { return compare(slot) })
	return i, j
}

// own returns leaf i, the writer's own.
func (x *ordering[T]) own(i int, gen uint64) *leaf {
	x.ownList(gen)
	l := x.leaves[i]
	if l.owner != gen {
		l = &leaf{gen, withRoom(l.slots)}
		x.leaves[i] = l
	}
	return l
}

func (x *ordering[T]) ownList(gen uint64) {
	if x.owner != gen {
		x.owner, x.leaves = gen, slices.Clone(x.leaves)
	}
}

// insert adds a slot whose key is in c.
func (x *ordering[T]) insert(slot uint32, c *content[ref], gen uint64) {
	if len(x.leaves) == 0 {
		x.owner, x.leaves = gen, []*leaf{{gen, []uint32{slot}}}
		return
	}
	i, j := search(x.leaves, c, c.at(slot).key)
	l := x.own(i, gen)
	l.slots = slices.Insert(l.slots, j, slot)
	if n := len(l.slots); n > leafMax {
		right := &leaf{gen, withRoom(l.slots[n/2:])}
		l.slots = l.slots[:n/2]
		x.leaves = slices.Insert(x.leaves, i+1, right)
	}
}

// remove removes a slot whose key is still in c.
func (x *ordering[T]) remove(slot uint32, c *content[ref], gen uint64) {
	i, j := search(x.leaves, c, c.at(slot).key)
	if i >= len(x.leaves) || j >= len(x.leaves[i].slots) || x.leaves[i].slots[j] != slot {
		panic("BUG: store: stored key missing in an order")
	}
	l := x.own(i, gen)
	l.slots = slices.Delete(l.slots, j, j+1)
	switch n := len(l.slots); {
	case n == 0:
		x.leaves = slices.Delete(x.leaves, i, i+1)
	case n < leafMin && i+1 < len(x.leaves) && n+len(x.leaves[i+1].slots) <= leafMax*3/4:
		l.slots = append(l.slots, x.leaves[i+1].slots...)
		x.leaves = slices.Delete(x.leaves, i+1, i+2)
	}
}

// rebuild sorts all of c.
func (x *ordering[T]) rebuild(c *content[ref], gen uint64) {
	type keyed struct {
		key  string
		slot uint32
	}
	var all []keyed
	for slot, at := range c.all() {
		all = append(all, keyed{at.key, slot})
	}
	slices.SortFunc(all, func(a, b keyed) int {
		if a.key < b.key {
			return -1
		}
		return 1
	})
	x.owner, x.leaves = gen, nil
	for run := range slices.Chunk(all, leafMax*3/4) {
		l := &leaf{owner: gen, slots: make([]uint32, len(run))}
		for i := range run {
			l.slots[i] = run[i].slot
		}
		x.leaves = append(x.leaves, l)
	}
}
