package informer

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/informerkit/informerkit/store"
)

// Overlay shows a controller its own writes before the watch brings them back. After a successful write, give what the
// server answered to [Overlay.Wrote] or [Overlay.Deleted]; reads through the overlay are then at least as new as that.
//
// An entry lives until the informer's store has seen its resource version, or the object's deletion: it is dropped in the
// event path, after the store has the change and before any handler is told of it. So a handler that reads through the
// overlay never sees an older own write shadow what it is called for, nor an object that it is told is deleted. Entries are
// lost neither to time nor to size: when there are too many, the write that is one too many is refused.
//
// All methods are safe for concurrent use.
type Overlay[T any] struct {
	informer *Informer[T]
	max      int

	mu      sync.RWMutex // guards what follows; a leaf, also taken under informer.mu
	entries map[string]*ownWrite[T]
	order   waiterHeap                                         // of the entries' waiters, until the store's revision has reached them
	indexes map[*store.Index[T]]map[string]map[string]struct{} // keys of entries by value, for the indexes in use
}

// ownWrite is what was written to one key and has not been seen yet.
type ownWrite[T any] struct {
	*waiter // its resource version; reached when the entry is dropped or replaced by a later write
	obj     T
	uid     string
	deleted bool
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
	o := &Overlay[T]{
		informer: i,
		max:      opts.Max,
		entries:  map[string]*ownWrite[T]{},
		indexes:  map[*store.Index[T]]map[string]map[string]struct{}{},
	}
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
	for key := range o.entries {
		o.dropLocked(key)
	}
}

// Wrote notes a create, update or patch: obj is what the server answered, with its resource version, and is not to be
// changed afterwards. A write that the informer has seen already, or that is older than one noted, is ignored. The error is
// [ErrOverlayFull], or says that obj has no usable resource version.
func (o *Overlay[T]) Wrote(obj T) error { return o.note(obj, false) }

// Deleted notes that obj, in the last state known, was deleted and is gone. If finalizers keep it, the server answers
// the object with a deletion timestamp: that is for Wrote. Errors are those of Wrote.
func (o *Overlay[T]) Deleted(obj T) error { return o.note(obj, true) }

func (o *Overlay[T]) note(obj T, deleted bool) error {
	m := metaOf(obj)
	if m == nil {
		return fmt.Errorf("informer %s: overlay: %T has no object metadata", o.informer.opts.Name, obj)
	}
	rv := m.GetResourceVersion()
	if _, err := resourceversion.CompareResourceVersion(rv, rv); err != nil {
		return fmt.Errorf("informer %s: overlay: %s: resource version %q: %w", o.informer.opts.Name, keyOf(m), rv, err)
	}
	key := keyOf(m)
	write := &ownWrite[T]{
		waiter:  &waiter{rv: rv, key: key, reached: make(chan struct{})},
		obj:     obj,
		uid:     string(m.GetUID()),
		deleted: deleted,
	}

	// The informer's lock keeps the store from getting there between the question and the answer.
	o.informer.mu.Lock()
	defer o.informer.mu.Unlock()
	current, had := o.informer.store.Get(key)
	if o.superseded(write, current, had, o.informer.store.Revision()) {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if former, ok := o.entries[key]; ok {
		if older(rv, former.rv) || former.deleted && former.uid == write.uid {
			return nil
		}
		o.dropLocked(key)
	} else if len(o.entries) >= o.max {
		return fmt.Errorf("informer %s: overlay: %s: %w (%d)", o.informer.opts.Name, key, ErrOverlayFull, o.max)
	}
	o.entries[key] = write
	heap.Push(&o.order, write.waiter)
	for ix := range o.indexes {
		o.indexLocked(ix, key, write, true)
	}
	return nil
}

func keyOf(m metav1.Object) string {
	if ns := m.GetNamespace(); ns != "" {
		return ns + "/" + m.GetName()
	}
	return m.GetName()
}

// superseded reports that a store at revision, with current under the write's key if had, has nothing to learn from write.
func (o *Overlay[T]) superseded(write *ownWrite[T], current T, had bool, revision string) bool {
	seen := revision != "" && reached(revision, write.rv)
	if !had {
		return seen
	}
	m := metaOf(current)
	if m == nil {
		return true
	}
	same := string(m.GetUID()) == write.uid
	if write.deleted {
		// The state before a deletion tells nothing of the deletion: while that object is stored, it hides.
		return !same && (seen || !older(m.GetResourceVersion(), write.rv))
	}
	return seen || !older(m.GetResourceVersion(), write.rv)
}

// observeLocked drops what the store has caught up with, given what a commit changed and the revision it reached ("": the
// same). The informer's lock is held, and no handler has been told yet.
func (o *Overlay[T]) observeLocked(changes []store.Change[T], revision string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.entries) == 0 {
		return
	}
	for n := range changes {
		c := &changes[n]
		write, ok := o.entries[c.Key]
		if !ok {
			continue
		}
		gone := !c.HasNew && string(uidOf(c.Old)) == write.uid
		if gone || c.HasNew && o.superseded(write, c.New, true, "") {
			o.dropLocked(c.Key)
		}
	}
	if revision == "" {
		return
	}
	for len(o.order) > 0 && reached(revision, o.order[0].rv) {
		w := heap.Pop(&o.order).(*waiter)
		write := o.entries[w.key]
		if current, had := o.informer.store.Get(w.key); o.superseded(write, current, had, revision) {
			o.dropLocked(w.key)
		}
	}
}

