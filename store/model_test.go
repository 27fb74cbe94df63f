package store

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// object is what the tests store. It fails its index function if its first value says so.
type object struct {
	id     int // equal ids are the Same
	values []string
}

const (
	badError = "error"
	badPanic = "panic"
)

func (o *object) String() string { return fmt.Sprintf("#%d%v", o.id, o.values) }

func sameID(prev, next *object) bool { return prev.id == next.id }

func allValues(o *object) ([]string, error) {
	switch {
	case len(o.values) == 0:
		return nil, nil
	case o.values[0] == badError:
		return []string{"x"}, errors.New("bad object")
	case o.values[0] == badPanic:
		panic("worse object")
	}
	return o.values, nil
}

func firstValue(o *object) []string {
	if len(o.values) == 0 {
		return nil
	}
	return o.values[:1]
}

// model is the naive store: a map for each version.
type model struct {
	objects  map[string]*object
	version  uint64
	revision string
}

func (m model) clone() model {
	m.objects = maps.Clone(m.objects)
	return m
}

// held is a snapshot and what it must show for ever.
type held struct {
	s    *Snapshot[*object]
	want model
}

// machine plays random transactions on a store and the model.
type machine struct {
	t       testing.TB
	next    func(n int) int // 0 <= next(n) < n
	store   *Store[*object]
	w       *Writer[*object]
	model   model
	batch   Batch[*object]
	held    []held
	indexes []*Index[*object]
	orders  []*Order[*object]
	gone    []*Index[*object]
	ids     int
	keys    int // key space
}

func newMachine(t testing.TB, next func(int) int) *machine {
	m := &machine{t: t, next: next, model: model{objects: map[string]*object{}}, keys: 1 + next(200)}
	m.store, m.w = New(Options[*object]{Same: sameID})
	return m
}

func (m *machine) key() string {
	return "ns" + strconv.Itoa(m.next(3)) + "/" + strconv.Itoa(m.next(m.keys))
}

func (m *machine) object() *object {
	m.ids++
	o := &object{id: m.ids}
	for range m.next(5) {
		o.values = append(o.values, []string{"a", "b", "c", "d", "e", "f" + strconv.Itoa(m.next(50)), badError, badPanic}[min(m.next(16), 7)])
	}
	return o
}

func (m *machine) step() {
	switch m.next(12) {
	case 0, 1, 2, 3:
		m.commit(1)
	case 4:
		m.commit(m.next(8))
	case 5:
		m.commit(m.next(quick * 3 / 2))
	case 6:
		m.replace()
	case 7:
		if len(m.held) < 4 {
			m.held = append(m.held, held{m.store.Snapshot(), m.model.clone()})
		}
	case 8:
		if n := len(m.held); n > 0 {
			m.held = slices.Delete(m.held, m.next(n), n)
		}
	case 9:
		m.restructure()
	case 10:
		m.query()
	case 11:
		m.check()
	}
}

func (m *machine) commit(n int) {
	want := map[string]*object{}
	before := m.model.clone()
	for range n {
		key := m.key()
		if m.next(3) == 0 {
			m.batch.Delete(key)
			want[key] = nil
			delete(m.model.objects, key)
		} else {
			o := m.object()
			m.batch.Put(key, o)
			want[key] = o
			m.model.objects[key] = o
		}
	}
	if m.next(2) == 0 {
		m.batch.Revision = strconv.Itoa(m.next(1000))
		m.model.revision = m.batch.Revision
	}
	m.model.version++
	if m.batch.Len() != len(want) {
		m.t.Fatalf("Batch.Len() = %d, want %d", m.batch.Len(), len(want))
	}
	m.changes(before, m.w.Commit(&m.batch), func(key string) bool { return want[key] != nil })
}

// changes checks what a commit said it did since before. always says whether a key is a change in any case.
func (m *machine) changes(before model, changes []Change[*object], always func(key string) bool) {
	m.t.Helper()
	seen := map[string]bool{}
	for _, c := range changes {
		old, had := before.objects[c.Key]
		obj, has := m.model.objects[c.Key]
		if seen[c.Key] || c.HadOld != had || c.Old != old || c.HasNew != has || c.New != obj {
			m.t.Fatalf("change %+v, had %v, has %v", c, old, obj)
		}
		seen[c.Key] = true
	}
	for key, old := range before.objects {
		if obj := m.model.objects[key]; obj != old && !seen[key] {
			m.t.Fatalf("no change for %q: had %v, has %v", key, old, obj)
		}
	}
	for key := range m.model.objects {
		if old, had := before.objects[key]; (!had || always(key)) != seen[key] && (!had || always(key) || m.model.objects[key] == old) {
			m.t.Fatalf("change of %q: %v", key, seen[key])
		}
	}
}

