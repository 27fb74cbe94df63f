package store

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
)

// labelled is an object with Kubernetes-like labels, indexed as "key" and "key\x00value".
type labelled struct{ labels map[string]string }

func labelValues(o labelled) []string {
	var values []string
	for k, v := range o.labels {
		values = append(values, k, k+"\x00"+v)
	}
	return values
}

func TestQueryTable(t *testing.T) {
	s, w := New(Options[labelled]{})
	ix := AddIndex(w, "labels", labelValues)
	for key, labels := range map[string]map[string]string{
		"a": {"app": "web", "tier": "front"},
		"b": {"app": "web", "tier": "back"},
		"c": {"app": "db"},
		"d": {},
	} {
		commit(w, key, labelled{labels})
	}
	is := func(values ...string) Query[labelled] { return ix.Is(values...) }
	web, db, front, tier := is("app\x00web"), is("app\x00db"), is("tier\x00front"), is("tier")
	for name, c := range map[string]struct {
		q    Query[labelled]
		want string
	}{
		"zero value":               {Query[labelled]{}, "abcd"},
		"equality":                 {web, "ab"},
		"in":                       {is("app\x00web", "app\x00db"), "abc"},
		"in, value twice":          {is("app\x00web", "app\x00web"), "ab"},
		"in nothing":               {is(), ""},
		"absent value":             {is("app\x00cache"), ""},
		"exists":                   {tier, "ab"},
		"not exists":               {Not(tier), "cd"},
		"not in":                   {Not(is("app\x00web", "app\x00db")), "d"},
		"not equal":                {Not(web), "cd"},
		"and":                      {And(web, front), "a"},
		"and of disjoint":          {And(web, db), ""},
		"and of none":              {And[labelled](), "abcd"},
		"and of one":               {And(web), "ab"},
		"and with not":             {And(web, Not(front)), "b"},
		"and of nots only":         {And(Not(front), Not(db)), "bd"},
		"and with absent":          {And(web, is("app\x00cache")), ""},
		"or":                       {Or(front, db), "ac"},
		"or of none":               {Or[labelled](), ""},
		"or with not":              {Or(front, Not(web)), "acd"},
		"or of overlapping":        {Or(web, tier, front), "ab"},
		"not of nothing":           {Not(Or[labelled]()), "abcd"},
		"not of all":               {Not(And[labelled]()), ""},
		"not of not":               {Not(Not(web)), "ab"},
		"nested":                   {And(Or(front, db), Not(And(web, tier))), "c"},
		"nested and in and, or":    {And(And(web, tier), Or(front, And(db, tier))), "a"},
		"not inside or inside and": {And(tier, Or(Not(front), db)), "b"},
	} {
		got := keysOf(s.Snapshot().Select(c.q))
		if want := slices.Collect(func(yield func(string) bool) {
			for _, r := range c.want {
				yield(string(r))
			}
		}); !slices.Equal(got, want) || s.Snapshot().Count(c.q) != len(want) {
			t.Errorf("%s: %q (%d), want %q", name, got, s.Snapshot().Count(c.q), want)
		}
	}
}

// A query holds what it was made of: changing the slices afterwards does not change it.
func TestQueryIsAValue(t *testing.T) {
	s, w := New(Options[labelled]{})
	ix := AddIndex(w, "labels", labelValues)
	commit(w, "a", labelled{map[string]string{"app": "web"}})
	values := []string{"app"}
	parts := []Query[labelled]{ix.Is(values...)}
	and, or := And(parts...), Or(parts...)
	values[0] = "none"
	parts[0] = ix.Is("none")
	if s.Snapshot().Count(and) != 1 || s.Snapshot().Count(or) != 1 {
		t.Error("the query changed with its caller's slice")
	}
}

