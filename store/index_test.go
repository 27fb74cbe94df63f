package store

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// One odd object must take neither the process nor its neighbours down.
func TestIndexFunctionFailureIsLocalAndRepaired(t *testing.T) {
	for name, bad := range map[string]*object{
		"error": {values: []string{badError}},
		"panic": {values: []string{badPanic}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, w := New(Options[*object]{})
				ok := AddIndex(w, "ok", func(o *object) []string { return []string{"all"} })
				picky := AddIndex(w, "picky", allValues)
				good := &object{values: []string{"v"}}
				commit(w, "other", good)
				commit(w, "a", bad)
				began := time.Now()
				check := func(step string, failed bool) {
					t.Helper()
					checkInvariants(t, w)
					if _, there := s.Get("a"); !there || ok.Count(s.Snapshot(), "all") != 2 {
						t.Fatalf("%s: the object is not stored, or not in the other index", step)
					}
					if in := slices.Contains(keysOf(picky.Get(s.Snapshot(), "v")), "a"); in == failed {
						t.Fatalf("%s: in the index: %v", step, in)
					}
					list := s.Failures()
					if !failed {
						if len(list) != 0 {
							t.Fatalf("%s: failures %v", step, list)
						}
						return
					}
					if len(list) != 1 || list[0].Index != "picky" || list[0].Key != "a" || list[0].Err == nil || !list[0].Since.Equal(began) {
						t.Fatalf("%s: failures %v, want one since %v", step, list, began)
					}
				}
				check("bad", true)
				time.Sleep(time.Hour)
				commit(w, "a", &object{values: slices.Clone(bad.values)})
				check("still bad", true)
				commit(w, "a", good)
				check("repaired", false)
				time.Sleep(time.Hour)
				began = time.Now()
				commit(w, "a", bad)
				check("bad again", true)
				held := s.Snapshot()
				remove(w, "a")
				checkInvariants(t, w)
				if list := s.Failures(); len(list) != 0 {
					t.Fatalf("residue after the delete: %v", list)
				}
				if _, there := held.Get("a"); !there {
					t.Fatal("the snapshot lost the object")
				}
			})
		})
	}
}

func TestFailuresGoWithTheirIndex(t *testing.T) {
	s, w := New(Options[*object]{})
	commit(w, "a", &object{values: []string{badPanic}})
	ix := AddIndex(w, "picky", allValues)
	list := s.Failures()
	if len(list) != 1 || !strings.Contains(list[0].Err.Error(), "picky") || !strings.Contains(list[0].Err.Error(), "worse object") {
		t.Fatalf("failures %v", list)
	}
	w.RemoveIndex(ix)
	w.RemoveIndex(ix)
	if list := s.Failures(); len(list) != 0 {
		t.Errorf("failures of an index that is gone: %v", list)
	}
}

func TestValueThatNobodyHasAnyMoreLeavesNothing(t *testing.T) {
	s, w := New(Options[*object]{})
	ix := AddIndex(w, "all", allValues)
	commit(w, "a", &object{values: []string{"x", "y"}})
	commit(w, "b", &object{values: []string{"y"}})
	commit(w, "a", &object{values: []string{"z"}})
	if got := slices.Sorted(ix.Values(s.Snapshot())); !slices.Equal(got, []string{"y", "z"}) {
		t.Errorf("values %q", got)
	}
	remove(w, "a")
	remove(w, "b")
	if x := w.indexes[0]; x.values.n != 0 || slices.Collect(ix.Values(s.Snapshot())) != nil {
		t.Errorf("%d values are left", x.values.n)
	}
	checkInvariants(t, w)
}

func TestRepeatedValuesCountOnceInAnyOrder(t *testing.T) {
	s, w := New(Options[*object]{})
	ix := AddIndex(w, "all", allValues)
	given := []string{"b", "a", "b", "a"}
	commit(w, "k", &object{values: given})
	if ix.Count(s.Snapshot(), "a") != 1 || ix.Count(s.Snapshot(), "b") != 1 {
		t.Error("a repeated value counts twice")
	}
	if !slices.Equal(given, []string{"b", "a", "b", "a"}) {
		t.Errorf("the function's slice was changed: %q", given)
	}
	before := s.Snapshot()
	commit(w, "k", &object{values: []string{"a", "b"}})
	if s.Snapshot().index(ix).values != before.index(ix).values {
		t.Error("the same values in another order touched the index")
	}
	checkInvariants(t, w)
}

