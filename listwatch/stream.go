package listwatch

import (
	"context"
	"fmt"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// maxBatch bounds what one Next returns, so that a stream that is always ready still hands over.
const maxBatch = 1024

// NewStream reads a client's watch by pulling; it starts no goroutine. It owns w and stops it with Stop.
func NewStream[T any](w watch.Interface) Stream[T] {
	return &watchStream[T]{w: w, stopped: make(chan struct{})}
}

type watchStream[T any] struct {
	w       watch.Interface
	stop    sync.Once
	stopped chan struct{}

	// Of the reading goroutine.
	batch []Event[T]
	err   error // what ended the stream; told when the events before it have been
}

func (s *watchStream[T]) Stop() {
	s.stop.Do(func() {
		close(s.stopped)
		s.w.Stop()
	})
}

func (s *watchStream[T]) Next(ctx context.Context) ([]Event[T], error) {
	clear(s.batch) // let go of the objects of the last batch
	s.batch = s.batch[:0]
	if s.err != nil {
		return nil, s.err
	}
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-s.stopped:
		s.err = io.EOF
		return nil, s.err
	case ev, ok := <-s.w.ResultChan():
		s.take(ev, ok)
	}
	for s.err == nil && len(s.batch) < maxBatch {
		select {
		case ev, ok := <-s.w.ResultChan():
			s.take(ev, ok)
			continue
		default:
		}
		break
	}
	if len(s.batch) == 0 {
		return nil, s.err
	}
	return s.batch, nil
}

// take adds what was received to the batch, or sets s.err.
func (s *watchStream[T]) take(ev watch.Event, ok bool) {
	if !ok {
		s.err = io.EOF
		return
	}
	out, err := eventOf[T](ev)
	if err != nil {
		s.err = err
		return
	}
	s.batch = append(s.batch, out)
}

func eventOf[T any](ev watch.Event) (Event[T], error) {
	if ev.Type == watch.Error {
		return Event[T]{}, serverError(ev.Object)
	}
	if err := checkAnswer(ev.Object); err != nil {
		return Event[T]{}, err
	}
	switch ev.Type {
	case watch.Added:
		return Event[T]{Type: Added, Item: itemOf[T](ev.Object)}, nil
	case watch.Modified:
		return Event[T]{Type: Modified, Item: itemOf[T](ev.Object)}, nil
	case watch.Deleted:
		return Event[T]{Type: Deleted, Item: itemOf[T](ev.Object)}, nil
	case watch.Bookmark:
		acc, ok := accessor(ev.Object)
		if !ok {
			return Event[T]{}, fmt.Errorf("listwatch: bookmark with %s, which has no metadata", typeName(ev.Object))
		}
		return bookmark[T](acc.GetResourceVersion(), acc.GetAnnotations()), nil
	}
	return Event[T]{}, fmt.Errorf("listwatch: unknown event type %q", ev.Type)
}

func bookmark[T any](resourceVersion string, annotations map[string]string) Event[T] {
	return Event[T]{
		Type:             Bookmark,
		Item:             Item[T]{ResourceVersion: resourceVersion},
		InitialEventsEnd: annotations[metav1.InitialEventsAnnotationKey] == "true",
	}
}
