package informer

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// ReasonView is the reason of an object that is stored, and missing from one handle of a [Group], because it can't be
// converted into the type that the handle shows.
const ReasonView Reason = "view"

// show gives the object as the handle's type. What can't be shown is not there, for this handle; the reason is noted.
func (s *Shared[T]) show(key string, obj runtime.Object) (T, bool) {
	shown, err := s.projection.show(obj)
	if err == nil {
		return shown, true
	}
	if err != errOnlyMetadata {
		s.unshown.put(key, obj, err, s.held)
	}
	var none T
	return none, false
}

// event is what an event of the informer means to the handle; ok is false if it means nothing. An object that could be shown, and
// can't any more, is deleted, and the other way round.
func (s *Shared[T]) event(e *Event[runtime.Object]) (out Event[T], ok bool) {
	out = Event[T]{Type: e.Type, Key: e.Key, Final: e.Final, Moved: e.Moved, Initial: e.Initial, Replay: e.Replay}
	switch {
	case e.Type == Added:
		out.New, ok = s.show(e.Key, e.New)
		return out, ok
	case e.Type == Deleted:
		out.Old, ok = s.show(e.Key, e.Old)
		return out, ok
	case e.Replay:
		out.New, ok = s.show(e.Key, e.New)
		out.Old = out.New
		return out, ok
	case isPartial(e.Old) != isPartial(e.New) && Same(e.Old, e.New) && s.projection.view == MetadataView:
		return out, false // only the form changed
	}
	var had, has bool
	out.Old, had = s.show(e.Key, e.Old)
	out.New, has = s.show(e.Key, e.New)
	switch {
	case !has:
		out.Type = Deleted
	case !had:
		out.Type = Added
	}
	return out, had || has
}

// unshown notes which stored objects can't be shown. Safe for concurrent use.
type unshown struct {
	mu    sync.Mutex // guards what follows; a leaf
	m     map[string]unshownObject
	limit int // number at which what is out of date is thrown out
}

type unshownObject struct {
	obj runtime.Object
	Quarantined
}

// minUnshown is the least limit.
const minUnshown = 64

// put notes obj, if it is still what current returns.
func (u *unshown) put(key string, obj runtime.Object, err error, current func(key string) (runtime.Object, bool)) {
	if now, ok := current(key); !ok || now != obj {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if had, ok := u.m[key]; ok && had.obj == obj {
		return
	}
	if u.m == nil {
		u.m = map[string]unshownObject{}
	}
	if len(u.m) >= max(u.limit, minUnshown) {
		u.pruneLocked(current)
		u.limit = 2 * len(u.m)
	}
	u.m[key] = unshownObject{obj, Quarantined{Key: key, Reason: ReasonView, Err: err, Since: time.Now()}}
}

func (u *unshown) pruneLocked(current func(key string) (runtime.Object, bool)) {
	for key, entry := range u.m {
		if obj, ok := current(key); !ok || obj != entry.obj {
			delete(u.m, key)
		}
	}
}

// list gives those that are still what current returns, sorted by key.
func (u *unshown) list(current func(key string) (runtime.Object, bool)) []Quarantined {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pruneLocked(current)
	var list []Quarantined
	for _, key := range slices.Sorted(maps.Keys(u.m)) {
		list = append(list, u.m[key].Quarantined)
	}
	return list
}
