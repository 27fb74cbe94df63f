package listwatch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Source lists and watches one collection. It is safe for concurrent use, and both calls end with their context.
//
// A source hands options on as it gets them: how to page, from where to watch and how fresh an answer must be is its
// caller's business, see https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
type Source[T any] interface {
	// List returns one page: opts.Limit and opts.Continue are the caller's. The error is the server's, so that the
	// functions of k8s.io/apimachinery/pkg/api/errors apply. An object that cannot be had is an [Item] of the page and no
	// error where the source can tell objects apart ([REST]); a client that decodes pages as a whole fails as a whole.
	List(ctx context.Context, opts metav1.ListOptions) (Page[T], error)
	// Watch opens a stream of what happens after opts.ResourceVersion; it sets opts.Watch. With opts.SendInitialEvents it
	// is a streaming list, and [ErrStreamingUnsupported] says at once that this source has none. The stream ends with ctx
	// too.
	Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error)
}

// Page is one answer to a list.
type Page[T any] struct {
	Items           []Item[T]
	ResourceVersion string // of the list: the same on each of its pages; "" if the server has none
	Continue        string // where the next page starts; "" on the last one
	Remaining       int64  // items after this page, as far as the server says; -1 unknown
}

// Stream is an open watch. One goroutine reads it; Stop may come from any.
type Stream[T any] interface {
	// Next blocks until there is an event and returns all that are ready, in order; the slice is valid until the next
	// call. The error is io.EOF when the server ended the stream, ctx's cause when ctx ended, and the server's own (as
	// apierrors.FromObject gives it) for an ERROR event; events and an error never come together. A stream that gave an
	// error gives nothing more.
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

// String is the name the API server uses.
func (t EventType) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	case Bookmark:
		return "BOOKMARK"
	}
	return "UNKNOWN"
}

// Event is one event of a stream.
type Event[T any] struct {
	Type EventType
	// Item is the object (of a Deleted, its last state); of a Bookmark, only ResourceVersion is set.
	Item Item[T]
	// InitialEventsEnd marks the Bookmark that ends a streaming list (annotation k8s.io/initial-events-end).
	InitialEventsEnd bool
}
