package store

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
)

// Query says which objects of a snapshot are wanted, by their index values. It is a value: build it once, use it on any
// snapshot, from any goroutine. The zero value wants all objects.
type Query[T any] struct {
	kind   queryKind
	of     []Query[T] // and, or, not
	ix     *Index[T]  // is
	values []string
}

type queryKind uint8

const (
	queryAnd queryKind = iota
	queryOr
	queryNot
	queryIs
)

// Is wants the objects that have any of the values in the index; none, given no value.
func (ix *Index[T]) Is(values ...string) Query[T] {
	return Query[T]{kind: queryIs, ix: ix, values: slices.Clone(values)}
}

// And wants what all of the queries want; everything, given none.
func And[T any](queries ...Query[T]) Query[T] {
	return Query[T]{kind: queryAnd, of: slices.Clone(queries)}
}

// Or wants what any of the queries wants; nothing, given none.
func Or[T any](queries ...Query[T]) Query[T] {
	return Query[T]{kind: queryOr, of: slices.Clone(queries)}
}

// Not wants what q does not want.
func Not[T any](q Query[T]) Query[T] { return Query[T]{kind: queryNot, of: []Query[T]{q}} }

// Select iterates over the objects that q wants, in the order of [Snapshot.All]. It is worked out block by block as the
// iteration goes: an And looks only where its smallest part has objects, a Not inside an And takes away from what the rest
// found.
func (s *Snapshot[T]) Select(q Query[T]) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		found := s.resolve(q)
		var w words
		for i := found.from(0); i >= 0; i = found.from(i + 1) {
			w = words{}
			if !found.load(i, &w) {
				continue
			}
			for j, x := range w {
				base := uint32(i<<blockBits | j<<6)
				for ; x != 0; x &= x - 1 {
					at := s.objects.at(base | uint32(bits.TrailingZeros64(x)))
					if !yield(at.key, at.val) {
						return
					}
				}
			}
		}
	}
}

// Count is the number of objects that q wants. It looks at no object.
func (s *Snapshot[T]) Count(q Query[T]) int {
	found := s.resolve(q)
	if p, ok := found.(posting); ok {
		return p.len()
	}
	n := 0
	var w words
	for i := found.from(0); i >= 0; i = found.from(i + 1) {
		w = words{}
		if found.load(i, &w) {
			n += w.count()
		}
	}
	return n
}

// finding is a query resolved in a snapshot.
type finding interface {
	len() int                  // about how many slots, at most
	from(i int) int            // the first block not before i that may have some, or -1
	load(i int, w *words) bool // sets block i's bits in w, which is empty; reports whether there may be any
}

// resolve looks up q's values.
func (s *Snapshot[T]) resolve(q Query[T]) finding {
	switch q.kind {
	case queryIs:
		return s.resolveIs(q)
	case queryNot:
		return except[T]{every[T]{s}, []finding{s.resolve(q.of[0])}}
	case queryOr:
		var of union
		for _, q := range q.of {
			of = append(of, s.resolve(q))
		}
		return of.simple()
	}
	var of common
	var not []finding
	for _, q := range q.of {
		if q.kind == queryNot {
			not = append(not, s.resolve(q.of[0]))
		} else {
			of = append(of, s.resolve(q))
		}
	}
	var found finding = every[T]{s}
	if len(of) > 0 {
		slices.SortFunc(of, func(a, b finding) int { return cmp.Compare(a.len(), b.len()) })
		found = of.simple()
	}
	if len(not) > 0 {
		found = except[T]{found, not}
	}
	return found
}

func (s *Snapshot[T]) resolveIs(q Query[T]) finding {
	v := s.index(q.ix)
	if v == nil {
		v = q.ix.scan(s)
	}
	var of union
	for i, value := range q.values {
		if slices.Contains(q.values[:i], value) {
			continue
		}
		if _, at := v.values.find(hashOf(value), value); at != nil {
			of = append(of, at.val)
		}
	}
	return of.simple()
}

// union is what any of its parts has.
type union []finding

func (u union) simple() finding {
	if len(u) == 1 {
		return u[0]
	}
	return u
}

func (u union) len() int {
	n := 0
	for _, f := range u {
		n += f.len()
	}
	return n
}

func (u union) from(i int) int {
	first := -1
	for _, f := range u {
		if at := f.from(i); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

func (u union) load(i int, w *words) bool {
	some := false
	for _, f := range u {
		var part words
		if f.load(i, &part) {
			some = true
			for j := range w {
				w[j] |= part[j]
			}
		}
	}
	return some
}

// common is what all of its parts (at least one) have, the smallest first.
type common []finding

func (c common) simple() finding {
	if len(c) == 1 {
		return c[0]
	}
	return c
}

func (c common) len() int       { return c[0].len() }
func (c common) from(i int) int { return c[0].from(i) }
func (c common) load(i int, w *words) bool {
	if !c[0].load(i, w) {
		return false
	}
	for _, f := range c[1:] {
		var part words
		if !f.load(i, &part) {
			return false
		}
		var some uint64
		for j := range w {
			w[j] &= part[j]
			some |= w[j]
		}
		if some == 0 {
			return false
		}
	}
	return true
}

// except is what the first has and none of the others.
type except[T any] struct {
	finding
	not []finding
}

func (e except[T]) load(i int, w *words) bool {
	if !e.finding.load(i, w) {
		return false
	}
	for _, f := range e.not {
		var part words
		if f.load(i, &part) {
			for j := range w {
				w[j] &^= part[j]
			}
		}
	}
	return true
}

// every is all objects.
type every[T any] struct{ s *Snapshot[T] }

func (e every[T]) len() int { return e.s.n }

func (e every[T]) from(i int) int {
	if i<<blockBits < len(e.s.objects.chunks)<<slotBits {
		return i
	}
	return -1
}

func (e every[T]) load(i int, w *words) bool {
	const chunks = blockSlots >> slotBits // of a block
	all := e.s.objects.chunks
	for k := i * chunks; k < min(len(all), (i+1)*chunks); k++ {
		for j := range all[k].pages {
			if p := all[k].pages[j].Load(); p != nil {
				slot := k<<slotBits | j<<pageBits
				w[slot>>6&(blockWords-1)] |= uint64(p.live) << (slot & 63)
			}
		}
	}
	return true
}
