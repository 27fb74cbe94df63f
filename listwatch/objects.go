package listwatch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Objects is a source seen as one of runtime.Object, for those who hold several kinds in one type.
func Objects[T runtime.Object](source Source[T]) Source[runtime.Object] {
	return objects[T]{source}
}

type objects[T runtime.Object] struct{ source Source[T] }

func (o objects[T]) List(ctx context.Context, opts metav1.ListOptions) (Page[runtime.Object], error) {
	page, err := o.source.List(ctx, opts)
	if err != nil {
		return Page[runtime.Object]{}, err
	}
	wide := Page[runtime.Object]{
		Items:           make([]Item[runtime.Object], len(page.Items)),
		ResourceVersion: page.ResourceVersion,
		Continue:        page.Continue,
		Remaining:       page.Remaining,
	}
	for n := range page.Items {
		wide.Items[n] = widen(page.Items[n])
	}
	return wide, nil
}

func (o objects[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[runtime.Object], error) {
	stream, err := o.source.Watch(ctx, opts)
	if err != nil || stream == nil {
		return nil, err
	}
	return &objectStream[T]{Stream: stream}, nil
}

type objectStream[T runtime.Object] struct {
	Stream[T]
	batch []Event[runtime.Object]
}

func (s *objectStream[T]) Next(ctx context.Context) ([]Event[runtime.Object], error) {
	clear(s.batch)
	s.batch = s.batch[:0]
	events, err := s.Stream.Next(ctx)
	if err != nil {
		return nil, err
	}
	for n := range events {
		ev := &events[n]
		s.batch = append(s.batch, Event[runtime.Object]{
			Type:             ev.Type,
			Item:             widen(ev.Item),
			InitialEventsEnd: ev.InitialEventsEnd,
		})
	}
	return s.batch, nil
}

func widen[T runtime.Object](it Item[T]) Item[runtime.Object] {
	return LazyItem(it.Key, it.UID, it.ResourceVersion, func() (runtime.Object, error) {
		obj, err := it.Object()
		if err != nil {
			return nil, err
		}
		return obj, nil
	})
}
