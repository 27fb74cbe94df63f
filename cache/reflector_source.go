package cache

import (
	"context"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/listwatch"
)

// sourceOf is where lw meets the packages below: all that reflectors and informers of this package get from a server
// comes through here. expectedType is an object of the type that is expected; nil: any.
func sourceOf(lw ListerWatcher, expectedType any) listwatch.Source[any] {
	withContext := ToListerWatcherWithContext(lw)
	var source listwatch.Source[any] = fallbackSource{listwatch.Funcs[any]{
		ListFunc:    withContext.ListWithContext,
		WatchFunc:   withContext.WatchWithContext,
		NoStreaming: watchlist.DoesClientNotSupportWatchListSemantics(lw),
	}}
	if expected := expectationOf(expectedType); expected.goType != nil {
		source = checkedSource{source, expected}
	}
	return source
}

// expectation is what every object of a source has to be.
type expectation struct {
	goType reflect.Type            // nil: anything
	gvk    schema.GroupVersionKind // of unstructured objects; empty: any
}

func expectationOf(example any) expectation {
	e := expectation{goType: reflect.TypeOf(example)}
	if u, ok := example.(*unstructured.Unstructured); ok && u != nil {
		e.gvk = u.GroupVersionKind()
	}
	return e
}

// String is how people call the type.
func (e expectation) String() string {
	switch {
	case e.goType == nil:
		return "<unspecified>"
	case !e.gvk.Empty():
		return e.gvk.String()
	}
	return e.goType.String()
}

// check returns an error for an object of another type.
func (e expectation) check(key string, obj any) error {
	if got := reflect.TypeOf(obj); got != e.goType {
		return &listwatch.WrongTypeError{Key: key, Want: e.goType.String(), Got: got.String()}
	}
	if e.gvk.Empty() {
		return nil
	}
	if got := obj.(*unstructured.Unstructured).GroupVersionKind(); got != e.gvk {
		return &listwatch.WrongTypeError{Key: key, Want: e.gvk.String(), Got: got.String()}
	}
	return nil
}

// checkedSource reports objects that are not what is expected, and makes items of them that say why there is no object.
type checkedSource struct {
	listwatch.Source[any]
	expected expectation
}

func (s checkedSource) List(ctx context.Context, opts metav1.ListOptions) (listwatch.Page[any], error) {
	page, err := s.Source.List(ctx, opts)
	var bad badItems
	for i := range page.Items {
		bad.note(s.check(&page.Items[i]))
	}
	bad.report(ctx)
	return page, err
}

func (s checkedSource) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[any], error) {
	stream, err := s.Source.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	return checkedStream{stream, s}, nil
}

// check returns why there is no object in item, and puts that into it.
func (s checkedSource) check(item *listwatch.Item[any]) error {
	obj, err := item.Object()
	if err != nil {
		return err
	}
	if err = s.expected.check(item.Key, obj); err != nil {
		*item = listwatch.BadItem[any](item.Key, item.UID, item.ResourceVersion, err)
	}
	return err
}

// badItems counts what is wrong with a page or batch: one line in the log has to do for all of it.
type badItems struct {
	first error
	n     int
}

func (b *badItems) note(err error) {
	if err == nil {
		return
	}
	if b.n++; b.n == 1 {
		b.first = err
	}
}

func (b *badItems) report(ctx context.Context) {
	if b.n > 0 {
		klog.FromContext(ctx).Error(b.first, "Objects received cannot be taken in", "objects", b.n)
	}
}

type checkedStream struct {
	listwatch.Stream[any]
	source checkedSource
}

func (s checkedStream) Next(ctx context.Context) ([]listwatch.Event[any], error) {
	events, err := s.Stream.Next(ctx)
	var bad badItems
	for i := range events {
		if events[i].Type != listwatch.Bookmark {
			bad.note(s.source.check(&events[i].Item))
		}
	}
	bad.report(ctx)
	return events, err
}
