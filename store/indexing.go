package store

import (
	"slices"
	"time"
)

// indexing is the writer's hand on one index.
//
// It remembers the values of each object rather than ask the function again about the old object: a function called once per
// change is cheaper, and the index stays right when somebody has modified an object in place.
type indexing[T any] struct {
	ix       *Index[T]
	values   table[posting]
	failures table[Failure] // by the key of the object
	under    *columns       // by the object's slot: what it is indexed under, in column col
	col      int
	tuples   tuples
	ids      [2][]uint32 // scratch
}

// In under, 0 says no value, a number the slot (plus one) of the only value in values, and this bit the number of a tuple.
const underTuple = 1 << 31

func newIndexing[T any](ix *Index[T], under *columns) *indexing[T] {
	return &indexing[T]{ix: ix, under: under, col: under.add(), values: newTable(setAlone[posting]), failures: newTable(setAlone[Failure])}
}

func (x *indexing[T]) view() indexView[T] {
	return indexView[T]{ix: x.ix, values: x.values.cur, failures: x.failures.cur}
}

// fill indexes all of c.
func (x *indexing[T]) fill(c *content[ref], r refs[T], st stamp) {
	var sc scratch
	for slot, at := range c.all() {
		sc.reset()
		var t task
		var values []string
		values, t.err = x.ix.call(r.unpack(c.of, at.val))
		t.lo, t.hi = sc.keep(values)
		x.apply(&sc, t, slot, at.key, st)
	}
}

// task is what has to be done to one index for one change.
type task struct {
	step, index int32 // of the plan
	lo, hi      int32 // values, in scratch
	err         error
}

// scratch keeps the values that index functions returned until they are applied.
type scratch struct {
	values []string
}

func (sc *scratch) reset() {
	clear(sc.values)
	sc.values = sc.values[:0]
}

// keep copies values, sorted and each once, and returns where.
func (sc *scratch) keep(values []string) (lo, hi int32) {
	lo = int32(len(sc.values))
	sc.values = append(sc.values, values...)
	kept := sc.values[lo:]
	for i := 1; i < len(kept); i++ {
		if kept[i-1] >= kept[i] {
			slices.Sort(kept)
			kept = slices.Compact(kept)
			break
		}
	}
	hi = lo + int32(len(kept))
	clear(sc.values[hi:])
	sc.values = sc.values[:hi]
	return lo, hi
}

// call is what an index function returned for one object: values in scratch, or an error.
type call struct {
	lo, hi int32
	err    error
}

// unchanged reports that the index has the object at slot, with this key, under exactly these values.
func (x *indexing[T]) unchanged(slot uint32, key string, values []string) bool {
	return x.has(x.under.get(slot, x.col), values) && (x.failures.n == 0 || !x.failed(key))
}

func (x *indexing[T]) failed(key string) bool {
	_, at := x.failures.cur.find(hashOf(key), key)
	return at != nil
}

// has reports whether what u, an entry of under, stands for is exactly these values.
func (x *indexing[T]) has(u uint32, values []string) bool {
	switch {
	case u == 0:
		return len(values) == 0
	case u&underTuple == 0:
		return len(values) == 1 && x.values.cur.at(u-1).key == values[0]
	}
	ids := x.tuples.list[u&^underTuple].ids
	if len(ids) != len(values) {
		return false
	}
	for i, id := range ids {
		if x.values.cur.at(id).key != values[i] {
			return false
		}
	}
	return true
}

// apply does a task for the object with this key, at slot.
func (x *indexing[T]) apply(sc *scratch, t task, slot uint32, key string, st stamp) {
	x.note(key, t.err, st)
	// Both lists are in the order of the values' strings.
	old, ids := x.idsOf(x.under.get(slot, x.col), x.ids[0][:0]), x.ids[1][:0]
	i := 0
	for _, v := range sc.values[t.lo:t.hi] {
		for i < len(old) && x.values.cur.at(old[i]).key < v {
			x.leave(old[i], slot, st)
			i++
		}
		if i < len(old) && x.values.cur.at(old[i]).key == v {
			ids = append(ids, old[i])
			i++
		} else {
			ids = append(ids, x.join(v, slot, st))
		}
	}
	for ; i < len(old); i++ {
		x.leave(old[i], slot, st)
	}
	x.setUnder(slot, ids)
	x.ids = [2][]uint32{old[:0], ids[:0]}
}

// drop removes the object at slot, with this key, from the index.
func (x *indexing[T]) drop(slot uint32, key string, st stamp) {
	var none scratch
	x.apply(&none, task{}, slot, key, st)
}

// note records that the function failed on the object with this key, or (nil) that it has not.
func (x *indexing[T]) note(key string, err error, st stamp) {
	if err == nil && x.failures.n == 0 {
		return
	}
	hash := hashOf(key)
	slot, at := x.failures.cur.find(hash, key)
	switch {
	case at == nil && err != nil:
		x.failures.insert(hash, key, Failure{Index: x.ix.name, Key: key, Err: err, Since: time.Now()}, st)
	case at != nil && err != nil:
		f := at.val
		f.Err = err
		x.failures.update(slot, f, st)
	case at != nil:
		x.failures.remove(hash, slot, st)
	}
}

// idsOf appends the numbers of the values that an entry of under stands for.
func (x *indexing[T]) idsOf(u uint32, to []uint32) []uint32 {
	switch {
	case u == 0:
		return to
	case u&underTuple == 0:
		return append(to, u-1)
	}
	return append(to, x.tuples.list[u&^underTuple].ids...)
}

func (x *indexing[T]) setUnder(slot uint32, ids []uint32) {
	if old := x.under.get(slot, x.col); old&underTuple != 0 {
		x.tuples.release(old &^ underTuple)
	}
	var u uint32
	switch len(ids) {
	case 0:
	case 1:
		u = ids[0] + 1
	default:
		u = underTuple | x.tuples.intern(ids)
	}
	x.under.set(slot, x.col, u)
}

// join puts slot under value and returns the value's number.
func (x *indexing[T]) join(value string, slot uint32, st stamp) uint32 {
	hash := hashOf(value)
	id, at := x.values.cur.find(hash, value)
	if at == nil {
		return x.values.insert(hash, value, posting{one: slot}, st)
	}
	p := at.val
	if p.set == nil {
		next := &set{owner: st.made}
		next.add(p.one)
		next.add(slot)
		x.values.update(id, posting{set: next}, st)
		return id
	}
	next := p.set.own(st.made)
	next.add(slot)
	if next != p.set {
		x.values.update(id, posting{set: next}, st)
	}
	return id
}

// leave takes slot from under the value with number id.
func (x *indexing[T]) leave(id, slot uint32, st stamp) {
	at := x.values.cur.at(id)
	if at.val.len() == 1 {
		x.values.remove(hashOf(at.key), id, st)
		return
	}
	next := at.val.set.own(st.made)
	next.remove(slot)
	if next != at.val.set {
		x.values.update(id, posting{set: next}, st)
	}
}
