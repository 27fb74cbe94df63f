package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

type named interface{ Name() string }

type person struct{ name string }

func (p *person) Name() string { return p.name }

type word string

func (w word) Name() string { return string(w) }

// Objects of interface types come back as they were put: same type, same pointer, nil as nil of its kind; whatever was stored before.
func TestObjectsOfInterfaceTypes(t *testing.T) {
	ada := &person{"ada"}
	values := []any{ada, (*person)(nil), nil, "text", word("w"), 7, 1 << 40, struct{}{}, [2]string{"a", "b"}}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, w := New(Options[any]{})
		model := map[string]any{}
		var b Batch[any]
		kinds := 1 + r.IntN(len(values))
		for range 60 {
			for range 1 + r.IntN(3) {
				key := fmt.Sprint(r.IntN(6))
				if r.IntN(2) == 0 {
					b.Delete(key)
					delete(model, key)
				} else {
					v := values[r.IntN(kinds)]
					b.Put(key, v)
					model[key] = v
				}
			}
			old := s.Snapshot()
			before := contentOf(old)
			w.Commit(&b)
			if got := contentOf(s.Snapshot()); !maps.Equal(got, model) {
				t.Fatalf("seed %d: holds %v, want %v", seed, got, model)
			}
			for key, want := range model {
				if got, ok := s.Get(key); !ok || got != want {
					t.Fatalf("seed %d: %s is %#v, want %#v", seed, key, got, want)
				}
			}
			for key, was := range contentOf(old) {
				if before[key] != was {
					t.Fatalf("seed %d: a snapshot has changed from %#v to %#v", seed, before[key], was)
				}
			}
			checkInvariants(t, w)
		}
	}
}

func contentOf(s *Snapshot[any]) map[string]any {
	m := map[string]any{}
	for key, obj := range s.All() {
		m[key] = obj
	}
	return m
}

// An interface with methods tells types apart by its method table.
func TestObjectsOfAnInterfaceWithMethods(t *testing.T) {
	s, w := New(Options[named]{})
	var b Batch[named]
	for n, obj := range []named{&person{"a"}, &person{"b"}, word("c"), (*person)(nil)} {
		b.Put(fmt.Sprint(n), obj)
		w.Commit(&b)
	}
	for n, want := range []string{"a", "b", "c"} {
		if obj, ok := s.Get(fmt.Sprint(n)); !ok || obj.Name() != want {
			t.Errorf("%d is %v, want %s", n, obj, want)
		}
	}
	if obj, ok := s.Get("3"); !ok || obj != named((*person)(nil)) {
		t.Errorf("3 is %#v", obj)
	}
}

// Readers see objects whole while the store goes over from one type to several, and to another one.
func TestReadersWhileTypesChange(t *testing.T) {
	s, w := New(Options[any]{})
	var over atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for !over.Load() {
				for n := range 4 {
					if obj, ok := s.Get(fmt.Sprint(n)); ok && !knows(obj, n) {
						t.Errorf("%d is %#v", n, obj)
						return
					}
				}
				for key, obj := range s.Snapshot().All() {
					if n, err := strconv.Atoi(key); err != nil || !knows(obj, n) {
						t.Errorf("%s is %#v", key, obj)
						return
					}
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(1, 1))
	var b Batch[any]
	for range 3000 {
		n := r.IntN(4)
		switch r.IntN(5) {
		case 0:
			b.Put(fmt.Sprint(n), &person{fmt.Sprint(n)})
		case 1:
			b.Put(fmt.Sprint(n), word(fmt.Sprint(n)))
		case 2:
			b.Put(fmt.Sprint(n), n)
		default:
			for n := range 4 {
				b.Delete(fmt.Sprint(n))
			}
		}
		w.Commit(&b)
	}
	over.Store(true)
	readers.Wait()
}

func knows(obj any, n int) bool {
	switch obj := obj.(type) {
	case named:
		return obj.Name() == fmt.Sprint(n)
	case int:
		return obj == n
	}
	return false
}

// Where all are of one type, an interface needs no copy of each object.
func TestObjectsOfOneTypeAreNotBoxed(t *testing.T) {
	s, w := New(Options[any]{})
	var b Batch[any]
	put := func(key string, obj any) {
		b.Put(key, obj)
		w.Commit(&b)
	}
	put("a", &person{"a"})
	put("b", &person{"b"})
	if s.objects.Load().of == nil {
		t.Error("objects of one type are boxed")
	}
	put("c", "text")
	if s.objects.Load().of != nil {
		t.Error("objects of two types are not")
	}
	for _, key := range []string{"a", "b", "c"} {
		b.Delete(key)
	}
	w.Commit(&b)
	put("d", "text")
	if s.objects.Load().of == nil {
		t.Error("when the store was emptied, objects of one type are boxed still")
	}
}
