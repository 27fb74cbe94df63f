package ownwrites

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// put puts writes, and says how the table holds everything afterwards.
func put(t testing.TB, table *Table[object], texts ...string) string {
	t.Helper()
	for _, text := range texts {
		table.Put(write(t, text))
	}
	return describe(table)
}

// describe lists the writes by key: "-" is a deletion, "?" an evicted one.
func describe(table *Table[object]) string {
	var all []string
	for _, w := range table.All() {
		all = append(all, [...]string{Held: "", Evicted: "?", Deletion: "-"}[w.Kind]+w.Key+"@"+w.Version)
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(strings.Trim(a, "-?"), strings.Trim(b, "-?")) })
	return strings.Join(all, " ")
}

func check(t testing.TB, what, want, got string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// saw says what the store has under a key; "" is nothing.
func saw(table *Table[object], key, stored string) {
	if w, ok := table.Get(key); ok {
		table.Saw(w, obj(stored), stored != "", "")
	}
}

func TestTableForgetsAfterTheTTL(t *testing.T) {
	table := NewTable[object](Options{Max: 1, TTL: time.Minute})
	at := func(seconds int) { table.Tick(time.Unix(1_000_000, 0).Add(time.Duration(seconds) * time.Second)) }
	at(0)
	put(t, table, "a@9", "-b@8")
	at(20)
	check(t, "all", "?a@9 -b@8 c@5", func() string { put(t, table, "c@5"); table.Evict(); return describe(table) }())
	at(40)
	check(t, "written again", "?a@9 -b@8 c@6", put(t, table, "c@6"))
	at(59)
	check(t, "in time", "?a@9 -b@8 c@6", describe(table))
	at(60)
	check(t, "an evicted write lives as long as any", "c@6", describe(table))
	saw(table, "c", "c@4")
	at(99)
	saw(table, "c", "")
	check(t, "its deletion is seen", "-c@6", describe(table))
	at(158)
	check(t, "and remembered, from then on", "-c@6", describe(table))
	at(159)
	check(t, "for the TTL", "", describe(table))
}

func TestTableWithTTLRemembersDeletions(t *testing.T) {
	table := NewTable[object](Options{Max: 2, TTL: time.Minute})
	table.Tick(time.Unix(1_000_000, 0))
	check(t, "no more than Max", "-b@6 -c@7", put(t, table, "-a@5", "-b@6", "-c@7"))
	saw(table, "b", "")
	saw(table, "c", "c@9/y")
	check(t, "when they are seen", "-b@6 -c@7", describe(table))
	put(t, table, "d@5/x", "e@5/x")
	saw(table, "d", "d@5/x")
	saw(table, "e", "e@6/y")
	check(t, "but not writes", "-b@6 -c@7", describe(table))
}

func TestTableWithoutTTLForgetsWhatWasSeen(t *testing.T) {
	table := NewTable[object](Options{Max: 2})
	put(t, table, "-a@5/x", "-b@5/x", "c@5/x", "d@5/x")
	for _, key := range []string{"a", "c"} {
		saw(table, key, key+"@4/x")
		saw(table, key, "")
	}
	check(t, "deleted", "-b@5 d@5", describe(table))
	saw(table, "b", "b@8/y")
	saw(table, "d", "d@8/y")
	check(t, "replaced", "", describe(table))
}

func TestTableEvictsTheOldestWrites(t *testing.T) {
	table := NewTable[object](Options{Max: 2})
	put(t, table, "a@7", "b@5")
	if table.Crowd() != nil {
		t.Error("there is room")
	}
	put(t, table, "c@6", "-d@1")
	if len(table.Crowd()) != 4 {
		t.Errorf("crowd: %v", table.Crowd())
	}
	table.Evict()
	check(t, "the lowest version", "a@7 ?b@5 c@6 -d@1", describe(table))
	if w, _ := table.Get("b"); w.Obj != nil || table.Crowd() != nil {
		t.Errorf("holds on to %v", w.Obj)
	}
	check(t, "an earlier write of what was evicted", "a@7 ?b@5 c@6 -d@1", put(t, table, "b@4"))
	check(t, "a later one", "a@7 b@8 c@6 -d@1", put(t, table, "b@8"))
	table.Evict()
	check(t, "the next", "a@7 b@8 ?c@6 -d@1", describe(table))
	table.Reached("6", func(string) (object, bool) { return nil, false })
	check(t, "seen", "a@7 b@8", describe(table))
}

func TestTableIsFullForOtherKeysOnly(t *testing.T) {
	table := NewTable[object](Options{Max: 2})
	put(t, table, "a@5", "-b@6")
	if table.Full("a") || table.Full("b") || !table.Full("c") || table.Len() != 2 {
		t.Errorf("full for a, b, c: %t, %t, %t", table.Full("a"), table.Full("b"), table.Full("c"))
	}
}

// Between looking at a write and deciding about it, another one can come.
func TestADecisionAboutAWriteDoesNotConcernALaterOne(t *testing.T) {
	table := NewTable[object](Options{Max: 2})
	put(t, table, "a@5/x")
	first, _ := table.Get("a")
	put(t, table, "a@6/x")
	if s := table.Saw(first, obj("a@5/x"), true, ""); s != Settled {
		t.Errorf("the first is %s", names[s])
	}
	check(t, "the second", "a@6", describe(table))
	saw(table, "a", "")
	check(t, "the second, of which nobody saw a former state", "a@6", describe(table))
	saw(table, "a", "a@5/x")
	check(t, "a later one knows what the one before did", "a@7", put(t, table, "a@7/x"))
	saw(table, "a", "")
	check(t, "deleted", "", describe(table))
}

func TestOverClosesWhenAWriteIsNotHeldAnyMore(t *testing.T) {
	table := NewTable[object](Options{Max: 2})
	if table.Over("a") != nil {
		t.Error("there is nothing to wait for")
	}
	over := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	for name, end := range map[string]func(){
		"seen":      func() { saw(table, "a", "a@5") },
		"written":   func() { put(t, table, "a@6") },
		"reached":   func() { table.Reached("5", func(string) (object, bool) { return nil, false }) },
		"forgotten": table.Clear,
	} {
		table.Clear()
		put(t, table, "a@5", "b@5")
		first, second := table.Over("a"), table.Over("a")
		put(t, table, "a@4")
		saw(table, "a", "a@4")
		if over(first) || over(second) {
			t.Errorf("%s: too early", name)
		}
		if end(); !over(first) || !over(second) {
			t.Errorf("%s: not at all", name)
		}
	}
}

// valueIndex finds an object by its labels' values and fails on one with the label "bad".
type valueIndex struct{ name string } // of some size, so that two are not one

func (*valueIndex) Of(o object) ([]string, error) {
	if o.Labels["bad"] != "" {
		return nil, errors.New("bad")
	}
	return slices.Collect(maps.Values(o.Labels)), nil
}

func under(table *Table[object], ix Index[object], value string) string {
	var keys []string
	for w := range table.Under(ix, value) {
		keys = append(keys, w.Key+"@"+w.Version)
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

func TestTableFindsWritesByIndex(t *testing.T) {
	early, late := &valueIndex{"early"}, &valueIndex{"late"}
	table := NewTable[object](Options{Max: 2})
	table.Use(early)
	labelled := func(text string, labels ...string) {
		w := write(t, text)
		w.Obj.Labels = map[string]string{}
		for _, l := range labels {
			w.Obj.Labels[l] = l
		}
		table.Put(w)
	}
	labelled("a@5", "v", "w")
	labelled("b@6", "v")
	labelled("c@7", "v", "bad")
	labelled("d@8", "w")
	put(t, table, "-e@9")
	table.Use(late)
	table.Use(late)
	for _, ix := range []Index[object]{early, late} {
		check(t, "v", "a@5 b@6", under(table, ix, "v"))
		check(t, "w", "a@5 d@8", under(table, ix, "w"))
	}
	for range table.Under(early, "v") {
		break
	}
	b, _ := table.Get("b")
	b.Obj.Labels["v"] = "changed in place"
	labelled("b@9", "w")
	labelled("d@9", "bad")
	put(t, table, "-a@5")
	check(t, "v", "", under(table, early, "v"))
	check(t, "w", "b@9", under(table, early, "w"))
	table.Evict()
	table.Clear()
	for ix, in := range table.indexes {
		if !table.Uses(ix) || len(in.byValue)+len(in.values) != 0 {
			t.Errorf("left in an index: %v", in)
		}
	}
}

// A history has what happened to all objects, one version each. The model of what is to be shown of a key is the state at
// that version which the store has seen or, if later, that of the last own write to the key that was told.
type history struct {
	versions []map[string]object // versions[v] are all objects at version v
	told     map[string]int
	seen     int
	table    *Table[object]
}

func (h *history) stored(key string) (object, bool) {
	o, ok := h.versions[h.seen][key]
	return o, ok
}

// happen lets something happen to a key, and returns how to tell of it.
func (h *history) happen(key, value string, deleted, known bool) (tell func(t *testing.T)) {
	version := len(h.versions)
	now := maps.Clone(h.versions[version-1])
	h.versions = append(h.versions, now)
	former := now[key]
	uid := fmt.Sprint("u", version)
	if former != nil {
		uid = string(former.UID)
	}
	if deleted {
		delete(now, key)
		if former == nil {
			return nil
		}
		for v := version - 1; !known && h.versions[v][key] != nil && h.versions[v][key].UID == former.UID; v-- {
			former = h.versions[v][key] // who deletes it knows no later state than its first
		}
		return func(t *testing.T) { h.tell(t, version, write(t, "-"+key+"@"+former.ResourceVersion+"/"+uid)) }
	}
	o := obj(fmt.Sprintf("%s@%d/%s", key, version, uid))
	o.Labels = map[string]string{"v": value}
	now[key] = o
	return func(t *testing.T) {
		w, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		h.tell(t, version, w)
	}
}

func (h *history) tell(t *testing.T, version int, w Write[object]) {
	h.told[w.Key] = max(h.told[w.Key], version)
	current, had := h.stored(w.Key)
	if w.Against(current, had, fmt.Sprint(h.seen)).Unseen() {
		h.table.Put(w)
	}
}

// see lets the store see the next versions, all at once, as by a list.
func (h *history) see(n int) {
	before := h.versions[h.seen]
	h.seen = min(h.seen+n, len(h.versions)-1)
	now := h.versions[h.seen]
	for key, w := range h.table.All() {
		if before[key] != now[key] {
			w.Against(before[key], before[key] != nil, "")
			h.table.Saw(w, now[key], now[key] != nil, "")
		}
	}
	h.table.Reached(fmt.Sprint(h.seen), h.stored)
}

func (h *history) check(t *testing.T, key string, ix Index[object]) {
	t.Helper()
	want := h.versions[max(h.seen, h.told[key])][key]
	got, ok := h.stored(key)
	w, written := h.table.Get(key)
	if written {
		got, ok = w.Show(got, ok, fmt.Sprint(h.seen))
	}
	if got != want || ok != (want != nil) {
		t.Fatalf("%s, seen %d, told %d: shows %v, want %v", key, h.seen, h.told[key], got, want)
	}
	for _, value := range []string{"v0", "v1"} {
		found := strings.Contains(under(h.table, ix, value), key)
		if has := written && w.Kind == Held && w.Obj.Labels["v"] == value; found != has {
			t.Fatalf("%s under %s: found %t, want %t", key, value, found, has)
		}
	}
}

func runHistory(t *testing.T, script []byte) {
	ix := &valueIndex{"v"}
	h := &history{
		versions: []map[string]object{{}, {}}, seen: 1, told: map[string]int{}, table: NewTable[object](Options{Max: 1000}),
	}
	h.table.Use(ix)
	var late []func(t *testing.T)
	for _, b := range script {
		key, variant := string(rune('a'+b&1)), int(b>>1&3)
		switch what := b >> 3 & 7; what {
		case 0, 1, 2, 3:
			tell := h.happen(key, fmt.Sprint("v", variant&1), what == 3, variant&1 == 0)
			switch {
			case tell == nil || variant == 3: // by somebody else
			case variant == 2:
				late = append(late, tell)
			default:
				tell(t)
			}
		case 4:
			if n := len(late); n > 0 {
				late[variant%n](t)
				late = slices.Delete(late, variant%n, variant%n+1)
			}
		default:
			h.see(1 + variant)
		}
		for _, key := range []string{"a", "b"} {
			h.check(t, key, ix)
		}
	}
	for h.seen+1 < len(h.versions) {
		h.see(1)
		h.check(t, "a", ix)
		h.check(t, "b", ix)
	}
	for _, tell := range late {
		tell(t)
	}
	check(t, "when all is seen", "", describe(h.table))
}

func TestTableAgainstAModel(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		script := make([]byte, 200)
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		runHistory(t, script)
	}
}

func FuzzTable(f *testing.F) {
	f.Add([]byte("\x00\x08\x18\x30\x38 some things happen and are seen"))
	f.Fuzz(func(t *testing.T, script []byte) { runHistory(t, script[:min(len(script), 500)]) })
}
