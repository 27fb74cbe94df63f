package store

import (
	"iter"
	"slices"
)

// Query says which objects of a snapshot are wanted, by their index values. The zero value wants all of them.
type Query[T any] struct{ match func(obj T) bool }

func (q Query[T]) matches(obj T) bool { return q.match == nil || q.match(obj) }

// Is wants the objects that have any of the values in the index; none, given no value.
func (ix *Index[T]) Is(values ...string) Query[T] {
	return Query[T]{func(obj T) bool {
		vs, err := ix.call(obj)
		return err == nil && slices.ContainsFunc(vs, func(v string) bool { return slices.Contains(values, v) })
	}}
}

// And wants what all of the queries want; everything, given none.
func And[T any](queries ...Query[T]) Query[T] {
	return Query[T]{func(obj T) bool {
		return !slices.ContainsFunc(queries, func(q Query[T]) bool { return !q.matches(obj) })
	}}
}

// Or wants what any of the queries wants; nothing, given none.
func Or[T any](queries ...Query[T]) Query[T] {
	return Query[T]{func(obj T) bool {
		return slices.ContainsFunc(queries, func(q Query[T]) bool { return q.matches(obj) })
	}}
}

// Not wants what q does not want.
func Not[T any](q Query[T]) Query[T] { return Query[T]{func(obj T) bool { return !q.matches(obj) }} }

// Select iterates over the objects that q wants, in the order of All.
func (s *Snapshot[T]) Select(q Query[T]) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for k, obj := range s.All() {
			if q.matches(obj) && !yield(k, obj) {
				return
			}
		}
	}
}

// Count is the number of objects that q wants.
func (s *Snapshot[T]) Count(q Query[T]) int {
	n := 0
	for range s.Select(q) {
		n++
	}
	return n
}
