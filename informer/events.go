package informer

import (
	"context"
	"iter"

	"github.com/informerkit/informerkit/feed"
)

// Events pulls what a handler would be told: an Added for each object there is when the loop begins, and then every change,
// until ctx ends or the loop is left. What the loop lags behind is held in the informer's log, as with [EveryChange]. It
// works while Run runs, in the caller's goroutine; each use of the sequence starts afresh.
func (i *Informer[T]) Events(ctx context.Context) iter.Seq[Event[T]] {
	return func(yield func(Event[T]) bool) {
		i.mu.Lock()
		r := i.newReaderLocked(EveryChange, false)
		i.mu.Unlock()
		defer r.cursor.Close()
		tell := func(e Event[T]) bool { return ctx.Err() == nil && yield(e) }
		onward := func() feed.Position { return anyPosition }
		for r.drain(tell, onward) {
			select {
			case <-r.cursor.Ready():
			case <-ctx.Done():
				return
			}
		}
	}
}
