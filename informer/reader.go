package informer

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/informerkit/informerkit/feed"
	"github.com/informerkit/informerkit/store"
)

// readerBatch is how many changes a reader takes out of the feed at a time. With LatestState it is one: what is taken out no
// longer merges with what comes.
const readerBatch = 64

// reader turns what one handler has not been told yet into events: first the objects of the snapshot it started with, then
// the feed. It belongs to one goroutine; only backlog may be called from others.
type reader[T any] struct {
	cursor   *feed.Cursor[T]
	delivery Delivery
	join     bool // tell a re-created object as one Updated

	snapshot *store.Snapshot[T] // what the reader starts with; nil once it is told
	told     int                // objects of snapshot told so far

	batch  [readerBatch]feed.Change[T]
	n, at  int        // batch[at:n] is not told yet
	events []Event[T] // events of one change,
	next   int        // from this one on not told yet

	started time.Time
	ahead   atomic.Int64 // objects of the snapshot and changes of the batch not told yet
	taken   atomic.Int64 // when the batch's oldest change was appended, Unix nanoseconds
}

// newReaderLocked starts at the store's present state and the feed's present end, taken together.
func (i *Informer[T]) newReaderLocked(d Delivery, join bool) *reader[T] {
	r := &reader[T]{
		cursor:   i.log.Cursor(d.policy()),
		delivery: d,
		join:     join,
		snapshot: i.store.Snapshot(),
		started:  time.Now(),
	}
	r.ahead.Store(int64(r.snapshot.Len()))
	return r
}

// drain tells all there is to tell now. It stops after the event for which tell returns false and can go on later, with the
// next event. caughtUp is called whenever everything taken so far has been told, and says how far the next
// batch may reach.
func (r *reader[T]) drain(tell func(Event[T]) bool, caughtUp func() feed.Position) bool {
	if !r.drainEvents(tell) || !r.drainSnapshot(tell) {
		return false
	}
	for {
		for r.at < r.n {
			r.events, r.next = appendEvents(r.events[:0], &r.batch[r.at], r.join), 0
			r.batch[r.at] = feed.Change[T]{}
			r.at++
			r.ahead.Add(-1)
			if !r.drainEvents(tell) {
				return false
			}
		}
		until := caughtUp()
		oldest := r.cursor.Backlog().Age
		r.n, r.at = r.cursor.NextUntil(r.room(), until), 0
		if r.n == 0 {
			return true
		}
		r.taken.Store(time.Now().Add(-oldest).UnixNano())
		r.ahead.Add(int64(r.n))
	}
}

// room is where the next batch goes.
func (r *reader[T]) room() []feed.Change[T] {
	if r.delivery == LatestState {
		return r.batch[:1]
	}
	return r.batch[:]
}

func (r *reader[T]) drainEvents(tell func(Event[T]) bool) bool {
	for r.next < len(r.events) {
		e := r.events[r.next]
		r.events[r.next] = Event[T]{}
		r.next++
		if !tell(e) {
			return false
		}
	}
	return true
}

func (r *reader[T]) drainSnapshot(tell func(Event[T]) bool) bool {
	if r.snapshot == nil {
		return true
	}
	n := 0
	for key, obj := range r.snapshot.All() {
		if n++; n <= r.told {
			continue // told before an interruption; a snapshot's order does not change
		}
		r.told++
		r.ahead.Add(-1)
		if !tell(Event[T]{Type: Added, Key: key, New: obj, Initial: true}) {
			return false
		}
	}
	r.snapshot = nil
	return true
}

// anyPosition lets a batch reach as far as there is something.
const anyPosition = feed.Position(math.MaxUint64)

// backlog is what has not been told yet.
func (r *reader[T]) backlog() Backlog {
	waiting := r.cursor.Backlog()
	b := Backlog{Changes: waiting.Changes, Age: waiting.Age}
	if ahead := r.ahead.Load(); ahead > 0 {
		b.Changes += int(ahead)
		since := r.started
		if taken := r.taken.Load(); taken != 0 {
			since = time.Unix(0, taken)
		}
		b.Age = max(b.Age, time.Since(since))
	}
	return b
}
