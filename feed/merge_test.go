package feed

import "testing"

func TestMerge(t *testing.T) {
	const none = Kind(0)
	add := func(n int) Change[int] { return Change[int]{Key: "k", Kind: Added, New: n} }
	upd := func(o, n int) Change[int] { return Change[int]{Key: "k", Kind: Updated, Old: o, New: n} }
	gone := func(o, last int) Change[int] { return Change[int]{Key: "k", Kind: Deleted, Old: o, New: last} }
	del := func(o int) Change[int] { return gone(o, o) }
	initial := func(c Change[int]) Change[int] { c.Initial = true; return c }
	lost := func(c Change[int]) Change[int] { c.Lost = true; return c }
	moved := func(c Change[int]) Change[int] { c.Moved = true; return c }

	for _, tc := range []struct {
		name         string
		older, newer Change[int]
		want         Change[int] // without Merged
	}{
		{"an add and an update are an add of the newest", add(1), upd(1, 2), add(2)},
		{"an add that was undone disappears", add(1), del(1), Change[int]{Kind: none}},
		{"an initial add that was undone disappears", initial(add(1)), lost(del(1)), Change[int]{Kind: none}},
		{"two updates are one from the first to the last", upd(1, 2), upd(2, 3), upd(1, 3)},
		{"an update and a delete are a delete of what was told, with the last state", upd(1, 2), del(2), gone(1, 2)},
		{"a delete that brings a newer last state keeps it", upd(1, 2), gone(2, 3), gone(1, 3)},
		{"an update from a deleted key starts at what was told", gone(1, 2), add(3), upd(1, 3)},
		{"a delete and an add are an update", del(1), add(2), upd(1, 2)},
		{"an initial add of a key that is known is a plain update", del(1), initial(add(2)), upd(1, 2)},
		{"an add stays initial", initial(add(1)), upd(1, 2), initial(add(2))},
		{"a deletion that was not seen stays lost", upd(1, 2), lost(del(2)), lost(gone(1, 2))},
		{"a deletion by moving away stays one", upd(1, 2), moved(del(2)), moved(gone(1, 2))},
		{"coming back from where it moved is an update", moved(del(1)), add(2), upd(1, 2)},
		{"coming back makes good for a lost delete", lost(del(1)), add(2), upd(1, 2)},
		// What no writer should append still merges by its ends.
		{"two adds", add(1), add(2), add(2)},
		{"an update and an add", upd(1, 2), add(3), upd(1, 3)},
		{"a delete and an update", del(1), upd(2, 3), upd(1, 3)},
		{"two deletes, of which the newer was seen", lost(del(1)), del(2), gone(1, 2)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, ok := Merge(tc.older, tc.newer)
			if ok != (tc.want.Kind != none) {
				t.Fatalf("Merge says %t", ok)
			}
			if ok {
				tc.want.Merged = true
			}
			if got != tc.want {
				t.Fatalf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestMergeWithAMergedDeleteKeepsItsLastState(t *testing.T) {
	first, ok := Merge(Change[int]{Kind: Updated, Old: 2, New: 3}, Change[int]{Kind: Deleted, Old: 3, New: 4})
	if !ok || first.New != 4 {
		t.Fatalf("got %+v, %t", first, ok)
	}
	all, ok := Merge(Change[int]{Kind: Updated, Old: 1, New: 2}, first)
	if want := (Change[int]{Kind: Deleted, Old: 1, New: 4, Merged: true}); !ok || all != want {
		t.Fatalf("got %+v, want %+v", all, want)
	}
}

// object is a key's state, or its absence.
type object struct {
	there bool
	state int
}

func (o object) apply(c Change[int]) object {
	if c.Kind == Deleted {
		return object{}
	}
	return object{true, c.New}
}

// runMerge folds the history that data says into as few changes as Merge allows and compares: who applies those knows at the
// end what one who applied each step knows, and is never told to start from a state that he does not have.
func runMerge(t *testing.T, data []byte) {
	t.Helper()
	s, w := &script{data}, world{state: map[string]int{}}
	var real object
	for range s.choose(3) {
		real = real.apply(w.change(s, 1)) // before the reader begins to lag
	}
	told := real
	var merged Change[int]
	var initial, waiting bool
	for !s.done() {
		c := w.change(s, 1)
		real = real.apply(c)
		if !waiting {
			merged, waiting, initial = c, true, c.Initial
			continue
		}
		merged, waiting = Merge(merged, c)
		if waiting && !merged.Merged {
			t.Fatalf("not marked as merged: %+v", merged)
		}
	}
	if waiting {
		switch wasThere, isThere := merged.Kind != Added, merged.Kind != Deleted; {
		case wasThere != told.there, isThere != real.there:
			t.Fatalf("%+v leads not from %+v to %+v", merged, told, real)
		case wasThere && merged.Old != told.state:
			t.Fatalf("%+v starts from a state that is not the one told, %+v", merged, told)
		case merged.Initial != (merged.Kind == Added && initial):
			t.Fatalf("%+v: began with Initial %t", merged, initial)
		}
		told = told.apply(merged)
	}
	if told != real {
		t.Fatalf("a reader of merged changes has %+v, should have %+v", told, real)
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 1, 0, 0, 0})
	f.Add([]byte{2, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 2})
	f.Fuzz(func(t *testing.T, data []byte) { runMerge(t, data) })
}

func TestMergeOfRandomHistories(t *testing.T) {
	forRandomScripts(t, 5000, 60, runMerge)
}
