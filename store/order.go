package store

import "iter"

// Order iterates over the objects of a snapshot in the order of their keys (bytewise).
type Order[T any] struct{ w *Writer[T] }

// AddOrder adds an order to the store: from now on commits that add or delete keys keep it.
func AddOrder[T any](w *Writer[T]) *Order[T] { return &Order[T]{w} }

// RemoveOrder drops the order from later versions. Snapshots taken before keep it.
func (w *Writer[T]) RemoveOrder(o *Order[T]) {}

// Range iterates over the objects with from <= key < to, in the order of their keys. A to of "" means no end.
func (o *Order[T]) Range(s *Snapshot[T], from, to string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for k, obj := range s.All() {
			if k >= from && (to == "" || k < to) && !yield(k, obj) {
				return
			}
		}
	}
}