func TestUpdateWithTheSameValuesTouchesNoIndex(t *testing.T) {
	s, w := New(Options[*object]{})
	one, all := AddIndex(w, "first", firstValue), AddIndex(w, "all", allValues)
	values := []string{"a", "b", "c"}
	commit(w, "k", &object{values: values})
	before := s.Snapshot()
	commit(w, "k", &object{id: 1, values: slices.Clone(values)})
	after := s.Snapshot()
	for _, ix := range []*Index[*object]{one, all} {
		if after.index(ix).values != before.index(ix).values {
			t.Errorf("index %q was copied", ix.Name())
		}
	}
	if o, _ := after.Get("k"); o.id != 1 {
		t.Error("the object was not updated")
	}
}

// Index entries are removed by what the object was indexed under, not by what its function says of it by now.
func TestIndexSurvivesObjectsModifiedInPlace(t *testing.T) {
	s, w := New(Options[*object]{})
	ix := AddIndex(w, "all", allValues)
	o := &object{values: []string{"a", "b"}}
	commit(w, "k", o)
	o.values[0], o.values[1] = "x", "y"
	commit(w, "k", &object{values: []string{"c"}})
	if got := slices.Sorted(ix.Values(s.Snapshot())); !slices.Equal(got, []string{"c"}) {
		t.Errorf("values %q, want c alone", got)
	}
	checkInvariants(t, w)
}

func TestIndexIsInSnapshotsFromAddToRemove(t *testing.T) {
	s, w := New(Options[*object]{})
	commit(w, "a", &object{values: []string{"v"}})
	commit(w, "bad", &object{values: []string{badPanic}})
	before := s.Snapshot()
	ix := AddIndex(w, "all", allValues)
	during := s.Snapshot()
	w.RemoveIndex(ix)
	after := s.Snapshot()
	if before.index(ix) != nil || during.index(ix) == nil || after.index(ix) != nil {
		t.Error("the index is in the wrong snapshots")
	}
	for _, snapshot := range []*Snapshot[*object]{before, during, after} {
		if got := keysOf(ix.Get(snapshot, "v")); !slices.Equal(got, []string{"a"}) || ix.Count(snapshot, "v") != 1 || snapshot.Count(ix.Is("v")) != 1 {
			t.Errorf("version %d: %q", snapshot.Version(), got)
		}
	}
}

func TestIndexesMayShareANameAndAnIndexFunctionItsResult(t *testing.T) {
	s, w := New(Options[int]{})
	shared := make([]string, 1)
	a := AddIndex(w, "n", func(i int) []string { shared[0] = "a"; return shared })
	b := AddIndex(w, "n", func(i int) ([]string, error) { shared[0] = "b"; return shared, nil })
	var batch Batch[int]
	batch.Put("x", 1)
	batch.Put("y", 2)
	w.Commit(&batch)
	if a.Count(s.Snapshot(), "a") != 2 || b.Count(s.Snapshot(), "b") != 2 || a.Count(s.Snapshot(), "b") != 0 {
		t.Error("the indexes are mixed up")
	}
}

func TestIndexOf(t *testing.T) {
	_, w := New(Options[*object]{})
	ix := AddIndex(w, "all", allValues)
	if got, err := ix.Of(&object{values: []string{"b", "a"}}); err != nil || !slices.Equal(got, []string{"b", "a"}) {
		t.Errorf("Of = %q, %v", got, err)
	}
	for _, bad := range []string{badError, badPanic} {
		if got, err := ix.Of(&object{values: []string{bad}}); err == nil || len(got) > 0 && bad == badPanic {
			t.Errorf("Of(%s) = %q, %v", bad, got, err)
		}
	}
}

// Users' functions run while no reader has to wait: they may read the store.
func TestUserFunctionsMayReadTheStore(t *testing.T) {
	var s *Store[*object]
	read := func() {
		s.Get("a")
		s.Failures()
		for range s.Snapshot().All() {
			break
		}
	}
	s, w := New(Options[*object]{Same: func(prev, next *object) bool { read(); return sameID(prev, next) }})
	AddIndex(w, "all", func(o *object) ([]string, error) { read(); return nil, errors.New("none") })
	for n := range 100 {
		commit(w, "a", &object{id: n})
		r := w.Replace()
		for i := range n {
			r.Put(string(rune('a'+i)), &object{id: i})
		}
		r.Commit("")
	}
	AddIndex(w, "late", func(o *object) []string { read(); return []string{"x"} })
	checkInvariants(t, w)
}
