package store

import (
	"runtime"
	"strconv"
	"testing"
	"weak"
)

// tracked counts which of the objects it made are still in memory.
type tracked []weak.Pointer[object]

func (tr *tracked) make(id int, values ...string) *object {
	o := &object{id: id, values: values}
	*tr = append(*tr, weak.Make(o))
	return o
}

func (tr tracked) alive() int {
	runtime.GC()
	runtime.GC()
	n := 0
	for _, p := range tr {
		if p.Value() != nil {
			n++
		}
	}
	return n
}

// The store keeps no object that is neither stored nor in a snapshot somebody holds.
func TestObjectsThatAreGoneCanBeCollected(t *testing.T) {
	const n = 300
	var tr tracked
	s, w := New(Options[*object]{Same: sameID})
	ix := AddIndex(w, "all", allValues)
	order := AddOrder(w)
	var b Batch[*object]
	for i := range n {
		b.Put(strconv.Itoa(i), tr.make(i, strconv.Itoa(i%7), "x"))
	}
	w.Commit(&b)
	expect := func(step string, want int) {
		t.Helper()
		if got := tr.alive(); got != want {
			t.Errorf("%s: %d objects in memory, want %d", step, got, want)
		}
	}
	b.Reset()
	expect("filled", n)

	held := s.Snapshot()
	for i := range n / 3 {
		b.Delete(strconv.Itoa(i))
		w.Commit(&b)
	}
	for i := n / 3; i < n; i++ {
		b.Put(strconv.Itoa(i), tr.make(n+i, "y"))
		w.Commit(&b)
	}
	b.Reset()
	expect("with the old snapshot", n+n*2/3)
	for range held.All() {
		break
	}
	runtime.KeepAlive(held)
	held = nil
	expect("without it", n*2/3)

	r := w.Replace()
	for i := range n {
		r.Put(strconv.Itoa(i), tr.make(n+i, "y"))
	}
	if r.Len() != n {
		t.Errorf("a replacement by %d objects, want %d", r.Len(), n)
	}
	expect("a replacement keeps no duplicates", n)
	r.Commit("")
	expect("replaced", n)

	w.Replace().Commit("")
	expect("emptied", 0)
	runtime.KeepAlive([]any{s, w, ix, order, r})
}

// Neither what Commit returned nor what it was given outlives the batch's next use.
func TestBatchLetsGoOfItsChanges(t *testing.T) {
	var tr tracked
	_, w := New(Options[*object]{})
	var b Batch[*object]
	b.Put("a", tr.make(1))
	w.Commit(&b)
	b.Delete("a")
	if changes := w.Commit(&b); changes[0].Old == nil || tr.alive() != 1 {
		t.Error("the change does not have the old object")
	}
	b.Put("b", nil)
	if n := tr.alive(); n != 0 {
		t.Errorf("%d objects in memory after the next use", n)
	}
	runtime.KeepAlive(w)
	runtime.KeepAlive(&b)
}

// The room that a very large first transaction needed is not kept.
func TestBatchLetsGoOfItsRoom(t *testing.T) {
	_, w := New(Options[*object]{})
	AddIndex(w, "first", firstValue)
	o := &object{values: []string{"v"}}
	var b Batch[*object]
	keys := make([]string, 50_000)
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	before := heap()
	for _, key := range keys {
		b.Put(key, o)
	}
	w.Commit(&b)
	b.Reset()
	if got := heap() - before; got > int64(len(keys))*70 {
		t.Errorf("%d bytes for %d objects in one index", got, len(keys))
	}
	runtime.KeepAlive(w)
	runtime.KeepAlive(keys)
	b.Put("a", nil)
}

// A store that has shrunk gives back what it needed for more.
func TestStoreGivesMemoryBack(t *testing.T) {
	const n = 50_000
	s, w := New(Options[*object]{Same: sameID})
	ix := AddIndex(w, "all", allValues)
	empty := heap()
	fill(w, n)
	full := heap() - empty
	keep := w.Replace()
	for i := range 100 {
		keep.Put(strconv.Itoa(i), &object{id: i})
	}
	keep.Commit("")
	if left := heap() - empty; left > full/10 {
		t.Errorf("%d bytes with %d objects, %d with 100 left", full, n, left)
	}
	runtime.KeepAlive([]any{s, w, ix})
}
