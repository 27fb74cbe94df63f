package store

import (
	"iter"
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

// Select iterates over the objects that q wants, in the order of [Snapshot.All]. It looks at no other object: an And goes
// through its smallest part only, a Not inside an And takes away from what the rest found. It is worked out as the
// iteration goes.
func (s *Snapshot[T]) Select(q Query[T]) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		for slot := range found(s.resolve(q)) {
			if at := s.objects.at(slot); !yield(at.key, s.unpack(at)) {
				return
			}
		}
	}
}

// Count is the number of objects that q wants. It looks at no object.
func (s *Snapshot[T]) Count(q Query[T]) int {
	f := s.resolve(q)
	switch f := f.(type) {
	case posting:
		return f.len()
	case every[T]:
		return f.len()
	}
	n := 0
	if _, few := candidates(f); few {
		for range found(f) {
			n++
		}
		return n
	}
	var sel selection
	for i := f.from(0); i >= 0; i = f.from(i + 1) {
		f.add(i, &sel)
		n += sel.count()
		sel.clear()
	}
	return n
}

// resolve looks up q's values. What it returns is for one use by one goroutine.
func (s *Snapshot[T]) resolve(q Query[T]) finding {
	switch q.kind {
	case queryIs:
		return s.resolveIs(q)
	case queryNot:
		return &except{finding: every[T]{s}, not: []finding{s.resolve(q.of[0])}}
	case queryOr:
		of := make([]finding, len(q.of))
		for i := range q.of {
			of[i] = s.resolve(q.of[i])
		}
		return anyOf(of)
	}
	var of, not []finding
	for i := range q.of {
		if q.of[i].kind == queryNot {
			not = append(not, s.resolve(q.of[i].of[0]))
		} else {
			of = append(of, s.resolve(q.of[i]))
		}
	}
	found := finding(every[T]{s})
	if len(of) > 0 {
		found = allOf(of)
	}
	if len(not) > 0 {
		found = &except{finding: found, not: not}
	}
	return found
}

func (s *Snapshot[T]) resolveIs(q Query[T]) finding {
	v := s.index(q.ix)
	if v == nil {
		v = q.ix.scan(s)
	}
	of := make([]finding, 0, len(q.values))
	for i, value := range q.values {
		if slices.Contains(q.values[:i], value) {
			continue
		}
		if _, at := v.values.find(hashOf(value), value); at != nil {
			of = append(of, at.val)
		}
	}
	return anyOf(of)
}
