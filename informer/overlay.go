package informer

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/informerkit/informerkit/internal/ownwrites"
	"github.com/informerkit/informerkit/store"
)

// Overlay shows a controller its own writes before the watch brings them back. After a successful write, give what the
// server answered to [Overlay.Wrote] or [Overlay.Deleted]; reads through the overlay are then at least as new as that.
//
// An entry lives until the informer's store has seen its resource version, or the object's deletion: it is dropped in the
// event path, after the store has the change and before any handler is told of it. So a handler that reads through the
// overlay never sees an older own write shadow what it is called for, nor an object that it is told is deleted. Entries are
// lost neither to time nor to size: when there are too many, the write that is one too many is refused. A server that was restored
// from a backup has lost them: the overlay drops them then, with the list that finds out.
//
// All methods are safe for concurrent use.
type Overlay[T any] struct {
	informer *Informer[T]

	mu     sync.RWMutex // guards writes; a leaf, also taken under informer.mu
	writes *ownwrites.Table[T]
}

// OverlayOptions configures an [Overlay]. The zero value works.
type OverlayOptions struct {
	// Max is how many keys may have unseen writes. 0: DefaultOverlayMax.
	Max int
}

// DefaultOverlayMax is how many unseen writes an overlay holds if its options don't say.
const DefaultOverlayMax = 10_000

// ErrOverlayFull is returned for a write that an overlay can't remember. The caller may wait for the informer
// ([Informer.WaitFor] the written resource version) in place of reading through the overlay.
var ErrOverlayFull = errors.New("too many own writes that the informer has not seen")

// NewOverlay makes an overlay over i.
func NewOverlay[T any](i *Informer[T], opts OverlayOptions) *Overlay[T] {
	if opts.Max <= 0 {
		opts.Max = DefaultOverlayMax
	}
	o := &Overlay[T]{informer: i, writes: ownwrites.NewTable[T](ownwrites.Options{Max: opts.Max})}
	i.mu.Lock()
	i.overlays = append(i.overlays, o)
	i.mu.Unlock()
	return o
}

// Close takes the overlay out of the informer's event path and forgets its entries.
func (o *Overlay[T]) Close() {
	i := o.informer
	i.mu.Lock()
	i.overlays = slices.DeleteFunc(i.overlays, func(other *Overlay[T]) bool { return other == o })
	i.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writes.Clear()
}

// Wrote notes a create, update or patch: obj is what the server answered, with its resource version, and is not to be
// changed afterwards. A write that the informer has seen already, that is older than one noted, or that is to an object noted as
// deleted, is ignored. The error is [ErrOverlayFull], or says that obj has no usable resource version.
func (o *Overlay[T]) Wrote(obj T) error { return o.note(ownwrites.New(obj)) }

// Deleted notes that obj, in the last state known, was deleted and is gone: it hides every state of it, and those of objects that
// had its name before. If finalizers keep it, the server answers the object with a deletion timestamp: that is for Wrote.
// Errors are those of Wrote.
func (o *Overlay[T]) Deleted(obj T) error { return o.note(ownwrites.NewDeletion(obj)) }

func (o *Overlay[T]) note(write ownwrites.Write[T], err error) error {
	if err != nil {
		return fmt.Errorf("informer %s: overlay: %w", o.informer.opts.Name, err)
	}
	// The informer's lock keeps the store from getting there between the question and the answer.
	o.informer.mu.Lock()
	defer o.informer.mu.Unlock()
	current, had := o.informer.store.Get(write.Key)
	if !write.Against(current, had, o.informer.store.Revision()).Unseen() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writes.Full(write.Key) {
		return fmt.Errorf("informer %s: overlay: %s: %w (%d)", o.informer.opts.Name, write.Key, ErrOverlayFull, o.writes.Len())
	}
	o.writes.Put(write)
	return nil
}

