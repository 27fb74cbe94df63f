package reflector

import (
	"context"

	"github.com/informerkit/informerkit/listwatch"
)

// Sink is what a reflector keeps in step. Its methods are called from Run's goroutine only, one at a time. While one
// runs, the stream is not read: a sink hands work on rather than doing it.
type Sink[T any] interface {
	// Replace starts a replacement of everything; it is dropped without notice when the list fails, also after Adds.
	Replace(ctx context.Context) Replacement[T]
	// Apply puts the events of a stream in, in order. The resource version of the events counts as seen only when it
	// returned nil; after an error the reflector lists again, after back-off. A Bookmark moves the resource version only.
	// An object that can't be taken in is best set aside by the sink (and no error), as long as it can be named: with
	// Item.Key "" its change would be lost, so that is an error. events is the reflector's: keep no reference to the slice.
	Apply(ctx context.Context, events []listwatch.Event[T]) error
}

// Replacement takes a list page by page. Nothing shows before Commit.
type Replacement[T any] interface {
	// Add puts items in; of two with one key the later counts. items is the reflector's: keep no reference to the slice.
	// After an error the list is dropped and made again, after back-off.
	Add(items []listwatch.Item[T]) error
	// Remove takes a key out again: in a streaming list an object can be deleted before the list is complete. Unknown
	// keys are ignored.
	Remove(key string) error
	// Commit makes the list the content. After an error the list is made again, after back-off.
	Commit(list ListInfo) error
}

// ListInfo describes a complete list.
type ListInfo struct {
	// ResourceVersion is the list's: every object is as of it. "" if the server gave none.
	ResourceVersion string
	// Reset reports that the server's history was seen to start over (a consistent list older than what was seen
	// before): older resource versions replace newer ones.
	Reset bool
	// Gone reports that the resource no longer exists ([NotFoundClear]): the list is empty and will be until it is back.
	Gone bool
}
