package ownwrites

import "iter"

// Index gives the values under which an object is found. It is a pointer. An object on which it fails is not found.
type Index[T any] interface {
	Of(obj T) ([]string, error)
}

// indexed are the writes by their values in an index.
type indexed[T any] struct {
	byValue map[string]map[string]*entry[T] // by value, then key
	values  map[string][]string             // by key
}

// Uses reports that the table keeps its writes by the values of ix.
func (t *Table[T]) Uses(ix Index[T]) bool {
	_, ok := t.indexes[ix]
	return ok
}

// Use makes the table keep its writes by the values of ix from now on.
func (t *Table[T]) Use(ix Index[T]) {
	if t.Uses(ix) {
		return
	}
	in := indexed[T]{byValue: map[string]map[string]*entry[T]{}, values: map[string][]string{}}
	t.indexes[ix] = in
	for _, e := range t.entries {
		in.add(ix, e)
	}
}

// Under goes through the writes that have a value in ix, which is in use. It costs what it finds.
func (t *Table[T]) Under(ix Index[T], value string) iter.Seq[Write[T]] {
	return func(yield func(Write[T]) bool) {
		for _, e := range t.indexes[ix].byValue[value] {
			if !yield(e.Write) {
				return
			}
		}
	}
}

func (in indexed[T]) add(ix Index[T], e *entry[T]) {
	if e.Kind != Held {
		return
	}
	values, err := ix.Of(e.Obj)
	if err != nil {
		return
	}
	in.values[e.Key] = values
	for _, value := range values {
		if in.byValue[value] == nil {
			in.byValue[value] = map[string]*entry[T]{}
		}
		in.byValue[value][e.Key] = e
	}
}

func (in indexed[T]) remove(e *entry[T]) {
	for _, value := range in.values[e.Key] {
		if delete(in.byValue[value], e.Key); len(in.byValue[value]) == 0 {
			delete(in.byValue, value)
		}
	}
	delete(in.values, e.Key)
}
