package informer

import (
	"errors"

	"github.com/informerkit/informerkit/feed"
	"github.com/informerkit/informerkit/internal/versions"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/store"
)

// apply commits what a stream's events do, up to resource version rv. Several events of one key are several commits, so that every
// change is told.
func (i *Informer[T]) apply(s *source[T], ops []op[T], rv string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !s.presentLocked() {
		return
	}
	i.batch.Older = olderState[T] // what is late changes nothing
	shard := i.tenure.Load().shard
	several := len(ops) > 1
	for n := range ops {
		o := &ops[n]
		if several {
			if _, again := i.inBatch[o.key]; again {
				i.commitLocked()
			}
			i.inBatch[o.key] = struct{}{}
		}
		gone := o.deleted || o.what == drop
		if !gone && !holds(shard, o.obj) {
			continue // another shard since it was received
		}
		s.holdLocked(o.key, !gone) // a late event, too, tells what the source has
		if !gone {
			i.batch.Put(o.key, o.obj)
		} else if current, had := i.store.Get(o.key); had && !late(current, o) {
			i.deleteLocked(s, o)
		}
	}
	s.sawLocked(rv)
	i.commitLocked()
	i.batch.Older = nil
	i.fresh.saw(i.seenLocked())
}

func (i *Informer[T]) deleteLocked(s *source[T], o *op[T]) {
	if s.held != nil && i.heldElsewhereLocked(s, o.key) {
		return
	}
	if o.deleted && o.what == take {
		i.finals[o.key] = o.obj
	}
	i.batch.Delete(o.key)
}

// errShared ends a list that was begun by a source which was the only one then, and is not any more.
var errShared = errors.New("a source was added or removed while the list was received")

// replaceWhole makes the list the content.
func (i *Informer[T]) replaceWhole(r *replacement[T], info reflector.ListInfo) error {
	s := r.source
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case s.held != nil:
		return errShared
	case r.tenure != i.tenure.Load():
		return ErrResharded
	}
	s.hasAllLocked(info.ResourceVersion)
	changes := r.whole.Commit(info.ResourceVersion)
	i.bad.replace(s, r.bad)
	i.listedLocked(changes, info)
	return nil
}

// sharedList is a complete list of a source that is not the only one.
type sharedList[T any] struct {
	keys    map[string]struct{} // all that are listed
	changed []keyed[T]          // what the store had in another state, or not, in the order of the list
}

type keyed[T any] struct {
	key string
	obj T
}

// replaceShared makes the list what the source has.
func (i *Informer[T]) replaceShared(r *replacement[T], info reflector.ListInfo) error {
	s, next := r.source, &r.shared
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case !s.presentLocked():
		return errShared
	case r.tenure != i.tenure.Load():
		return ErrResharded
	}
	for key := range s.held {
		if _, still := next.keys[key]; !still && !i.heldElsewhereLocked(s, key) {
			i.batch.Delete(key)
		}
	}
	s.held = next.keys
	i.putLocked(next.changed, info.Reset)
	s.hasAllLocked(info.ResourceVersion)
	i.batch.Revision = i.seenLocked()
	i.bad.replace(s, r.bad)
	i.listedLocked(i.writer.Commit(&i.batch), info)
	i.batch.Revision = ""
	return nil
}

// putLocked puts in what was listed, but for what the store has as new by now, from another source perhaps. reset: all of it.
func (i *Informer[T]) putLocked(listed []keyed[T], reset bool) {
	for _, c := range listed {
		if current, had := i.store.Get(c.key); had && !reset && !newer(current, c.obj) {
			continue
		}
		i.batch.Put(c.key, c.obj)
	}
}

// newer reports that next is a later state than current, or that nobody can tell.
func newer[T any](current, next T) bool {
	c, n := metaOf(current), metaOf(next)
	return c == nil || n == nil || !sameState(c, string(n.GetUID()), n.GetResourceVersion()) && !versions.Older(n.GetResourceVersion(), c.GetResourceVersion())
}

