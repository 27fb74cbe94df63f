package informer

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
)

// SharedOverlay is an [Overlay] over a [Shared] handle: it shows the caller's own writes before the watch brings them back. It ends
// with its handle. Other handles and overlays see nothing of it.
type SharedOverlay[T runtime.Object] struct {
	shared *Shared[T]
	base   atomic.Pointer[Overlay[runtime.Object]] // nil once closed, so that it does not hold on to the store
}

// NewOverlay makes an overlay over the handle. Of a released handle it is closed.
func (s *Shared[T]) NewOverlay(opts OverlayOptions) *SharedOverlay[T] {
	o := &SharedOverlay[T]{shared: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		o.base.Store(NewOverlay(s.entry.Load().informer, opts))
		s.overlays[o] = struct{}{}
	}
	return o
}

// Close takes the overlay out of the informer's event path and forgets its entries. Reads through it then find nothing.
func (o *SharedOverlay[T]) Close() {
	base := o.base.Swap(nil)
	if base == nil {
		return
	}
	o.shared.mu.Lock()
	delete(o.shared.overlays, o)
	o.shared.mu.Unlock()
	base.Close()
}

// Wrote notes a create, update or patch; see [Overlay.Wrote]. The error is one of that, or [ErrReleased] if the overlay is closed.
func (o *SharedOverlay[T]) Wrote(obj T) error {
	if base := o.base.Load(); base != nil {
		return base.Wrote(obj)
	}
	return o.closed()
}

// Deleted notes a delete; see [Overlay.Deleted]. Errors are those of Wrote.
func (o *SharedOverlay[T]) Deleted(obj T) error {
	if base := o.base.Load(); base != nil {
		return base.Deleted(obj)
	}
	return o.closed()
}

func (o *SharedOverlay[T]) closed() error {
	return fmt.Errorf("informer %s: overlay is closed: %w", o.shared.name, ErrReleased)
}

// Len is the number of keys with unseen writes.
func (o *SharedOverlay[T]) Len() int {
	if base := o.base.Load(); base != nil {
		return base.Len()
	}
	return 0
}

// Get returns the object under key: the own write if the store has not seen it, else what the store has.
func (o *SharedOverlay[T]) Get(key string) (T, bool) {
	if base := o.base.Load(); base != nil {
		if obj, ok := base.Get(key); ok {
			return o.shared.show(key, obj)
		}
	}
	var none T
	return none, false
}

// All yields every object once: own writes, and of the rest what the store has.
func (o *SharedOverlay[T]) All() iter.Seq2[string, T] {
	if base := o.base.Load(); base != nil {
		return showAll(o.shared, base.All())
	}
	return nothing[T]
}

// Index is [SharedIndex.Get] with own writes.
func (o *SharedOverlay[T]) Index(ix *SharedIndex[T], value string) iter.Seq2[string, T] {
	if base := o.base.Load(); base != nil && ix.base != nil {
		return showAll(o.shared, base.Index(ix.base, value))
	}
	return nothing[T]
}

// Barrier waits until the store has seen the own writes to key; see [Overlay.Barrier]. A closed overlay has none.
func (o *SharedOverlay[T]) Barrier(ctx context.Context, key string) error {
	base := o.base.Load()
	if base == nil {
		return nil
	}
	ctx, cancel := o.shared.bind(ctx)
	defer cancel()
	return base.Barrier(ctx, key)
}