// replace puts some of what there is again (the Same in another object), changes some, leaves some out, and may be
// overtaken by commits.
func (m *machine) replace() {
	r := m.w.Replace()
	base := m.model.clone()
	put := map[string]*object{}
	overtake := m.next(4)
	for _, key := range slices.Sorted(maps.Keys(base.objects)) {
		switch m.next(8) {
		case 0:
			o := m.object()
			r.Put(key, o)
			put[key] = o
		case 1:
		case 2:
			r.Put(key, m.object())
			r.Delete(key)
		default:
			old := base.objects[key]
			if m.next(8) == 0 {
				r.Put(key, m.object())
			}
			r.Put(key, &object{id: old.id, values: old.values})
			put[key] = old
		}
	}
	for range m.next(20) {
		key, o := m.key(), m.object()
		r.Put(key, o)
		put[key] = o
	}
	if r.Len() != len(put) {
		m.t.Fatalf("Replacement.Len() = %d, want %d", r.Len(), len(put))
	}
	if overtake == 0 {
		m.commit(1 + m.next(4))
	}
	before := m.model.clone()
	m.model.objects = put
	m.model.version++
	m.model.revision = "replaced" + strconv.Itoa(m.next(9))
	deleting := true
	changes := r.Commit(m.model.revision)
	for _, c := range changes {
		if deleting = deleting && !c.HasNew; !c.HasNew && !deleting {
			m.t.Fatalf("deletion of %q after an addition", c.Key)
		}
	}
	m.changes(before, changes, func(key string) bool { return before.objects[key] != put[key] })
}

func (m *machine) restructure() {
	switch m.next(5) {
	case 0:
		m.indexes = append(m.indexes, AddIndex(m.w, "first", firstValue))
	case 1:
		m.indexes = append(m.indexes, AddIndex(m.w, "all", allValues))
	case 2:
		m.orders = append(m.orders, AddOrder(m.w))
	case 3:
		if n := len(m.indexes); n > 0 {
			i := m.next(n)
			m.w.RemoveIndex(m.indexes[i])
			m.gone = append(m.gone, m.indexes[i])
			m.indexes = slices.Delete(m.indexes, i, i+1)
		}
	case 4:
		if n := len(m.orders); n > 0 {
			i := m.next(n)
			m.w.RemoveOrder(m.orders[i])
			m.orders = slices.Delete(m.orders, i, i+1)
		}
	}
}

// check compares everything that can be read, now and in every snapshot held, with the model.
func (m *machine) check() {
	m.t.Helper()
	checkInvariants(m.t, m.w)
	now := held{m.store.Snapshot(), m.model}
	for key := range m.model.objects {
		if o, ok := m.store.Get(key); !ok || o != m.model.objects[key] {
			m.t.Fatalf("Get(%q) = %v, want %v", key, o, m.model.objects[key])
		}
	}
	if m.store.Revision() != m.model.revision || m.store.Len() != len(m.model.objects) {
		m.t.Fatalf("store: %d objects at %q, want %d at %q", m.store.Len(), m.store.Revision(), len(m.model.objects), m.model.revision)
	}
	for i, h := range append(slices.Clone(m.held), now) {
		if err := m.compare(h); err != nil {
			m.t.Fatalf("snapshot %d of %d: %v", i, len(m.held), err)
		}
	}
	m.failures()
}

func (m *machine) compare(h held) error {
	if h.s.Version() != h.want.version || h.s.Revision() != h.want.revision || h.s.Len() != len(h.want.objects) {
		return fmt.Errorf("version %d at %q with %d objects, want %d at %q with %d",
			h.s.Version(), h.s.Revision(), h.s.Len(), h.want.version, h.want.revision, len(h.want.objects))
	}
	if got := maps.Collect(h.s.All()); !maps.Equal(got, h.want.objects) {
		return fmt.Errorf("All: %v, want %v", got, h.want.objects)
	}
	if !slices.Equal(h.s.Objects(), objectsOf(h.s.All())) {
		return fmt.Errorf("Objects: %v, want %v", h.s.Objects(), objectsOf(h.s.All()))
	}
	for i := range m.keys {
		key := "ns1/" + strconv.Itoa(i)
		if o, ok := h.s.Get(key); o != h.want.objects[key] || ok != (o != nil) {
			return fmt.Errorf("Get(%q) = %v, want %v", key, o, h.want.objects[key])
		}
	}
	for _, ix := range append(slices.Clone(m.indexes), m.gone[max(0, len(m.gone)-2):]...) {
		if err := compareIndex(h, ix); err != nil {
			return fmt.Errorf("index %q: %w", ix.Name(), err)
		}
	}
	for _, o := range m.orders {
		var keys []string
		for key, obj := range o.Range(h.s, "ns1/", "ns10") {
			keys = append(keys, key)
			if obj != h.want.objects[key] {
				return fmt.Errorf("Range: %v under %q", obj, key)
			}
		}
		want := slices.Sorted(maps.Keys(h.want.objects))
		want = slices.DeleteFunc(want, func(k string) bool { return k < "ns1/" || k >= "ns10" })
		if !slices.Equal(keys, want) {
			return fmt.Errorf("Range: %q, want %q", keys, want)
		}
	}
	return nil
}

func objectsOf(entries iter.Seq2[string, *object]) (objs []*object) {
	for _, obj := range entries {
		objs = append(objs, obj)
	}
	return objs
}

