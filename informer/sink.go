package informer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/informerkit/informerkit/internal/versions"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/store"
)

// sink takes in what one source's reflector receives. Its methods run in that reflector's goroutine.
type sink[T any] struct {
	source *source[T]
	ops    []op[T] // scratch of Apply
}

// op is what a stream event does to the store.
type op[T any] struct {
	key string
	obj T // to store; of a deletion, the final state if final is set
	// uid and rv are the received object's.
	uid, rv string
	what    verdict
	deleted bool // the event is a deletion
}

// verdict says what becomes of a received object.
type verdict uint8

const (
	take verdict = iota
	drop         // the transform does not want it
	bad          // it is in quarantine
)

// admit decodes, transforms and keys an item. Only with take is the object set. entry is set with bad.
func (i *Informer[T]) admit(it *listwatch.Item[T]) (o op[T], entry Quarantined) {
	o = op[T]{key: it.Key, uid: it.UID, rv: it.ResourceVersion}
	fail := func(reason Reason, err error) (op[T], Quarantined) {
		name := it.Key
		if name == "" {
			name = fmt.Sprintf("(uid %q)", it.UID)
		}
		o.what = bad
		return o, Quarantined{Key: name, UID: it.UID, Reason: reason, Err: err, Since: time.Now()}
	}
	obj, err := it.Object()
	if err != nil {
		return fail(ReasonDecode, err)
	}
	if i.opts.Transform != nil {
		if obj, err = call(i.opts.Transform, obj); errors.Is(err, ErrDrop) {
			o.what = drop
			return o, Quarantined{}
		} else if err != nil {
			return fail(ReasonTransform, err)
		}
	}
	if i.opts.Key != nil {
		key, err := call(i.opts.Key, obj)
		if err != nil {
			return fail(ReasonKey, err)
		}
		o.key = key
	}
	if o.key == "" {
		return fail(ReasonKey, errors.New("object has no name"))
	}
	o.obj = obj
	return o, Quarantined{}
}

// call turns a panic of a user's function into an error.
func call[A, R any](fn func(A) (R, error), arg A) (result R, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return fn(arg)
}

// Apply puts a stream's events in. An object that fails and can't even be named is an error: to go on would lose its change.
func (s *sink[T]) Apply(_ context.Context, events []listwatch.Event[T]) (err error) {
	i := s.source.informer
	rv := ""
	for n := range events {
		ev := &events[n]
		o, entry := op[T]{}, Quarantined{}
		if ev.Type != listwatch.Bookmark {
			o, entry = i.admit(&ev.Item)
		}
		if o.what == bad && o.key == "" {
			err = fmt.Errorf("object without a key: %s: %w", entry.Reason, entry.Err)
			break
		}
		if next := ev.Item.ResourceVersion; next != "" && !versions.Older(next, rv) {
			rv = next
		}
		if ev.Type == listwatch.Bookmark {
			continue
		}
		o.deleted = ev.Type == listwatch.Deleted
		if o.what == bad && !o.deleted {
			i.bad.put(s.source, entry)
		} else {
			i.bad.release(o.key)
		}
		if o.what != bad || o.deleted {
			s.ops = append(s.ops, o)
		}
	}
	i.apply(s.source, s.ops, rv)
	clear(s.ops)
	if s.ops = s.ops[:0]; cap(s.ops) > maxScratch {
		s.ops = nil
	}
	return err
}

// olderState reports that next is a state from before current.
func olderState[T any](current, next T) bool {
	c, n := metaOf(current), metaOf(next)
	return c != nil && n != nil && versions.Older(n.GetResourceVersion(), c.GetResourceVersion())
}

// late reports that o, after which there is no object, tells of a time before current. Of a deletion only that of another, former
// object does: servers give a deletion a newer version than the object had, but fakes give it any.
func late[T any](current T, o *op[T]) bool {
	m := metaOf(current)
	if m == nil || !versions.Older(o.rv, m.GetResourceVersion()) {
		return false
	}
	return !o.deleted || o.uid != string(m.GetUID())
}

// Replace starts a replacement of all that the source has.
func (s *sink[T]) Replace(context.Context) reflector.Replacement[T] {
	r := &replacement[T]{source: s.source, tenure: s.source.informer.tenure.Load()}
	if !s.source.shares() {
		r.whole = s.source.informer.writer.Replace()
	} else {
		r.shared.keys = map[string]struct{}{}
	}
	return r
}

// replacement is a list being received. Where the source is the only one, it is the store's next content; where others
// share the store, it is a set of keys and of the objects that changed.
type replacement[T any] struct {
	source *source[T]
	tenure *tenure
	whole  *store.Replacement[T] // nil where others share the store
	shared sharedList[T]
	bad    map[string]Quarantined
}

// Add takes a page in. Objects that did not change are neither decoded nor transformed: the one that is stored is kept.
func (r *replacement[T]) Add(items []listwatch.Item[T]) error {
	i := r.source.informer
	for n := range items {
		it := &items[n]
		current, had := i.store.Get(it.Key)
		if had && i.opts.Key == nil {
			if m := metaOf(current); m != nil && sameState(m, it.UID, it.ResourceVersion) {
				r.keep(it.Key, current)
				continue
			}
		}
		o, entry := i.admit(it)
		switch o.what {
		case take:
			delete(r.bad, it.Key)
			r.put(o.key, o.obj)
		case drop:
			_ = r.Remove(o.key) // a streaming list can bring a later state of an object it brought before
		case bad:
			if r.bad == nil {
				r.bad = map[string]Quarantined{}
			}
			r.bad[entry.Key] = entry
			if had { // the server still has it, so the last good state is better than none
				r.keep(it.Key, current)
			}
		}
	}
	return nil
}

func (r *replacement[T]) keep(key string, current T) {
	if r.whole != nil {
		r.whole.Put(key, current)
	} else {
		r.shared.keys[key] = struct{}{}
	}
}

func (r *replacement[T]) put(key string, obj T) {
	if r.whole != nil {
		r.whole.Put(key, obj)
	} else {
		r.shared.keys[key] = struct{}{}
		r.shared.changed = append(r.shared.changed, keyed[T]{key, obj})
	}
}

// Remove takes a key out again.
func (r *replacement[T]) Remove(key string) error {
	if r.whole != nil {
		r.whole.Delete(key)
	} else {
		delete(r.shared.keys, key)
		r.shared.changed = slices.DeleteFunc(r.shared.changed, func(c keyed[T]) bool { return c.key == key })
	}
	delete(r.bad, key)
	return nil
}

// Commit makes the list what the source has.
func (r *replacement[T]) Commit(info reflector.ListInfo) error {
	i := r.source.informer
	if r.whole != nil {
		return i.replaceWhole(r, info)
	}
	return i.replaceShared(r, info)
}
