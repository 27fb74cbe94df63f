package cache

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// compareVersions compares resource versions; ok is false if one of them is no version that can be.
func compareVersions(a, b string) (order int, ok bool) {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return order, err == nil
}

// notOlder reports that version a is known to be b or a later one.
func notOlder(a, b string) bool {
	order, ok := compareVersions(a, b)
	return ok && order >= 0
}

// ownWrite is a state of an object that the caller wrote.
type ownWrite struct {
	key string
	obj any // nil: evicted
	rv  string
	uid types.UID
	// seenOlder: the store has been seen to have an older state of the very same object. If it has none any more, that
	// was deleted.
	seenOlder bool
	// id tells apart writes of the same key.
	id uint64
}

func newOwnWrite(obj any) (ownWrite, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ownWrite{}, fmt.Errorf("%T: %w", obj, err)
	}
	write := ownWrite{
		key: MetaObjectToName(accessor).String(),
		obj: obj,
		rv:  accessor.GetResourceVersion(),
		uid: accessor.GetUID(),
	}
	if _, ok := compareVersions(write.rv, write.rv); !ok {
		return ownWrite{}, fmt.Errorf("%T %q: resource version %q is no integer", obj, write.key, write.rv)
	}
	return write, nil
}

func (w ownWrite) evicted() bool { return w.obj == nil }

func (w ownWrite) sameObject(obj any) bool {
	accessor, err := meta.Accessor(obj)
	return err == nil && accessor.GetUID() == w.uid
}

// standing is how a write stands against what the store says.
type standing int

const (
	settled    standing = iota // the store knows as much, or better
	deleted                    // the store has had the object, and does not have it any more
	overtaking                 // the store has an older state
	adding                     // the store does not have the object, as far as is known not yet
)

func (w ownWrite) against(stored any, exists bool) standing {
	if !exists {
		if w.seenOlder {
			return deleted
		}
		return adding
	}
	accessor, err := meta.Accessor(stored)
	if err != nil {
		return settled
	}
	if order, ok := compareVersions(accessor.GetResourceVersion(), w.rv); !ok || order >= 0 {
		return settled
	}
	return overtaking
}

// ownWrites are the writes that a MutationCache holds: the newest one of each key, in the order in which they came,
// which is also the one in which they expire. So are deletions, against writes that come too late.
type ownWrites struct {
	ttl   time.Duration
	limit int

	mu      sync.Mutex // guards what follows; nothing is called with it held
	ids     uint64
	held    int // writes that are not evicted
	writes  *expiring[ownWrite]
	deleted *expiring[ownWrite]
}

func newOwnWrites(ttl time.Duration, limit int) *ownWrites {
	return &ownWrites{ttl: ttl, limit: limit, writes: newExpiring[ownWrite](), deleted: newExpiring[ownWrite]()}
}

// expireLocked forgets what is too old.
func (o *ownWrites) expireLocked() {
	now := time.Now()
	for _, write := range o.writes.expire(now) {
		o.forgotLocked(write)
	}
	o.deleted.expire(now)
}

func (o *ownWrites) forgotLocked(write ownWrite) {
	if !write.evicted() {
		o.held--
	}
}

func (o *ownWrites) removeLocked(key string) {
	if write, ok := o.writes.remove(key); ok {
		o.forgotLocked(write)
	}
}

func (o *ownWrites) get(key string) (ownWrite, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expireLocked()
	return o.writes.get(key)
}

// all returns the writes held, oldest first.
func (o *ownWrites) all() []ownWrite {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expireLocked()
	return o.writes.all()
}

// put holds a write, unless a newer one is held or the object is known to be deleted.
func (o *ownWrites) put(write ownWrite) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expireLocked()
	if gone, ok := o.deleted.get(write.key); ok && gone.ends(write) {
		return false
	}
	if held, ok := o.writes.get(write.key); ok {
		if !notOlder(write.rv, held.rv) {
			return false
		}
		write.seenOlder = write.seenOlder || held.seenOlder && held.uid == write.uid
	}
	o.removeLocked(write.key)
	o.ids++
	write.id = o.ids
	o.writes.put(write.key, write, time.Now().Add(o.ttl))
	o.held++
	return true
}

// makeRoom brings the number of objects held below the limit: by dropping the settled ones or, if there are not enough,
// evicting the oldest. settled is called with no lock held.
func (o *ownWrites) makeRoom(settled func(ownWrite) bool) {
	o.mu.Lock()
	tooMany := o.held > o.limit
	var candidates []ownWrite
	if tooMany {
		candidates = o.writes.all()
	}
	o.mu.Unlock()
	if !tooMany {
		return
	}
	for _, write := range candidates {
		if settled(write) {
			o.drop(write)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for write := range o.writes.values() {
		if o.held <= o.limit {
			return
		}
		if !write.evicted() {
			write.obj = nil
			o.held--
		}
	}
}

// drop forgets a write, but no later one of the same key.
func (o *ownWrites) drop(write ownWrite) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held, ok := o.writes.get(write.key); ok && held.id == write.id {
		o.removeLocked(write.key)
	}
}

// sawOlder notes that the store has an older state, if it is one of the very same object.
func (o *ownWrites) sawOlder(write ownWrite, stored any) {
	if write.seenOlder || !write.sameObject(stored) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if held := o.writes.at(write.key); held != nil && held.id == write.id {
		held.seenOlder = true
	}
}

// seen says that the store has a state of an object.
func (o *ownWrites) seen(state ownWrite) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if held, ok := o.writes.get(state.key); ok && notOlder(state.rv, held.rv) {
		o.removeLocked(state.key)
	}
}

// gone says that an object was deleted; state is the last one known.
func (o *ownWrites) gone(state ownWrite) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expireLocked()
	if held, ok := o.writes.get(state.key); ok && state.ends(held) {
		o.removeLocked(state.key)
	}
	state.obj = nil // it takes no more to tell a write that comes late
	o.deleted.put(state.key, state, time.Now().Add(o.ttl))
	o.deleted.trim(o.limit) // what is lost here, the store's resource version tells in most cases
}

// ends reports that w, the last state of a deleted object, makes write a thing of the past.
func (w ownWrite) ends(write ownWrite) bool {
	sameObject := w.uid != "" && w.uid == write.uid
	return sameObject || notOlder(w.rv, write.rv)
}
