package feed

import (
	"sync"
	"sync/atomic"
	"time"
)

// New returns an empty log and its only writing handle.
func New[T any]() (*Log[T], *Appender[T]) {
	l := &Log[T]{epoch: time.Now()}
	return l, &Appender[T]{log: l}
}

// Log is the reading side. Safe for concurrent use.
type Log[T any] struct {
	epoch time.Time

	// end is the position after the last change. Storing it is what publishes changes: readers look at nothing beyond
	// an end they have loaded, and so need no lock.
	end atomic.Uint64

	// waiters is what the next Append closes; nil while nobody waits.
	waiters atomic.Pointer[waiters]

	// behind counts the cursors that have not read up to end. It belongs to one end, whose low half is its upper half.
	behind atomic.Uint64

	// spare are empty *pending[T], so that a cursor on which nothing waits need not keep one.
	spare sync.Pool

	// mu is the writer's lock. It guards what follows, the last segment's unpublished entries and storing end and
	// behind. No reader takes it but to open or close a cursor, or to wipe what all have read. It is never held
	// together with a cursor's lock.
	mu      sync.Mutex
	tail    *segment[T]  // the last segment; nil while there is no cursor, and changes are only counted
	wiped   Position     // entries before it hold no changes any more
	cursors int          // open ones
	latest  []*Cursor[T] // open ones with LatestState
}

type waiters struct{ wake chan struct{} }

// manyCursors is from where on waking their readers is left to a goroutine that does only that. Making 1,000 readers runnable
// takes 50 microseconds, which the appender is not to wait for.
const manyCursors = 64

// End is the position after the last change.
func (l *Log[T]) End() Position { return Position(l.end.Load()) }

// Cursor starts reading at the end of the log as it is now. Close it when done. It panics if p is not a policy.
func (l *Log[T]) Cursor(p Policy) *Cursor[T] {
	if p > LatestState {
		panic("feed: no such policy: " + p.String())
	}
	c := &Cursor[T]{log: l, policy: p}
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.End()
	if l.tail == nil {
		l.tail = &segment[T]{start: end}
	}
	c.at = place[T]{seg: l.tail, pos: end}
	c.read.Store(uint64(end))
	c.pos.Store(uint64(end))
	l.cursors++
	if p == LatestState {
		l.latest = append(l.latest, c)
	}
	return c
}

// now is the time as entries have it.
func (l *Log[T]) now() time.Duration { return time.Since(l.epoch) }

// Appender is the writing side. Safe for concurrent use.
type Appender[T any] struct{ log *Log[T] }

// Append adds changes as one step (no cursor sees some of them before it can see all) and returns the position after
// them. It never waits for a reader. It keeps no reference to the slice. While there is no cursor, it keeps nothing.
func (a *Appender[T]) Append(changes ...Change[T]) Position {
	l := a.log
	if len(changes) == 0 {
		return l.End()
	}
	l.mu.Lock()
	before, last := l.End(), l.tail
	end := before + Position(len(changes))
	if last != nil {
		l.writeLocked(changes)
	}
	l.behind.Store(behindOf(end, l.cursors)) // first: who sees the new end must find himself counted
	l.end.Store(uint64(end))
	var lagging *Cursor[T]
	if l.tail != last {
		lagging = l.catchUpLocked(before, end)
	}
	cursors := l.cursors
	l.mu.Unlock()

	l.wake(cursors)
	if lagging != nil {
		lagging.help()
	}
	return end
}

// wake ends the waiting of all who wait, after end has moved. A reader looks at end once more when it has found or put its
// waiters here (Ready): it has seen the new end, or is seen here.
func (l *Log[T]) wake(cursors int) {
	if l.waiters.Load() == nil {
		return
	}
	w := l.waiters.Swap(nil)
	switch {
	case w == nil: // another Append was faster
	case cursors > manyCursors:
		go close(w.wake)
	default:
		close(w.wake)
	}
}

// writeLocked puts changes behind the published end.
func (l *Log[T]) writeLocked(changes []Change[T]) {
	now := l.now()
	pos := l.End()
	for i := range changes {
		if pos == l.tail.end() {
			l.tail = l.tail.grow(len(changes) - i)
		}
		l.tail.entries[pos-l.tail.start] = entry[T]{changes[i], now}
		pos++
	}
}

func behindOf(end Position, n int) uint64 { return uint64(end)<<32 | uint64(uint32(n)) }

// caughtUp is called when one cursor has read up to end, once for each end it gets to. The last of them wipes what all
// have read, so that a log whose readers keep up holds no changes.
func (l *Log[T]) caughtUp(end Position) {
	for {
		b := l.behind.Load()
		if uint32(b>>32) != uint32(end) {
			return // there is a newer end
		}
		if uint32(b) == 0 {
			panic("BUG: feed: more cursors have read the log than there are")
		}
		if l.behind.CompareAndSwap(b, b-1) {
			if uint32(b) == 1 {
				l.mu.Lock()
				l.wipeLocked(end)
				l.mu.Unlock()
			}
			return
		}
	}
}

// wipeLocked forgets the changes before end, all of which every cursor has read, unless there are newer ones.
func (l *Log[T]) wipeLocked(end Position) {
	if l.tail == nil || l.End() != end {
		return
	}
	from := max(l.wiped, l.tail.start)
	clear(l.tail.entries[from-l.tail.start : end-l.tail.start])
	l.wiped = end
}

// leave is called once for each cursor, when it has been closed with everything before read behind it.
func (l *Log[T]) leave(c *Cursor[T], read Position) (folding <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cursors--
	for i := range l.latest {
		if l.latest[i] == c {
			n := len(l.latest) - 1
			l.latest[i], l.latest[n] = l.latest[n], nil
			l.latest = l.latest[:n]
			break
		}
	}
	end := l.End()
	last := read != end && uint32(l.behind.Add(^uint64(0))) == 0
	if l.cursors == 0 {
		l.tail = nil
	} else if last {
		l.wipeLocked(end)
	}
	return c.folding
}
