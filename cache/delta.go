package cache

import (
	"errors"
	"slices"
)

// DeltaType says what happened to an object.
type DeltaType string

const (
	Added   DeltaType = "Added"
	Updated DeltaType = "Updated"
	Deleted DeltaType = "Deleted"
	// Replaced: the object was in a list; whether it changed is not known.
	Replaced DeltaType = "Replaced"
	// ReplacedAll: a whole list, as a [ReplacedAllInfo]. Only of a [RealFIFO] with AtomicEvents.
	ReplacedAll DeltaType = "ReplacedAll"
	// Sync: nothing happened; the object is to be processed once more.
	Sync DeltaType = "Sync"
	// SyncAll: all known objects are to be processed once more. The object is a [SyncAllInfo]. Only of a [RealFIFO]
	// with AtomicEvents.
	SyncAll DeltaType = "SyncAll"
	// Bookmark: all up to a resource version has been seen. The object is a [BookmarkInfo]. Only of a [RealFIFO] with
	// EmitDeltaTypeBookmark.
	Bookmark DeltaType = "Bookmark"
)

// Delta is one thing that happened. Object is the state after it; of a Deleted the last one before, or a
// [DeletedFinalStateUnknown].
type Delta struct {
	Type   DeltaType
	Object any
}

// Deltas is what happened to one object, oldest first.
type Deltas []Delta

// Oldest returns the first delta; nil if there is none.
func (d Deltas) Oldest() *Delta {
	if len(d) == 0 {
		return nil
	}
	return &d[0]
}

// Newest returns the last delta; nil if there is none.
func (d Deltas) Newest() *Delta {
	if len(d) == 0 {
		return nil
	}
	return &d[len(d)-1]
}

// DeletedFinalStateUnknown stands for an object that is gone without its deletion having been seen.
type DeletedFinalStateUnknown struct {
	// Key is the key under which the object was known.
	Key string
	// Obj is the newest known state, which need not be the last there was. Nil if none is known.
	Obj any
}

// ReplacedAllInfo is the object of a [ReplacedAll] delta.
type ReplacedAllInfo struct {
	// ResourceVersion and Objects are as given to Replace, the objects transformed.
	ResourceVersion string
	Objects         []any
}

// SyncAllInfo is the object of a [SyncAll] delta.
type SyncAllInfo struct{}

// BookmarkInfo is the object of a [Bookmark] delta.
type BookmarkInfo struct {
	ResourceVersion string
}

// KeyLister lists keys.
type KeyLister interface {
	ListKeys() []string
}

// KeyGetter finds an object by key.
type KeyGetter interface {
	GetByKey(key string) (value any, exists bool, err error)
}

// KeyListerGetter is the content a consumer has, as far as a queue has to know it. Any [Store] is one.
type KeyListerGetter interface {
	KeyLister
	KeyGetter
}

// ErrZeroLengthDeltasObject is why there is no key of Deltas without a delta, inside a [KeyError].
var ErrZeroLengthDeltasObject = errors.New("0 length Deltas object; can't get key")

// keyInQueue is key for whatever may be in a delta queue.
func (f KeyFunc) keyInQueue(obj any) (string, error) {
	if deltas, ok := obj.(Deltas); ok {
		newest := deltas.Newest()
		if newest == nil {
			return "", KeyError{Obj: obj, Err: ErrZeroLengthDeltasObject}
		}
		obj = newest.Object
	}
	if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
		return tombstone.Key, nil
	}
	return f.key(obj)
}

// withDelta appends next. Of two deletions in a row the one stays that knows more: the first, unless that one is only
// a tombstone. deltas itself is not changed.
func (d Deltas) withDelta(next Delta) Deltas {
	newest := d.Newest()
	if newest == nil || next.Type != Deleted || newest.Type != Deleted {
		return append(d, next)
	}
	if _, lost := newest.Object.(DeletedFinalStateUnknown); !lost {
		return d
	}
	d = slices.Clone(d)
	d[len(d)-1] = next
	return d
}

// tombstoneOf is the tombstone for what was last known of key, which may be a tombstone itself.
func tombstoneOf(key string, known any) DeletedFinalStateUnknown {
	if tombstone, ok := known.(DeletedFinalStateUnknown); ok {
		known = tombstone.Obj
	}
	return DeletedFinalStateUnknown{Key: key, Obj: known}
}
