package store

import (
	"maps"
	"runtime"
	"slices"
	"strconv"
	"testing"
)

func fill(w *Writer[*object], n int) {
	var b Batch[*object]
	for i := range n {
		b.Put(strconv.Itoa(i), &object{id: i, values: []string{strconv.Itoa(i % 10)}})
	}
	w.Commit(&b)
}

func TestReplacementKeepsTheSameAndReportsTheRest(t *testing.T) {
	s, w := New(Options[*object]{Same: sameID})
	ix := AddIndex(w, "first", firstValue)
	fill(w, 4)
	before := s.Snapshot()
	kept, _ := s.Get("1")
	r := w.Replace()
	changed, added := &object{id: 20}, &object{id: 30}
	r.Put("new", added)
	r.Put("2", changed)
	r.Put("1", &object{id: 1})
	if r.Len() != 3 {
		t.Errorf("Len() = %d", r.Len())
	}
	if s.Len() != 4 || s.Snapshot() != before {
		t.Error("the replacement can be seen before Commit")
	}
	zero, _ := before.Get("0")
	two, _ := before.Get("2")
	three, _ := before.Get("3")
	want := []Change[*object]{
		{Key: "0", Old: zero, HadOld: true}, {Key: "3", Old: three, HadOld: true},
		{Key: "new", New: added, HasNew: true}, {Key: "2", Old: two, HadOld: true, New: changed, HasNew: true},
	}
	if got := r.Commit("7"); !slices.Equal(got, want) {
		t.Errorf("changes %+v, want %+v", got, want)
	}
	if got := maps.Collect(s.Snapshot().All()); !maps.Equal(got, map[string]*object{"1": kept, "2": changed, "new": added}) {
		t.Errorf("content %v", got)
	}
	if s.Revision() != "7" || !slices.Equal(slices.Collect(ix.Values(s.Snapshot())), []string{"1"}) {
		t.Errorf("at %q, values %q", s.Revision(), slices.Collect(ix.Values(s.Snapshot())))
	}
	checkInvariants(t, w)
}

func TestReplacementThatIsDroppedChangesNothing(t *testing.T) {
	s, w := New(Options[*object]{Same: sameID})
	fill(w, 100)
	before := s.Snapshot()
	r := w.Replace()
	r.Put("1", &object{id: -1})
	r.Put("x", &object{id: -2})
	if s.Snapshot() != before {
		t.Error("the store changed")
	}
	commit(w, "y", &object{})
	if s.Len() != 101 {
		t.Errorf("%d objects, want 101", s.Len())
	}
	checkInvariants(t, w)
}

// What other commits do between Replace and Commit does not survive it, and is reported as undone.
func TestReplacementIsDiffedAgainstTheContentAtCommit(t *testing.T) {
	s, w := New(Options[*object]{Same: sameID})
	fill(w, 5)
	base := maps.Collect(s.Snapshot().All())
	r := w.Replace()
	for i := range 4 { // not "4"
		r.Put(strconv.Itoa(i), &object{id: i})
	}
	changed := &object{id: 50}
	var b Batch[*object]
	b.Put("0", changed)
	b.Delete("1")
	b.Put("2", &object{id: 2}) // another pointer, the Same
	b.Delete("4")
	b.Put("late", &object{id: 60})
	w.Commit(&b)
	late, _ := s.Get("late")
	two, _ := s.Get("2")
	got := r.Commit("")
	slices.SortFunc(got[1:], func(a, b Change[*object]) int { return int(a.Key[0]) - int(b.Key[0]) })
	want := []Change[*object]{
		{Key: "late", Old: late, HadOld: true},
		{Key: "0", Old: changed, HadOld: true, New: base["0"], HasNew: true},
		{Key: "1", New: base["1"], HasNew: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("changes %+v, want %+v", got, want)
	}
	if now := maps.Collect(s.Snapshot().All()); !maps.Equal(now, map[string]*object{"0": base["0"], "1": base["1"], "2": two, "3": base["3"]}) {
		t.Errorf("content %v", now)
	}
	checkInvariants(t, w)
}

func TestReplacementDeleteTakesAKeyOutAgain(t *testing.T) {
	s, w := New(Options[*object]{Same: sameID})
	fill(w, 3)
	r := w.Replace()
	r.Put("0", &object{id: 0})
	r.Put("1", &object{id: 10})
	r.Put("x", &object{id: 11})
	for _, key := range []string{"0", "1", "x", "2", "unknown"} {
		r.Delete(key)
	}
	if r.Len() != 0 {
		t.Errorf("Len() = %d, want 0", r.Len())
	}
	r.Put("1", &object{id: 1})
	if changes := r.Commit(""); len(changes) != 2 || s.Len() != 1 {
		t.Errorf("%d changes, %d objects", len(changes), s.Len())
	}
	checkInvariants(t, w)
}

func TestReplacementIsUsedOnce(t *testing.T) {
	_, w := New(Options[int]{})
	r := w.Replace()
	r.Commit("")
	defer func() {
		if recover() == nil {
			t.Error("a second Commit did not panic")
		}
		commit(w, "a", 1) // the writer is not stuck
	}()
	r.Commit("")
}

// If Same panics, nothing is half done, and the writer goes on.
func TestPanicInSameChangesNothing(t *testing.T) {
	angry := false
	s, w := New(Options[int]{Same: func(prev, next int) bool {
		if angry {
			panic("no")
		}
		return false
	}})
	commit(w, "a", 1)
	r := w.Replace()
	r.Put("b", 2)
	r.Put("a", 2)
	angry = true
	func() {
		defer func() {
			if recover() != "no" {
				t.Error("the panic was lost")
			}
		}()
		r.Commit("9")
	}()
	if got, _ := s.Get("a"); got != 1 || s.Len() != 1 || s.Revision() != "" || s.Snapshot().Version() != 1 {
		t.Errorf("a = %d, %d objects at %q", got, s.Len(), s.Revision())
	}
	checkInvariants(t, w)
	angry = false
	r.Commit("9")
	if got, _ := s.Get("a"); got != 2 || s.Len() != 2 {
		t.Errorf("a = %d, %d objects", got, s.Len())
	}
}

// A relist of what is there already costs next to nothing beside the objects themselves: no second map, no second index.
func TestReplacementByTheSameNeedsNoMemory(t *testing.T) {
	const n = 20_000
	_, w := New(Options[*object]{Same: sameID})
	AddIndex(w, "first", firstValue)
	fill(w, n)
	next, keys := make([]*object, n), make([]string, n)
	for i := range next {
		next[i], keys[i] = &object{id: i}, strconv.Itoa(i)
	}
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	relist := func() {
		r := w.Replace()
		for i := range next {
			r.Put(keys[i], next[i])
		}
		if changes := r.Commit("2"); len(changes) > n/100 {
			t.Errorf("%d changes", len(changes))
		}
	}
	if bytes := allocated(relist); bytes > n {
		t.Errorf("%d bytes allocated for %d unchanged objects", bytes, n)
	}
	for i := range n / 100 {
		next[i*100] = &object{id: -i - 1}
	}
	if bytes := allocated(relist); bytes > 40*n {
		t.Errorf("%d bytes allocated with %d of %d objects changed", bytes, n/100, n)
	}
	checkInvariants(t, w)
}