// observeLocked drops what the store has caught up with, given what a commit changed and the revision it reached ("": the
// same). The informer's lock is held, and no handler has been told yet.
func (o *Overlay[T]) observeLocked(changes []store.Change[T], revision string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writes.Len() == 0 {
		return
	}
	for n := range changes {
		c := &changes[n]
		if write, ok := o.writes.Get(c.Key); ok {
			write.Against(c.Old, c.HadOld, "")
			o.writes.Saw(write, c.New, c.HasNew, "")
		}
	}
	if revision != "" {
		o.writes.Reached(revision, o.informer.store.Get)
	}
}

// forgetLocked drops everything: the server's history, and the versions of what was written with it, is not what it was. Called as
// observeLocked is.
func (o *Overlay[T]) forgetLocked() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writes.Clear()
}

// Len is the number of keys with unseen writes.
func (o *Overlay[T]) Len() int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.writes.Len()
}

// Get returns the object under key: the own write if the store has not seen it, else what the store has.
func (o *Overlay[T]) Get(key string) (T, bool) {
	o.mu.RLock()
	write, ok := o.writes.Get(key)
	o.mu.RUnlock()
	// In this order: an entry that is gone here was dropped because the store has what follows.
	current, had := o.informer.store.Get(key)
	if !ok {
		return current, had
	}
	return write.Show(current, had, "")
}

// All yields every object once: own writes, and of the rest what the store has.
func (o *Overlay[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		o.mu.RLock()
		own := o.writes.All()
		snapshot := o.informer.store.Snapshot()
		o.mu.RUnlock()
		for key, obj := range snapshot.All() {
			if write, ok := own[key]; ok {
				delete(own, key)
				if obj, ok = write.Show(obj, true, snapshot.Revision()); !ok {
					continue
				}
			}
			if !yield(key, obj) {
				return
			}
		}
		for _, key := range slices.Sorted(maps.Keys(own)) {
			var none T
			write := own[key]
			if obj, ok := write.Show(none, false, snapshot.Revision()); ok && !yield(key, obj) {
				return
			}
		}
	}
}

// Index is [store.Index.Get] with own writes: objects are found under the values of the state that is shown. It costs what it
// finds, however many unseen writes there are.
func (o *Overlay[T]) Index(ix *store.Index[T], value string) iter.Seq2[string, T] {
	var found []keyed[T]
	o.useIndex(ix)
	o.mu.RLock()
	// A snapshot can be newer than the entries: then it has caught up with some.
	snapshot := o.informer.store.Snapshot()
	for key, obj := range ix.Get(snapshot, value) {
		if write, ok := o.writes.Get(key); !ok || !write.Against(obj, true, snapshot.Revision()).Unseen() {
			found = append(found, keyed[T]{key, obj})
		}
	}
	for write := range o.writes.Under(ix, value) {
		current, had := snapshot.Get(write.Key)
		if write.Against(current, had, snapshot.Revision()).Unseen() {
			found = append(found, keyed[T]{write.Key, write.Obj})
		}
	}
	o.mu.RUnlock()
	return func(yield func(string, T) bool) {
		for _, f := range found {
			if !yield(f.key, f.obj) {
				return
			}
		}
	}
}

// useIndex makes o keep own writes by the values of ix from now on.
func (o *Overlay[T]) useIndex(ix *store.Index[T]) {
	o.mu.RLock()
	used := o.writes.Uses(ix)
	o.mu.RUnlock()
	if !used {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.writes.Use(ix)
	}
}

// Barrier waits until the store has seen the own writes to key; writes to other keys hold nobody up. When ctx ends first, the error is a [NotSyncedError].
func (o *Overlay[T]) Barrier(ctx context.Context, key string) error {
	for {
		o.mu.Lock()
		over := o.writes.Over(key)
		o.mu.Unlock()
		if over == nil {
			return nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			return o.informer.notSynced(ctx, "")
		}
	}
}
