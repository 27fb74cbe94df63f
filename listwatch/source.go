package listwatch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Source lists and watches one collection. Safe for concurrent use. Both calls end with their context.
type Source[T any] interface {
	// List returns one page: opts.Limit and opts.Continue are the caller's.
	List(ctx context.Context, opts metav1.ListOptions) (Page[T], error)
	// Watch opens a stream of what happens after opts.ResourceVersion. It sets opts.Watch.
	Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error)
}

// Page is one answer to a list.
type Page[T any] struct {
	Items           []Item[T]
	ResourceVersion string
	Continue        string // "" on the last page
	Remaining       int64  // items after this page, as far as the server says; -1 unknown
}

// Stream is an open watch. One goroutine reads it.
type Stream[T any] interface {
	// Next blocks until there is an event and returns all that are ready, in order; the slice is valid until the next
	// call. The error is io.EOF when the server ended the stream, ctx's when ctx ended, and the server's own (as
	// apierrors.FromObject gives it) for an ERROR event; events and an error never come together.
	Next(ctx context.Context) ([]Event[T], error)
	// Stop ends the stream and releases what it holds. Idempotent.
	Stop()
}

// EventType says what an event of a stream means.
type EventType uint8

const (
	Added EventType = iota + 1
	Modified
	Deleted
	Bookmark // carries a resource version and no object
)

// Event is one event of a stream.
type Event[T any] struct {
	Type EventType
	// Item is the object; of a Bookmark, only ResourceVersion is set.
	Item Item[T]
	// InitialEventsEnd marks the Bookmark that ends a streaming list (annotation k8s.io/initial-events-end).
	InitialEventsEnd bool
}

// Item is one object of the source: its identity, and the object on demand.
type Item[T any] struct {
	Key             string // namespace/name, or name if cluster-scoped; "" if not even that could be read (Object errs)
	UID             string
	ResourceVersion string
}

// Object gives the object, or why it can't be had: undecodable, or not of the type the source is of.
func (it *Item[T]) Object() (T, error) { panic("skeleton") }

// NewItem is an item with a decoded object. An obj without object metadata gives an item whose Object errs.
func NewItem[T any](obj T) Item[T] { panic("skeleton") }

// BadItem is an item whose object can't be had; key "" if unknown.
func BadItem[T any](key, uid, resourceVersion string, err error) Item[T] { panic("skeleton") }