func compareIndex(h held, ix *Index[*object]) error {
	want := map[string]map[string]*object{}
	for key, o := range h.want.objects {
		values, err := ix.Of(o)
		if err != nil {
			continue
		}
		for _, v := range values {
			if want[v] == nil {
				want[v] = map[string]*object{}
			}
			want[v][key] = o
		}
	}
	values := slices.Sorted(ix.Values(h.s))
	if !slices.Equal(values, slices.Sorted(maps.Keys(want))) {
		return fmt.Errorf("values %q, want %q", values, slices.Sorted(maps.Keys(want)))
	}
	for v, w := range want {
		if !slices.Equal(ix.Objects(h.s, v), objectsOf(ix.Get(h.s, v))) {
			return fmt.Errorf("value %q: Objects: %v, want %v", v, ix.Objects(h.s, v), objectsOf(ix.Get(h.s, v)))
		}
		if got := maps.Collect(ix.Get(h.s, v)); !maps.Equal(got, w) || ix.Count(h.s, v) != len(w) {
			return fmt.Errorf("value %q: %v (%d), want %v", v, got, ix.Count(h.s, v), w)
		}
	}
	if n := ix.Count(h.s, "absent"); n != 0 {
		return fmt.Errorf("%d objects under a value that none has", n)
	}
	return nil
}

func (m *machine) failures() {
	type failure struct{ index, key string }
	got, want := map[failure]int{}, map[failure]int{}
	for _, f := range m.store.Failures() {
		got[failure{f.Index, f.Key}]++
		if f.Err == nil || f.Since.IsZero() {
			m.t.Fatalf("failure %+v", f)
		}
	}
	for _, ix := range m.indexes {
		for key, o := range m.model.objects {
			if _, err := ix.Of(o); err != nil {
				want[failure{ix.Name(), key}]++
			}
		}
	}
	if !maps.Equal(got, want) {
		m.t.Fatalf("failures %v, want %v", got, want)
	}
}

// query asks a random query of a random snapshot.
func (m *machine) query() {
	if len(m.indexes)+len(m.gone) == 0 {
		return
	}
	q, wants := m.randomQuery(3)
	h := held{m.store.Snapshot(), m.model}
	if n := m.next(len(m.held) + 1); n > 0 {
		h = m.held[n-1]
	}
	want := map[string]*object{}
	for key, o := range h.want.objects {
		if wants(o) {
			want[key] = o
		}
	}
	if got := maps.Collect(h.s.Select(q)); !maps.Equal(got, want) || h.s.Count(q) != len(want) {
		m.t.Fatalf("Select(%+v) = %v (%d), want %v", q, got, h.s.Count(q), want)
	}
}

func (m *machine) randomQuery(depth int) (Query[*object], func(*object) bool) {
	kind := m.next(5)
	if depth == 0 || kind > 2 {
		ix := append(slices.Clone(m.indexes), m.gone...)[m.next(len(m.indexes)+len(m.gone))]
		var values []string
		for range m.next(4) {
			values = append(values, []string{"a", "b", "c", "d", "e", "absent", "f1"}[m.next(7)])
		}
		return ix.Is(values...), func(o *object) bool {
			of, err := ix.Of(o)
			return err == nil && slices.ContainsFunc(of, func(v string) bool { return slices.Contains(values, v) })
		}
	}
	var of []Query[*object]
	var wants []func(*object) bool
	for range m.next(4) {
		q, w := m.randomQuery(depth - 1)
		of, wants = append(of, q), append(wants, w)
	}
	switch kind {
	case 0:
		return And(of...), func(o *object) bool {
			return !slices.ContainsFunc(wants, func(w func(*object) bool) bool { return !w(o) })
		}
	case 1:
		return Or(of...), func(o *object) bool {
			return slices.ContainsFunc(wants, func(w func(*object) bool) bool { return w(o) })
		}
	}
	q, w := m.randomQuery(depth - 1)
	return Not(q), func(o *object) bool { return !w(o) }
}

func TestRandomTransactionsAgreeWithModel(t *testing.T) {
	for seed := range 8 {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		m := newMachine(t, r.IntN)
		for range 100 {
			m.step()
		}
		m.check()
	}
}

// Transactions too large to be written while snapshots wait.
func TestLargeTransactionsAgreeWithModel(t *testing.T) {
	for seed := range 2 {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		m := newMachine(t, r.IntN)
		m.keys = 2000
		for range 4 {
			m.restructure()
		}
		for range 5 {
			m.commit(quick * 2)
			m.held = append(m.held, held{m.store.Snapshot(), m.model.clone()})
			m.commit(10)
			m.replace()
			m.query()
		}
		m.check()
	}
}

func FuzzTransactions(f *testing.F) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 4 {
		b := make([]byte, 600)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = data[:min(len(data), 2000)]
		m := newMachine(t, func(n int) int {
			if n <= 1 || len(data) < 2 {
				return 0
			}
			x := int(data[0])<<8 | int(data[1])
			data = data[2:]
			return x % n
		})
		for steps := 0; len(data) > 1 && steps < 60; steps++ {
			m.step()
		}
		m.check()
	})
}
