package listwatch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Narrow is the part of source that selectors match; nil matches everything. The server selects, so what does not match
// costs neither transfer nor memory, and an object that stops matching arrives as Deleted. Selectors that a caller puts
// into its options apply on top.
func Narrow[T any](source Source[T], byLabel labels.Selector, byField fields.Selector) Source[T] {
	n := narrowed[T]{source: source}
	if byLabel != nil {
		n.labels = byLabel.String()
	}
	if byField != nil {
		n.fields = byField.String()
	}
	if byLabel != nil && !byLabel.Empty() && n.labels == "" || byField != nil && !byField.Empty() && n.fields == "" {
		n.labels = matchesNothing
	}
	return n
}

// matchesNothing spells labels.Nothing and fields.Nothing, whose own spelling is that of everything.
const matchesNothing = "none,!none"

type narrowed[T any] struct {
	source         Source[T]
	labels, fields string
}

func (n narrowed[T]) List(ctx context.Context, opts metav1.ListOptions) (Page[T], error) {
	return n.source.List(ctx, n.narrow(opts))
}

func (n narrowed[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	return n.source.Watch(ctx, n.narrow(opts))
}

func (n narrowed[T]) narrow(opts metav1.ListOptions) metav1.ListOptions {
	opts.LabelSelector = both(n.labels, opts.LabelSelector)
	opts.FieldSelector = both(n.fields, opts.FieldSelector)
	return opts
}

// both is the conjunction of two selectors: a comma, for labels and fields alike.
func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}
