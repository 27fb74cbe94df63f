package informer

import (
	"context"

	"github.com/informerkit/informerkit/reflector"
)

// Synced is closed when the first complete list is in the store. It stays closed, also when the informer stops.
func (i *Informer[T]) Synced() <-chan struct{} { return i.synced }

// WaitSynced waits for Synced. When ctx ends first, the error is a [NotSyncedError], which says what the informer was
// doing and wraps the last list or watch error.
func (i *Informer[T]) WaitSynced(ctx context.Context) error {
	if isClosed(i.synced) {
		return nil
	}
	select {
	case <-i.synced:
		return nil
	case <-ctx.Done():
		return i.notSynced(ctx, "")
	}
}

// notSynced says why ctx ended before what was waited for, in terms of the source that is most to blame.
func (i *Informer[T]) notSynced(ctx context.Context, handler string) error {
	i.mu.Lock()
	name, s := i.blameLocked()
	i.mu.Unlock()
	return &NotSyncedError{
		Informer: i.opts.Name,
		Source:   name,
		Handler:  handler,
		Phase:    s.Phase,
		Attempts: s.Attempts,
		Last:     s.LastError,
		Cause:    context.Cause(ctx),
	}
}

// blameLocked is the status of the source that has not listed, one with an error before one without; of the first, if all
// have listed.
func (i *Informer[T]) blameLocked() (name string, worst reflector.Status) {
	rank := -1
	for _, s := range i.sourcesLocked() {
		status := s.reflector.Status()
		r := 0
		if !s.listed {
			r += 2
		}
		if status.LastError != nil {
			r++
		}
		if r > rank {
			name, worst, rank = s.name, status, r
		}
	}
	return name, worst
}
