package store

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func commit[T any](w *Writer[T], key string, obj T) []Change[T] {
	var b Batch[T]
	b.Put(key, obj)
	return w.Commit(&b)
}

func remove[T any](w *Writer[T], key string) []Change[T] {
	var b Batch[T]
	b.Delete(key)
	return w.Commit(&b)
}

func keysOf[T any](seq func(func(string, T) bool)) []string {
	var keys []string
	for key := range seq {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// The package knows nothing of Kubernetes, and needs nothing but the standard library.
func TestImportsOnlyTheStandardLibrary(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		checked++
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range parsed.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") {
				t.Errorf("%s imports %s", f.Name(), path)
			}
		}
	}
	if checked == 0 {
		t.Error("no files checked")
	}
}

func TestEmptyStore(t *testing.T) {
	s, w := New(Options[int]{})
	snapshot := s.Snapshot()
	if _, ok := s.Get("a"); ok || s.Len() != 0 || s.Revision() != "" || len(s.Failures()) != 0 {
		t.Error("a new store is not empty")
	}
	if _, ok := snapshot.Get("a"); ok || snapshot.Len() != 0 || snapshot.Version() != 0 || snapshot.Revision() != "" {
		t.Error("the first snapshot is not empty")
	}
	for key := range snapshot.All() {
		t.Errorf("the first snapshot has %q", key)
	}
	if w.Store() != s {
		t.Error("the writer has another store")
	}
	checkInvariants(t, w)
}

func TestAnyTypeAndAnyKeyCanBeStored(t *testing.T) {
	s, w := New(Options[any]{})
	ix := AddIndex(w, "empty", func(obj any) []string { return []string{""} })
	want := map[string]any{"": nil, "a": 1, "b": "two", "c\x00": &struct{ x int }{3}}
	for key, obj := range want {
		commit(w, key, obj)
	}
	if got := maps.Collect(s.Snapshot().All()); !maps.Equal(got, want) {
		t.Errorf("All: %v, want %v", got, want)
	}
	for key, obj := range want {
		if got, ok := s.Get(key); !ok || got != obj {
			t.Errorf("Get(%q) = %v, %v, want %v", key, got, ok, obj)
		}
	}
	if n := ix.Count(s.Snapshot(), ""); n != len(want) {
		t.Errorf("%d objects under the empty value, want %d", n, len(want))
	}
	checkInvariants(t, w)

	pointers, pw := New(Options[*int]{})
	commit(pw, "nil", nil)
	if got, ok := pointers.Get("nil"); got != nil || !ok {
		t.Errorf("Get = %v, %v, want a stored nil", got, ok)
	}
	if got := maps.Collect(pointers.Snapshot().All()); len(got) != 1 || got["nil"] != nil {
		t.Errorf("All = %v, want a stored nil", got)
	}
	if got := remove(pw, "nil"); len(got) != 1 || got[0].Old != nil || pointers.Len() != 0 {
		t.Errorf("changes %v", got)
	}

	type point struct{ x, y int }
	values, vw := New(Options[point]{})
	commit(vw, "p", point{1, 2})
	if got, _ := values.Get("p"); got != (point{1, 2}) {
		t.Errorf("Get = %v", got)
	}
}

func TestCommitReportsWhatItDidInTheOrderOfItsOperations(t *testing.T) {
	_, w := New(Options[int]{})
	commit(w, "kept", 1)
	commit(w, "gone", 2)
	var b Batch[int]
	b.Put("twice", 1)
	b.Put("new", 3)
	b.Delete("gone")
	b.Delete("absent")
	b.Put("kept", 4)
	b.Put("undone", 5)
	b.Delete("undone")
	b.Put("twice", 6)
	if b.Len() != 6 {
		t.Errorf("Len() = %d, want 6", b.Len())
	}
	want := []Change[int]{
		{Key: "new", New: 3, HasNew: true},
		{Key: "gone", Old: 2, HadOld: true},
		{Key: "kept", Old: 1, HadOld: true, New: 4, HasNew: true},
		{Key: "twice", New: 6, HasNew: true},
	}
	if got := w.Commit(&b); !slices.Equal(got, want) {
		t.Errorf("changes %+v, want %+v", got, want)
	}
	if b.Len() != 0 || b.Revision != "" {
		t.Errorf("the batch is not empty after Commit: %d, %q", b.Len(), b.Revision)
	}
	if got := w.Commit(&b); len(got) != 0 {
		t.Errorf("an empty batch changed %+v", got)
	}
}

// Fakes send new states under an unchanged resource version: what a batch puts is a change whatever Same says.
func TestBatchDoesNotAskSame(t *testing.T) {
	s, w := New(Options[*object]{Same: sameID})
	next := &object{id: 1, values: []string{"b"}}
	commit(w, "a", &object{id: 1, values: []string{"a"}})
	if got := commit(w, "a", next); len(got) != 1 {
		t.Errorf("%d changes, want 1", len(got))
	}
	if got, _ := s.Get("a"); got != next {
		t.Errorf("Get = %v, want %v", got, next)
	}
}

