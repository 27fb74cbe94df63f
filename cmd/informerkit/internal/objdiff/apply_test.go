package objdiff

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// apply puts changes into a copy of old: what a reader of the lines would do by hand.
func apply(old map[string]any, changes []Change) map[string]any {
	root := any(clone(old))
	// By position: what is removed has old positions and goes first, from the back; then all else has new positions.
	removals := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Kind != Removed })
	slices.Reverse(removals)
	rest := slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Kind == Removed })
	for _, c := range slices.Concat(removals, rest) {
		root = set(root, c.Path, c)
	}
	return root.(map[string]any)
}

func set(at any, path Path, c Change) any {
	if len(path) == 0 {
		if c.Kind == Reordered {
			return reorder(at.([]any), c.New.([]any))
		}
		return clone(c.New)
	}
	step, last := path[0], len(path) == 1
	if step.isField() {
		m := at.(map[string]any)
		if last && c.Kind == Removed {
			delete(m, step.Field)
		} else {
			m[step.Field] = set(m[step.Field], path[1:], c)
		}
		return m
	}
	list, i := at.([]any), step.Index
	if step.Key != "" {
		i = slices.IndexFunc(list, func(e any) bool { return elementValue(e, step.Key) == step.Field })
	}
	switch {
	case last && c.Kind == Removed:
		return slices.Delete(list, i, i+1)
	case last && c.Kind == Added && step.Key != "":
		return append(list, clone(c.New))
	case last && c.Kind == Added:
		return slices.Insert(list, i, clone(c.New))
	}
	list[i] = set(list[i], path[1:], c)
	return list
}

func reorder(list, order []any) []any {
	key := ""
	for _, k := range elementKeys {
		if tellsApart(list, k) && slices.ContainsFunc(list, func(e any) bool { return elementValue(e, k) == order[0] }) {
			key = k
			break
		}
	}
	out := []any{}
	for _, value := range order {
		out = append(out, list[slices.IndexFunc(list, func(e any) bool { return elementValue(e, key) == value })])
	}
	return out
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := maps.Clone(v)
		for k := range out {
			out[k] = clone(out[k])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = clone(v[i])
		}
		return out
	}
	return v
}

// check holds a pair to what the package promises.
func check(t *testing.T, a, b map[string]any) {
	t.Helper()
	show := func(v any) string { text, _ := json.Marshal(v); return string(text) }
	before := show(a) + show(b)
	if d := Diff(a, a); len(d) != 0 {
		t.Fatalf("%s differs from itself: %v", show(a), lines(d))
	}
	if d := Diff(a, clone(a).(map[string]any)); len(d) != 0 {
		t.Fatalf("%s differs from its copy: %v", show(a), lines(d))
	}
	d := Diff(a, b)
	if got := apply(a, d); !Equal(got, b) {
		t.Fatalf("%s\nto   %s\ngives %s\nby\n\t%s", show(a), show(b), show(got), strings.Join(lines(d), "\n\t"))
	}
	if (len(d) == 0) != Equal(a, b) {
		t.Fatalf("%d changes between %s and %s", len(d), show(a), show(b))
	}
	if again := Diff(a, b); !slices.Equal(lines(again), lines(d)) {
		t.Fatalf("not repeatable: %v and %v", lines(d), lines(again))
	}
	for _, line := range lines(d) {
		if strings.Contains(line, "\n") {
			t.Fatalf("a change takes more than a line: %q", line)
		}
	}
	if show(a)+show(b) != before {
		t.Fatal("Diff changed what it compared")
	}
}

// random makes an object in which lists with names, lists without, and changes of type are common.
func random(r *rand.Rand, depth int) any {
	kinds := 8
	if depth <= 0 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return float64(r.IntN(3))
	case 3, 4:
		return fmt.Sprintf("%c", 'a'+r.IntN(3))
	case 5:
		return randomMap(r, depth-1)
	}
	list := []any{}
	named := r.IntN(2) == 0
	for range r.IntN(4) {
		if named {
			e := randomMap(r, depth-1)
			e[elementKeys[r.IntN(2)]] = fmt.Sprintf("%c", 'a'+r.IntN(6))
			e["name"] = fmt.Sprintf("%c", 'a'+r.IntN(6))
			list = append(list, e)
		} else {
			list = append(list, random(r, depth-1))
		}
	}
	return list
}

func randomMap(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range r.IntN(4) {
		m[[]string{"a", "b", "name", "type", "x.y/z"}[r.IntN(5)]] = random(r, depth)
	}
	return m
}

func TestChangesPutIntoTheOldObjectGiveTheNewOne(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		a := randomMap(r, 4)
		b := randomMap(r, 4)
		if r.IntN(2) == 0 { // mostly alike
			b = clone(a).(map[string]any)
			mutate(r, b)
		}
		check(t, a, b)
	}
}

func mutate(r *rand.Rand, m map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch r.IntN(4) {
		case 0:
			m[k] = random(r, 2)
		case 1:
			if sub, ok := m[k].(map[string]any); ok {
				mutate(r, sub)
			}
			if list, ok := m[k].([]any); ok {
				r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			}
		}
	}
}

func TestEveryChangedLeafIsReported(t *testing.T) {
	pod := object(t, `{"metadata":{"name":"p","labels":{"a":"1"},"finalizers":["x","y"]},
		"spec":{"containers":[{"name":"c","args":["1","2"],"ports":[{"containerPort":1}]}],"n":[[1,[2]],3]},
		"status":{"ok":true,"nothing":null}}`)
	leaves := 0
	var walk func(at any, path Path, put func(any))
	walk = func(at any, path Path, put func(any)) {
		switch v := at.(type) {
		case map[string]any:
			for k := range v {
				walk(v[k], path.field(k), func(n any) { v[k] = n })
			}
		case []any:
			for i := range v {
				walk(v[i], path.index(i), func(n any) { v[i] = n })
			}
		default:
			leaves++
			before := clone(pod).(map[string]any)
			put("changed")
			got := Diff(before, pod)
			put(at)
			if len(got) == 0 {
				t.Errorf("nothing reported for %s", path)
			}
			if len(got) == 1 && got[0].New != "changed" {
				t.Errorf("%s: reported %s", path, got[0])
			}
		}
	}
	walk(pod, nil, nil)
	if leaves != 13 {
		t.Errorf("%d leaves tried", leaves)
	}
}

func FuzzDiff(f *testing.F) {
	f.Add(`{"a":[{"name":"x"},{"name":"y"}]}`, `{"a":[{"name":"y"},{"name":"x","v":1}]}`)
	f.Add(`{"a":[1,2,3],"b":null}`, `{"a":[2,3,[]],"c":{}}`)
	f.Add(`{"":{"\u00e4":"\ud800"}}`, `{"":1e3}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		var x, y map[string]any
		if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil || x == nil || y == nil {
			return
		}
		check(t, x, y)
	})
}
