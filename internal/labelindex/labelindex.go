// Package labelindex finds objects by label selector through a store index.
package labelindex

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/informerkit/informerkit/store"
)

// separator stands between key and value. Neither may contain it: label syntax, see the Kubernetes documentation of labels.
const separator = "\x00"

// Values are what an object with these labels is indexed under: each key, and each key with its value.
func Values(set map[string]string) []string {
	if len(set) == 0 {
		return nil
	}
	values := make([]string, 0, 2*len(set))
	for key, value := range set {
		values = append(values, key, key+separator+value)
	}
	return values
}

// Query is what selector asks of ix, an index of [Values]. Not exact: it finds more, and each object found has to be matched
// against the selector (order comparisons have no index). ok false: the selector says nothing an index could help with.
func Query[T any](ix *store.Index[T], selector labels.Selector) (q store.Query[T], exact, ok bool) {
	requirements, selectable := selector.Requirements()
	if !selectable { // it matches nothing
		return store.Or[T](), true, true
	}
	exact = true
	var parts []store.Query[T]
	for _, r := range requirements {
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
			parts = append(parts, ix.Is(pairs(r)...))
		case selection.NotEquals, selection.NotIn:
			parts = append(parts, store.Not(ix.Is(pairs(r)...)))
		case selection.Exists:
			parts = append(parts, ix.Is(r.Key()))
		case selection.DoesNotExist:
			parts = append(parts, store.Not(ix.Is(r.Key())))
		default: // GreaterThan, LessThan: the key must be there, the rest is compared
			parts, exact = append(parts, ix.Is(r.Key())), false
		}
	}
	if len(parts) == 0 {
		return q, true, false
	}
	return store.And(parts...), exact, true
}

func pairs(r labels.Requirement) []string {
	values := r.Values().UnsortedList()
	for n := range values {
		values[n] = r.Key() + separator + values[n]
	}
	return values
}