func (o *Overlay[T]) dropLocked(key string) {
	write := o.entries[key]
	if write.index >= 0 {
		heap.Remove(&o.order, write.index)
	}
	for ix := range o.indexes {
		o.indexLocked(ix, key, write, false)
	}
	close(write.reached)
	delete(o.entries, key)
}

// Len is the number of keys with unseen writes.
func (o *Overlay[T]) Len() int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return len(o.entries)
}

// Get returns the object under key: the own write if the store has not seen it, else what the store has.
func (o *Overlay[T]) Get(key string) (T, bool) {
	o.mu.RLock()
	write, ok := o.entries[key]
	o.mu.RUnlock()
	// In this order: an entry that is gone here was dropped because the store has what follows.
	if !ok {
		return o.informer.store.Get(key)
	}
	if write.deleted {
		current, had := o.informer.store.Get(key)
		if had && string(uidOf(current)) != write.uid {
			return current, true
		}
		var zero T
		return zero, false
	}
	return write.obj, true
}

// All yields every object once: own writes, and of the rest what the store has.
func (o *Overlay[T]) All() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		o.mu.RLock()
		own := maps.Clone(o.entries)
		snapshot := o.informer.store.Snapshot()
		o.mu.RUnlock()
		for key, obj := range snapshot.All() {
			if o.shadows(own[key], snapshot, obj, true) {
				continue
			}
			if !yield(key, obj) {
				return
			}
		}
		for _, key := range slices.Sorted(maps.Keys(own)) {
			current, had := snapshot.Get(key)
			if o.shadows(own[key], snapshot, current, had) && !own[key].deleted && !yield(key, own[key].obj) {
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
	snapshot := o.informer.store.Snapshot()
	for key, obj := range ix.Get(snapshot, value) {
		if !o.shadows(o.entries[key], snapshot, obj, true) {
			found = append(found, keyed[T]{key, obj})
		}
	}
	for key := range o.indexes[ix][value] {
		current, had := snapshot.Get(key)
		if write := o.entries[key]; o.shadows(write, snapshot, current, had) {
			found = append(found, keyed[T]{key, write.obj})
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

// shadows reports that write, if there is one, is shown (or, deleted, hides) in place of what snapshot has under its key.
// A snapshot can be newer than the entries: then it has caught up with some.
func (o *Overlay[T]) shadows(write *ownWrite[T], snapshot *store.Snapshot[T], current T, had bool) bool {
	return write != nil && !o.superseded(write, current, had, snapshot.Revision()) &&
		!(write.deleted && had && string(uidOf(current)) != write.uid)
}

// useIndex makes o keep own writes by the values of ix from now on.
func (o *Overlay[T]) useIndex(ix *store.Index[T]) {
	o.mu.RLock()
	_, used := o.indexes[ix]
	o.mu.RUnlock()
	if used {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, used := o.indexes[ix]; used {
		return
	}
	o.indexes[ix] = map[string]map[string]struct{}{}
	for key, write := range o.entries {
		o.indexLocked(ix, key, write, true)
	}
}

// indexLocked puts an own write under its values in ix, or takes it out. A function that fails on it leaves it out.
func (o *Overlay[T]) indexLocked(ix *store.Index[T], key string, write *ownWrite[T], in bool) {
	if write.deleted {
		return
	}
	values, err := ix.Of(write.obj)
	if err != nil {
		return
	}
	byValue := o.indexes[ix]
	for _, value := range values {
		switch keys := byValue[value]; {
		case in && keys == nil:
			byValue[value] = map[string]struct{}{key: {}}
		case in:
			keys[key] = struct{}{}
		default:
			if delete(keys, key); len(keys) == 0 {
				delete(byValue, value)
			}
		}
	}
}

// Barrier waits until the store has seen the own writes to key; writes to other keys hold nobody up. When ctx ends first, the error is a [NotSyncedError].
func (o *Overlay[T]) Barrier(ctx context.Context, key string) error {
	for {
		o.mu.RLock()
		write, ok := o.entries[key]
		o.mu.RUnlock()
		if !ok {
			return nil
		}
		select {
		case <-write.reached:
		case <-ctx.Done():
			return o.informer.notSynced(ctx, "")
		}
	}
}
