package listwatch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Expect is source with objects of another kind than kind set aside: they become items whose Object errs with
// [*WrongTypeError]. It is for sources whose type does not tell kinds apart, such as *unstructured.Unstructured. An object
// that carries no kind passes, as typed ones don't.
func Expect[T runtime.Object](source Source[T], kind schema.GroupVersionKind) Source[T] {
	return expecting[T]{source, kind}
}

type expecting[T runtime.Object] struct {
	source Source[T]
	kind   schema.GroupVersionKind
}

func (e expecting[T]) List(ctx context.Context, opts metav1.ListOptions) (Page[T], error) {
	page, err := e.source.List(ctx, opts)
	for i := range page.Items {
		e.check(&page.Items[i])
	}
	return page, err
}

func (e expecting[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	stream, err := e.source.Watch(ctx, opts)
	if err != nil || stream == nil {
		return nil, err
	}
	return expectingStream[T]{stream, e}, nil
}

type expectingStream[T runtime.Object] struct {
	Stream[T]
	expecting[T]
}

func (s expectingStream[T]) Next(ctx context.Context) ([]Event[T], error) {
	events, err := s.Stream.Next(ctx)
	for i := range events {
		if events[i].Type != Bookmark {
			s.check(&events[i].Item)
		}
	}
	return events, err
}

// check makes it look at the object's kind once it is decoded.
func (e expecting[T]) check(it *Item[T]) {
	inner := *it
	it.load = func() (T, error) {
		obj, err := inner.Object()
		if err != nil {
			return obj, err
		}
		if got := obj.GetObjectKind().GroupVersionKind(); !got.Empty() && got != e.kind {
			var none T
			return none, &WrongTypeError{Key: inner.Key, Want: e.kind.String(), Got: got.String()}
		}
		return obj, nil
	}
}
