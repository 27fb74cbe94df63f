package apitest_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/listwatch"
)

// model is the naive server: it keeps the whole state of every resource version.
type model struct {
	states []map[string]modelObject // by resource version
	floor  int
}

type modelObject struct {
	rv    int
	label string
}

func (m *model) now() int { return len(m.states) - 1 }

// write makes the next state; label "" deletes.
func (m *model) write(key, label string) {
	next := maps.Clone(m.states[m.now()])
	if label == "" {
		delete(next, key)
	} else {
		next[key] = modelObject{rv: len(m.states), label: label}
	}
	m.states = append(m.states, next)
}

func (m *model) list(rv int, label string) []string {
	out := []string{}
	for _, key := range slices.Sorted(maps.Keys(m.states[rv])) {
		if o := m.states[rv][key]; label == "" || o.label == label {
			out = append(out, fmt.Sprintf("%s@%d", key, o.rv))
		}
	}
	return out
}

// events are what a watch from rv with this label gives: each resource version changes one key.
func (m *model) events(rv int, label string) []string {
	var out []string
	for v := rv + 1; v <= m.now(); v++ {
		was, is := m.states[v-1], m.states[v]
		matches := func(o modelObject, ok bool) bool { return ok && (label == "" || o.label == label) }
		for key := range union(was, is) {
			a, hadA := was[key]
			b, hasB := is[key]
			if a == b && hadA == hasB {
				continue
			}
			switch before, after := matches(a, hadA), matches(b, hasB); {
			case before && after:
				out = append(out, fmt.Sprintf("2 %s@%d", key, v))
			case after:
				out = append(out, fmt.Sprintf("1 %s@%d", key, v))
			case before:
				out = append(out, fmt.Sprintf("3 %s@%d", key, v))
			}
		}
	}
	return out
}

func union(a, b map[string]modelObject) map[string]modelObject {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func againstModel(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	history := 1 + r.IntN(40)
	s := newServer(t, apitest.Options{History: history})
	src := apitest.Source[*corev1.Pod](s, pods, "")
	m := &model{states: []map[string]modelObject{{}, {}}, floor: 1}
	labels := []string{"x", "y", "z"}

	write := func() {
		ns, name, label := fmt.Sprint("ns", r.IntN(2)), fmt.Sprint("p", r.IntN(6)), labels[r.IntN(len(labels))]
		key := ns + "/" + name
		p := labelled(pod(ns, name), map[string]string{"l": label})
		old, exists := m.states[m.now()][key]
		switch {
		case !exists:
			create(t, s, p)
		case r.IntN(3) == 0:
			remove(t, s, p)
			label = ""
		case old.label == label:
			return // would change nothing
		default:
			update(t, s, p)
		}
		m.write(key, label)
		m.floor = max(m.floor, m.now()-history)
	}
	selector := func() (string, string) {
		if r.IntN(2) == 0 {
			return "", ""
		}
		l := labels[r.IntN(len(labels))]
		return l, "l=" + l
	}
	anyRV := func() int { return m.floor + r.IntN(m.now()-m.floor+1) }

	var open []listwatch.Stream[*corev1.Pod]
	defer func() {
		for _, st := range open {
			st.Stop()
		}
	}()
	type watching struct {
		from  int
		label string
	}
	var of []watching

	for range 150 {
		switch r.IntN(12) {
		case 0: // a paged list of some state, while writes go on
			label, sel := selector()
			rv := anyRV()
			opts := metav1.ListOptions{Limit: int64(1 + r.IntN(4)), LabelSelector: sel, ResourceVersion: strconv.Itoa(rv), ResourceVersionMatch: "Exact"}
			got := []string{}
			for {
				page, err := src.List(ctx, opts)
				if err != nil {
					if rv < m.floor { // the writes have pushed it out
						got = nil
						break
					}
					t.Fatalf("seed %d: page at %d: %v", seed, rv, err)
				}
				for _, item := range page.Items {
					got = append(got, item.Key+"@"+item.ResourceVersion)
				}
				if page.Continue == "" {
					break
				}
				opts = metav1.ListOptions{Limit: opts.Limit, LabelSelector: sel, Continue: page.Continue}
				write()
			}
			if got != nil {
				diff(t, fmt.Sprintf("seed %d: list at %d of %q", seed, rv, label), m.list(rv, label), got)
			}
		case 1: // open a watch
			label, sel := selector()
			rv := anyRV()
			st, err := src.Watch(ctx, metav1.ListOptions{ResourceVersion: strconv.Itoa(rv), LabelSelector: sel})
			if err != nil {
				t.Fatalf("seed %d: watch from %d: %v", seed, rv, err)
			}
			open, of = append(open, st), append(of, watching{rv, label})
		case 2:
			if r.IntN(4) == 0 {
				s.Compact()
				m.floor = m.now()
			}
		default:
			write()
		}
	}
	for i, st := range open {
		// One object more, that the watch selects, tells where its end is.
		end, label := fmt.Sprint("end-", i), of[i].label
		if label == "" {
			label = "x"
		}
		create(t, s, labelled(pod("ns", end), map[string]string{"l": label}))
		m.write("ns/"+end, label)
		last, got := fmt.Sprintf("1 ns/%s@%d", end, m.now()), []string{}
		for !slices.Contains(got, last) {
			events, err := st.Next(ctx)
			if err != nil {
				t.Fatalf("seed %d: watch from %d: %v", seed, of[i].from, err)
			}
			for _, ev := range events {
				got = append(got, fmt.Sprintf("%d %s@%s", ev.Type, ev.Item.Key, ev.Item.ResourceVersion))
			}
		}
		want := m.events(of[i].from, of[i].label)
		diff(t, fmt.Sprintf("seed %d: watch from %d of %q", seed, of[i].from, of[i].label), want, got)
	}
}

func TestListsAndWatchesAgreeWithANaiveModel(t *testing.T) {
	for seed := range uint64(60) {
		againstModel(t, seed)
		if t.Failed() {
			return
		}
	}
}

func FuzzListsAndWatchesAgreeWithANaiveModel(f *testing.F) {
	f.Add(uint64(1000))
	f.Fuzz(againstModel)
}