// Over blocks, with dense and sparse sets, and the order of All.
func TestQueryOverManyBlocks(t *testing.T) {
	s, w := New(Options[int]{})
	mod := AddIndex(w, "mod", func(i int) []string {
		return []string{"2:" + strconv.Itoa(i%2), "3:" + strconv.Itoa(i%3), "5000:" + strconv.Itoa(i%5000), "block:" + strconv.Itoa(i/6000)}
	})
	var b Batch[int]
	for i := range 20_000 {
		b.Put(strconv.Itoa(i), i)
	}
	w.Commit(&b)
	for name, c := range map[string]struct {
		q     Query[int]
		wants func(i int) bool
	}{
		"dense and dense":     {And(mod.Is("2:0"), mod.Is("3:0")), func(i int) bool { return i%6 == 0 }},
		"dense and sparse":    {And(mod.Is("2:1"), mod.Is("5000:7")), func(i int) bool { return i%5000 == 7 && i%2 == 1 }},
		"sparse but dense":    {And(mod.Is("5000:8"), Not(mod.Is("3:1"))), func(i int) bool { return i%5000 == 8 && i%3 != 1 }},
		"dense or sparse":     {Or(mod.Is("3:2"), mod.Is("5000:1", "5000:3")), func(i int) bool { return i%3 == 2 || i%5000 == 1 || i%5000 == 3 }},
		"neither":             {And(Not(mod.Is("2:0")), Not(mod.Is("3:0"))), func(i int) bool { return i%2 != 0 && i%3 != 0 }},
		"in some blocks only": {And(mod.Is("block:1", "block:3"), mod.Is("2:0")), func(i int) bool { return (i/6000 == 1 || i/6000 == 3) && i%2 == 0 }},
	} {
		var want, got []int
		for _, i := range s.Snapshot().All() {
			if c.wants(i) {
				want = append(want, i)
			}
		}
		for key, i := range s.Snapshot().Select(c.q) {
			if key != strconv.Itoa(i) {
				t.Fatalf("%s: %d under %q", name, i, key)
			}
			got = append(got, i)
		}
		if !slices.Equal(got, want) || s.Snapshot().Count(c.q) != len(want) {
			t.Errorf("%s: %d objects, Count %d, want %d", name, len(got), s.Snapshot().Count(c.q), len(want))
		}
	}
}

func TestOrderPagesAreStableWhileObjectsComeAndGo(t *testing.T) {
	s, w := New(Options[int]{})
	order := AddOrder(w)
	var b Batch[int]
	for i := range 1000 {
		b.Put(fmt.Sprintf("%04d", i*2), i*2)
	}
	w.Commit(&b)
	var seen []string
	from := ""
	for page := 0; ; page++ {
		n := 0
		for key := range order.Range(s.Snapshot(), from, "") {
			seen = append(seen, key)
			from = key + "\x00"
			if n++; n == 64 {
				break
			}
		}
		if n == 0 {
			break
		}
		commit(w, fmt.Sprintf("%04d", page*64+1), 0)     // before the place that was reached
		remove(w, fmt.Sprintf("%04d", (page*128+60)&^1)) // behind it, mostly
	}
	for i := range 1000 {
		if key := fmt.Sprintf("%04d", i*2); !slices.Contains(seen, key) {
			t.Errorf("page of %q is missing", key)
		}
	}
	if !slices.IsSorted(seen) || len(slices.Compact(slices.Clone(seen))) != len(seen) {
		t.Error("pages overlap")
	}
	checkInvariants(t, w)
}

func TestOrderRanges(t *testing.T) {
	s, w := New(Options[int]{})
	before := s.Snapshot()
	order := AddOrder(w)
	for _, key := range []string{"b/1", "a/2", "c", "a/1", "a"} {
		commit(w, key, 0)
	}
	held := s.Snapshot()
	remove(w, "a/2")
	w.RemoveOrder(order)
	for _, c := range []struct {
		s        *Snapshot[int]
		from, to string
		want     string
	}{
		{held, "", "", "[a a/1 a/2 b/1 c]"},
		{held, "a/", "a0", "[a/1 a/2]"},
		{held, "a/2", "c", "[a/2 b/1]"},
		{held, "b", "b", "[]"},
		{held, "d", "", "[]"},
		{before, "", "", "[]"},
		{s.Snapshot(), "a/", "", "[a/1 b/1 c]"},
	} {
		var keys []string
		for key := range order.Range(c.s, c.from, c.to) {
			keys = append(keys, key)
		}
		if got := fmt.Sprint(keys); got != c.want {
			t.Errorf("version %d: Range(%q, %q) = %s, want %s", c.s.Version(), c.from, c.to, got, c.want)
		}
	}
}