// listedLocked tells what a list changed, and that it is stored.
func (i *Informer[T]) listedLocked(changes []store.Change[T], info reflector.ListInfo) {
	seen := i.seenLocked()
	for _, o := range i.overlays {
		if info.Reset {
			o.forgetLocked()
		}
		o.observeLocked(changes, seen)
	}
	// The version is known before anybody is told that the list is stored.
	if info.Reset {
		i.fresh.reset(seen)
	} else {
		i.fresh.saw(seen)
	}
	first := !isClosed(i.synced)
	complete := first && i.allListedLocked()
	if complete {
		// Set before the changes can be read: a reader that has read them knows that they were all.
		i.initialEnd.Store(uint64(i.log.End()) + uint64(len(changes)) + 1)
	}
	i.publishLocked(changes, func(c *feed.Change[T]) {
		c.Initial = first && c.Kind == feed.Added
		c.Lost = c.Kind == feed.Deleted
	})
	if complete {
		close(i.synced)
	}
	i.checkCoveredLocked()
}

// checkSyncedLocked closes synced if the sources that are left have all listed.
func (i *Informer[T]) checkSyncedLocked() {
	if !isClosed(i.synced) && i.allListedLocked() {
		i.initialEnd.Store(uint64(i.log.End()) + 1)
		close(i.synced)
	}
}

func (i *Informer[T]) allListedLocked() bool {
	for _, s := range i.sources {
		if !s.listed {
			return false
		}
	}
	return len(i.sources) > 0
}

// sawLocked moves the source on to rv, never back.
func (s *source[T]) sawLocked(rv string) {
	if rv == "" || versions.Older(rv, s.seen) {
		return
	}
	s.seen = rv
	s.informer.batch.Revision = s.informer.seenLocked()
}

// seenLocked is the resource version up to which every source has been seen.
func (i *Informer[T]) seenLocked() string {
	lowest, first := "", true
	for _, s := range i.sources {
		if first || versions.Older(s.seen, lowest) || s.seen == "" {
			lowest, first = s.seen, false
		}
		if lowest == "" {
			break
		}
	}
	return lowest
}

// commitLocked commits the batch and tells of it. i.finals has, of keys that the batch deletes, the state they were deleted in.
func (i *Informer[T]) commitLocked() { i.commitAsLocked(false) }

// commitAsLocked is commitLocked. moved: what is deleted without a final state is only not held any more.
func (i *Informer[T]) commitAsLocked(moved bool) {
	clear(i.inBatch)
	if i.batch.Len() == 0 && i.batch.Revision == "" {
		return
	}
	revision := i.batch.Revision
	changes := i.writer.Commit(&i.batch)
	for _, o := range i.overlays {
		o.observeLocked(changes, revision)
	}
	i.publishLocked(changes, func(c *feed.Change[T]) {
		if c.Kind != feed.Deleted {
			return
		}
		if final, ok := i.finals[c.Key]; ok {
			c.New = final
		} else {
			c.Lost, c.Moved = true, moved
		}
	})
	i.batch.Revision = ""
	clear(i.finals)
}

// publishLocked appends changes to the feed; finish completes each.
func (i *Informer[T]) publishLocked(changes []store.Change[T], finish func(*feed.Change[T])) {
	if len(changes) == 0 {
		return
	}
	i.changes = i.changes[:0]
	for n := range changes {
		c := &changes[n]
		told := feed.Change[T]{Kind: feed.Updated, Key: c.Key, Old: c.Old, New: c.New}
		switch {
		case !c.HadOld:
			told.Kind = feed.Added
		case !c.HasNew:
			told.Kind, told.New = feed.Deleted, c.Old
		}
		i.changes = append(i.changes, told)
		finish(&i.changes[n])
	}
	i.appender.Append(i.changes...)
	clear(i.changes)
	if cap(i.changes) > maxScratch {
		i.changes = nil
	}
}

// maxScratch bounds the scratch space kept between commits, in entries.
const maxScratch = 1024
