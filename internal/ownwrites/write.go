package ownwrites

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/informerkit/informerkit/internal/versions"
	"github.com/informerkit/informerkit/listwatch"
)

// Write is a state of an object that the caller wrote or, of a deletion, the last one known.
type Write[T any] struct {
	Key     string // namespace/name, or name
	Version string // the resource version of that state
	Kind    Kind
	Obj     T // zero unless Held

	uid   types.UID
	known bool      // the store was seen to have the very object: if it has none any more, that was deleted
	until time.Time // zero: for ever
	id    uint64    // tells apart writes of the same key
}

// Kind is what is known of a write.
type Kind int

const (
	Held     Kind = iota // what the server answered
	Evicted              // that an object was written, which was given up to the bound of the table
	Deletion             // that an object was deleted
	kinds
)

// New makes a write of obj, an answer of the server. The error says that it has no metadata, or no resource version that can
// be compared.
func New[T any](obj T) (Write[T], error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return Write[T]{}, fmt.Errorf("%T: %w", obj, err)
	}
	w := Write[T]{Key: listwatch.ObjectKey(m.GetNamespace(), m.GetName()), Obj: obj, Version: m.GetResourceVersion(), uid: m.GetUID()}
	if _, err := resourceversion.CompareResourceVersion(w.Version, w.Version); err != nil {
		return Write[T]{}, fmt.Errorf("%s: resource version %q: %w", w.Key, w.Version, err)
	}
	return w, nil
}

// NewDeletion notes that obj, in the last state known, is deleted and gone. Errors are those of [New].
func NewDeletion[T any](obj T) (Write[T], error) {
	w, err := New(obj)
	w.giveUp(Deletion)
	return w, err
}

func (w *Write[T]) giveUp(to Kind) {
	var none T
	w.Obj, w.Kind = none, to
}

// Standing is how a write stands against what a store has.
type Standing int

const (
	Shown   Standing = iota // the write is newer
	Hidden                  // the write is a deletion of what the store has, or is still to get
	Settled                 // the store knows as much, or better
	Gone                    // the store has had the object, and does not have it any more
)

// Unseen reports that the write, and not the store, says what there is.
func (s Standing) Unseen() bool { return s == Shown || s == Hidden }

// Against tells how w stands against current, if the store has something under its key (exists), when the store is known to
// have seen everything up to resource version revision ("": that is not known). It makes w remember that the store has had
// its object.
func (w *Write[T]) Against(current T, exists bool, revision string) Standing {
	passed := revision != "" && !versions.Older(revision, w.Version)
	if !exists {
		switch {
		case passed || w.known:
			return Gone
		case w.Kind == Deletion:
			return Hidden
		}
		return Shown
	}
	m, err := meta.Accessor(current)
	if err != nil {
		return Settled
	}
	same := m.GetUID() == w.uid
	w.known = w.known || same
	if w.Kind == Deletion {
		// The last state known tells nothing of when it was deleted: for as long as that very object is stored, it hides.
		if !w.ends(m.GetUID(), m.GetResourceVersion()) || passed && !same {
			return Settled
		}
		return Hidden
	}
	if passed || !versions.Older(m.GetResourceVersion(), w.Version) {
		return Settled
	}
	return Shown
}

// Show is what a reader is to see, given what is said to [Write.Against].
func (w *Write[T]) Show(current T, exists bool, revision string) (T, bool) {
	switch w.Against(current, exists, revision) {
	case Shown:
		return w.Obj, true
	case Hidden:
		var none T
		return none, false
	}
	return current, exists
}

// ends reports that a state is over by w, a deletion: it is one of the very object, or earlier. A later one is of a successor
// of the same name, or of an object without UID that was not deleted for the last time.
func (w *Write[T]) ends(uid types.UID, rv string) bool {
	return w.uid != "" && w.uid == uid || w.Version == rv || versions.Older(rv, w.Version)
}

// yields reports that w is not to take the place of former, another write of its key.
func (w *Write[T]) yields(former *Write[T]) bool {
	switch {
	case former.Kind == Deletion && former.ends(w.uid, w.Version):
		return true
	case w.Kind == Deletion:
		return !w.ends(former.uid, former.Version)
	}
	return versions.Older(w.Version, former.Version)
}
