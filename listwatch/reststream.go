package listwatch

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
)

// restStream reads events off the body of a watch. Its reader does the reading; there is no goroutine.
type restStream[T any] struct {
	ctx    context.Context // of the request: its end ends the body
	body   io.ReadCloser
	codec  codec[T]
	frames frames
	stop   sync.Once
	ended  chan struct{} // closed by Stop

	batch []Event[T]
	err   error // what ended the stream; told when the events before it have been
}

func newRESTStream[T any](ctx context.Context, body io.ReadCloser, c codec[T]) *restStream[T] {
	return &restStream[T]{ctx: ctx, body: body, codec: c, frames: frames{body: body}, ended: make(chan struct{})}
}

func (s *restStream[T]) Stop() {
	s.stop.Do(func() {
		close(s.ended)
		_ = s.body.Close() // nothing is to be had from it any more
	})
}

func (s *restStream[T]) Next(ctx context.Context) ([]Event[T], error) {
	clear(s.batch)
	s.batch = s.batch[:0]
	if s.err != nil {
		return nil, s.err
	}
	if ctx != s.ctx {
		defer context.AfterFunc(ctx, s.Stop)()
	}
	for len(s.batch) < maxBatch {
		frame, ok, err := s.frames.next(len(s.batch) == 0)
		if err == nil && !ok {
			break
		}
		if err == nil {
			var ev Event[T]
			if ev, err = s.codec.event(frame); err == nil {
				s.batch = append(s.batch, ev)
				continue
			}
		}
		s.err = s.why(ctx, err)
		break
	}
	if len(s.batch) == 0 {
		return nil, s.err
	}
	return s.batch, nil
}

// why tells what ended the stream: a body that was closed says only that.
func (s *restStream[T]) why(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	}
	select {
	case <-s.ended:
		return io.EOF
	default:
		return err
	}
}

// event decodes an event, JSON or protobuf. The object is copied: frame won't last.
func (c codec[T]) event(frame []byte) (Event[T], error) {
	var typ string
	var raw []byte
	if bytes.HasPrefix(frame, []byte("{")) {
		if !stdjson.Valid(frame) {
			return Event[T]{}, &DecodeError{Err: errors.New("the event is not JSON")}
		}
		eachField(frame, func(name, value []byte) {
			switch string(name) {
			case "type":
				typ = text(value)
			case "object":
				raw = bytes.Clone(value)
			}
		})
	} else {
		var ev metav1.WatchEvent
		if err := ev.Unmarshal(frame); err != nil {
			return Event[T]{}, &DecodeError{Err: fmt.Errorf("the event: %w", err)}
		}
		typ, raw = ev.Type, ev.Object.Raw
	}
	return c.eventOf(watch.EventType(typ), raw)
}

func (c codec[T]) eventOf(typ watch.EventType, raw []byte) (Event[T], error) {
	out := Event[T]{}
	switch typ {
	case watch.Error:
		return out, statusError(raw)
	case watch.Bookmark:
		rv, annotations, err := bookmarkOf(raw)
		if err != nil {
			return out, &DecodeError{Err: fmt.Errorf("bookmark: %w", err)}
		}
		return bookmark[T](rv, annotations), nil
	case watch.Added:
		out.Type = Added
	case watch.Modified:
		out.Type = Modified
	case watch.Deleted:
		out.Type = Deleted
	default:
		return out, fmt.Errorf("listwatch: unknown event type %q", typ)
	}
	var err error
	out.Item, err = c.item(raw)
	return out, err
}

// bookmarkOf reads the metadata that a bookmark's object has, whatever its kind.
func bookmarkOf(raw []byte) (rv string, annotations map[string]string, err error) {
	obj := &metav1.PartialObjectMetadata{}
	if bytes.HasPrefix(raw, protobufMagic) {
		_, message, err := openEnvelope(raw)
		if err != nil {
			return "", nil, err
		}
		meta := metadataOf(message)
		err = obj.ObjectMeta.Unmarshal(meta)
		return obj.ResourceVersion, obj.Annotations, err
	}
	err = json.Unmarshal(raw, obj)
	return obj.ResourceVersion, obj.Annotations, err
}