func TestRevisionIsReadTogetherWithItsData(t *testing.T) {
	s, w := New(Options[int]{})
	var b Batch[int]
	b.Revision = "10"
	b.Put("a", 1)
	w.Commit(&b)
	before := s.Snapshot()
	b.Revision = "12" // a bookmark
	w.Commit(&b)
	b.Put("a", 2) // says no revision
	w.Commit(&b)
	if before.Revision() != "10" || before.Version() != 1 {
		t.Errorf("the snapshot moved to version %d at %q", before.Version(), before.Revision())
	}
	if s.Revision() != "12" || s.Snapshot().Revision() != "12" || s.Snapshot().Version() != 3 {
		t.Errorf("store at %q, snapshot at %q, version %d", s.Revision(), s.Snapshot().Revision(), s.Snapshot().Version())
	}
}

func TestSnapshotOfOneVersionIsMadeOnce(t *testing.T) {
	s, w := New(Options[int]{})
	commit(w, "a", 1)
	if s.Snapshot() != s.Snapshot() {
		t.Error("two snapshots of one version differ")
	}
	old := s.Snapshot()
	commit(w, "a", 1)
	if s.Snapshot() == old {
		t.Error("a commit made no new version")
	}
}

func TestIterationsStopWhenAsked(t *testing.T) {
	s, w := New(Options[int]{})
	ix := AddIndex(w, "all", func(i int) []string { return []string{"x", "y"} })
	order := AddOrder(w)
	var b Batch[int]
	for i := range 5000 {
		b.Put(strconv.Itoa(i), i)
	}
	w.Commit(&b)
	snapshot := s.Snapshot()
	for name, seq := range map[string]func(func(string, int) bool){
		"All": snapshot.All(), "Index.Get": ix.Get(snapshot, "x"), "Select": snapshot.Select(ix.Is("x")), "Range": order.Range(snapshot, "", ""),
	} {
		n := 0
		for range seq {
			if n++; n == 7 {
				break
			}
		}
		if n != 7 {
			t.Errorf("%s: %d steps", name, n)
		}
	}
	for range ix.Values(snapshot) {
		break
	}
}

// Slots of deleted objects are used again; snapshots that show the old objects there do not notice.
func TestSlotsAreUsedAgainUnderSnapshots(t *testing.T) {
	s, w := New(Options[int]{})
	ix := AddIndex(w, "parity", func(i int) []string { return []string{strconv.Itoa(i % 2)} })
	var b Batch[int]
	var snapshots []*Snapshot[int]
	for round := range 20 {
		for i := range 100 {
			b.Delete(strconv.Itoa((round-1)*100 + i))
			b.Put(strconv.Itoa(round*100+i), round*100+i)
		}
		w.Commit(&b)
		snapshots = append(snapshots, s.Snapshot())
	}
	if top := w.objects.slots.top; top > 200 {
		t.Errorf("%d slots for 100 objects", top)
	}
	for round, snapshot := range snapshots {
		for i := range 2000 {
			obj, ok := snapshot.Get(strconv.Itoa(i))
			if want := i/100 == round; ok != want || ok && obj != i {
				t.Fatalf("round %d: Get(%d) = %d, %v", round, i, obj, ok)
			}
		}
		if n := ix.Count(snapshot, "1"); n != 50 {
			t.Errorf("round %d: %d odd objects", round, n)
		}
	}
	checkInvariants(t, w)
}

// A put of what is older than what is stored is no change; one of what is not stored is, and so is every deletion.
func TestOlderPutsAreLeftOut(t *testing.T) {
	s, w := New(Options[int]{})
	ix := AddIndex(w, "itself", func(n int) []string { return []string{strconv.Itoa(n)} })
	b := Batch[int]{Older: func(prev, next int) bool { return next < prev }}
	step := func(want ...Change[int]) {
		t.Helper()
		if got := w.Commit(&b); !slices.Equal(got, want) {
			t.Errorf("changes %+v, want %+v", got, want)
		}
		checkInvariants(t, w)
	}
	b.Put("a", 5)
	b.Put("b", 5)
	step(Change[int]{Key: "a", New: 5, HasNew: true}, Change[int]{Key: "b", New: 5, HasNew: true})
	b.Put("a", 4)
	b.Put("b", 6)
	b.Put("c", 1)
	step(Change[int]{Key: "b", Old: 5, New: 6, HadOld: true, HasNew: true}, Change[int]{Key: "c", New: 1, HasNew: true})
	b.Put("a", 4)
	b.Delete("a")
	b.Put("b", 6)
	step(Change[int]{Key: "a", Old: 5, HadOld: true}, Change[int]{Key: "b", Old: 6, New: 6, HadOld: true, HasNew: true})
	b.Put("b", 1)
	b.Older = nil
	step(Change[int]{Key: "b", Old: 6, New: 1, HadOld: true, HasNew: true})
	if got := ix.Objects(s.Snapshot(), "1"); !slices.Equal(got, []int{1, 1}) {
		t.Errorf("found %v", got)
	}
}
