package feed

import "fmt"

// Kind says what happened to a key. The zero Kind is none of them.
type Kind uint8

const (
	// Added: the key was absent and is there now.
	Added Kind = iota + 1
	// Updated: the key was there and has another state now.
	Updated
	// Deleted: the key was there and is absent now.
	Deleted
)

func (k Kind) String() string {
	switch k {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Change is one step in the life of one key. What it points to is shared by all readers: nobody may change it.
type Change[T any] struct {
	// Key is what changed.
	Key string
	// Old is the state before. Of an Added: the zero value.
	Old T
	// New is the state after. Of a Deleted: the last state known of what was deleted, final unless Lost.
	New T
	// Kind says what happened.
	Kind Kind
	// Lost, of a Deleted: the deletion itself was not seen, so the last known state may not be the final one.
	Lost bool
	// Moved, of a Deleted: what the log tells of was narrowed, and the object, which may well exist, is not part of it any more.
	Moved bool
	// Initial, of an Added: it belongs to the first full content.
	Initial bool
	// Merged: it stands for several changes (see [Merge]), and states between Old and New were left out. Set by feed.
	Merged bool
}

// Position is a point of the log: the number of changes appended before it.
type Position uint64

// Policy says what a cursor that lags keeps.
type Policy uint8

const (
	// EveryChange hands over each change, in order. What such a cursor lags behind stays in the shared log, which has
	// it once however many cursors lag.
	EveryChange Policy = iota
	// LatestState hands over at most one change per waiting key, in the order in which the keys began to wait: from the
	// first old state to the newest new one, as [Merge] has it. What was added and deleted again is not handed over.
	// What waits is bounded by the number of keys, also while the reader is not reading at all.
	LatestState
)

func (p Policy) String() string {
	switch p {
	case EveryChange:
		return "EveryChange"
	case LatestState:
		return "LatestState"
	}
	return fmt.Sprintf("Policy(%d)", uint8(p))
}
