package informer

import "github.com/informerkit/informerkit/feed"

// EventType says what an [Event] tells.
type EventType uint8

const (
	// Added: the object is there now, and was not before.
	Added EventType = iota + 1
	// Updated: the object has another state, or is told again (Event.Replay).
	Updated
	// Deleted: the object is gone.
	Deleted
)

// String is the type's name, "Added" for example.
func (t EventType) String() string {
	switch t {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	}
	return "EventType(0)"
}

// Event is what happened to one object. The objects are shared with all readers: do not change them.
type Event[T any] struct {
	Type EventType
	Key  string
	// Old is the state before: of an Updated, and of a Deleted the last state known.
	Old T
	// New is the state after, of an Added and an Updated.
	New T
	// Final, of a Deleted, reports that Old is the state the object was deleted in. It is false when the deletion itself was
	// not seen (the watch was interrupted), or when the object was replaced by another of the same name.
	Final bool
	// Moved, of a Deleted that is not Final, reports that the object was not deleted, as far as is known: it belongs to a part of
	// the collection that the informer no longer holds ([Informer.Reshard]).
	Moved bool
	// Initial, of an Added, reports that the object belongs to the first list, or was there when the handler came.
	Initial bool
	// Replay, of an Updated, reports that nothing changed: Old and New are the same, told again because
	// [HandlerOptions.Replay] or [Registration.Replay] asked for it.
	Replay bool
}

// Object is the newest state the event knows: New, or Old of a Deleted.
func (e Event[T]) Object() T {
	if e.Type == Deleted {
		return e.Old
	}
	return e.New
}

// Deletion tells that an object is gone.
type Deletion[T any] struct {
	Key string
	// Last is the last state known. The object is shared: do not change it.
	Last T
	// Final reports that Last is the state the object was deleted in, and not merely the last one seen.
	Final bool
	// Moved reports that the object was not deleted, as far as is known: it belongs to a part of the collection that the informer
	// no longer holds ([Informer.Reshard]). Who cleans up after objects leaves this one to whoever has it now.
	Moved bool
}

// appendEvents appends what a change means to a handler: one event, or a Deleted and an Added when the object under the key
// is now another one (its UID differs) and join is false.
func appendEvents[T any](dst []Event[T], c *feed.Change[T], join bool) []Event[T] {
	switch c.Kind {
	case feed.Added:
		return append(dst, Event[T]{Type: Added, Key: c.Key, New: c.New, Initial: c.Initial})
	case feed.Updated:
		if !join && uidOf(c.Old) != uidOf(c.New) {
			return append(dst,
				Event[T]{Type: Deleted, Key: c.Key, Old: c.Old},
				Event[T]{Type: Added, Key: c.Key, New: c.New})
		}
		return append(dst, Event[T]{Type: Updated, Key: c.Key, Old: c.Old, New: c.New})
	case feed.Deleted:
		if uidOf(c.Old) != uidOf(c.New) { // another object, of which the handler was not told, came and went meanwhile
			return append(dst, Event[T]{Type: Deleted, Key: c.Key, Old: c.Old})
		}
		return append(dst, Event[T]{Type: Deleted, Key: c.Key, Old: c.New, Final: !c.Lost, Moved: c.Moved})
	}
	panic("BUG: informer: feed change of unknown kind")
}
