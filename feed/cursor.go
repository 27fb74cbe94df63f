package feed

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Cursor is one reader's place in a log. Next, NextUntil and Ready are for one goroutine at a time; the other methods for
// any, at any time.
//
// A reader is a loop, which no change and no advance of Position can escape, and which does not spin:
//
//	for {
//		n := c.Next(buf)
//		for _, change := range buf[:n] { handle(change) }
//		if c.Position() >= p { everything before p has been handled }
//		if n == 0 {
//			select {
//			case <-c.Ready():
//			case <-ctx.Done():
//				return
//			}
//		}
//	}
type Cursor[T any] struct {
	log    *Log[T]
	policy Policy

	pos    atomic.Uint64 // what Position says; moved by Next alone
	read   atomic.Uint64 // copy of at.pos for the appender, which must not wait for mu; pos <= read
	closed atomic.Bool   // set under mu

	// mu keeps apart the reader, those who ask for the backlog or close, and merging. It guards what follows, is held for
	// as long as reading what is there takes, and the appender never waits for it.
	mu      sync.Mutex
	at      place[T]
	waiting *pending[T]   // LatestState: what was read and not handed over; nil if that is nothing
	done    chan struct{} // closed by Close; nil until somebody asks

	folding chan struct{} // guarded by log.mu, not by mu: closed when the last catchUp has ended; nil if there never was one
}

// Next moves waiting changes into dst, up to its length, and returns how many. It does not block, and keeps nothing of
// what it has handed over. When it returns 0 (and dst has room), Position has become the end of the log as it was at the
// call: whatever else was waiting has cancelled out. After Close it returns 0.
func (c *Cursor[T]) Next(dst []Change[T]) int { return c.NextUntil(dst, math.MaxUint64) }

// NextUntil is Next without the changes that Position can do without on its way to until: a reader that must know exactly
// when it has got there reads with NextUntil until Position is until or more, and with Next from then on.
// It returns 0 at once when Position is there already, whatever waits.
func (c *Cursor[T]) NextUntil(dst []Change[T], until Position) int {
	if c.upToDate() {
		return 0
	}
	c.mu.Lock()
	defer c.unlock(c.at.pos)
	if c.closed.Load() {
		return 0
	}
	var n int
	var pos Position
	if end := c.log.End(); c.policy == EveryChange {
		n = c.copyLocked(dst, min(end, until))
		pos = c.at.pos
	} else {
		n, pos = c.mergeLocked(dst, end, until)
	}
	c.pos.Store(uint64(pos))
	return n
}

// unlock is what ends the holding of mu: it tells the log how far the cursor, which was at before, has read now.
func (c *Cursor[T]) unlock(before Position) {
	after := c.at.pos
	if after != before {
		c.read.Store(uint64(after))
	}
	c.mu.Unlock()
	if after != before {
		c.log.caughtUp(after)
	}
}

// upToDate reports that nothing waits, without taking a lock.
func (c *Cursor[T]) upToDate() bool { return c.Position() == c.log.End() }

// copyLocked hands over changes before end as they are.
func (c *Cursor[T]) copyLocked(dst []Change[T], end Position) int {
	n := 0
	for {
		run := c.at.read(end, len(dst)-n)
		if len(run) == 0 {
			return n
		}
		for i := range run {
			dst[n+i] = run[i].change
		}
		n += len(run)
	}
}

// mergeLocked folds everything before end, hands over what began to wait before until, and returns the new position.
func (c *Cursor[T]) mergeLocked(dst []Change[T], end, until Position) (int, Position) {
	if c.waiting == nil && end-c.at.pos == 1 && len(dst) > 0 && c.at.pos < until {
		dst[0] = c.at.read(end, 1)[0].change // the common case: nothing to merge
		return 1, end
	}
	for c.foldLocked(end) {
	}
	if c.waiting == nil {
		return 0, c.at.pos
	}
	n := c.waiting.take(dst, until)
	if s := c.waiting.oldest(); s != nil {
		return n, s.first
	}
	c.log.spare.Put(c.waiting)
	c.waiting = nil
	return n, c.at.pos
}

// foldLocked merges the rest of one segment into what waits. False: there is nothing before end any more.
func (c *Cursor[T]) foldLocked(end Position) bool {
	pos := c.at.pos
	run := c.at.read(end, maxSegment)
	if len(run) == 0 {
		return false
	}
	if c.waiting == nil {
		if c.waiting, _ = c.log.spare.Get().(*pending[T]); c.waiting == nil {
			c.waiting = new(pending[T])
		}
	}
	for i := range run {
		c.waiting.fold(&run[i], pos+Position(i))
	}
	return true
}

// closedChan is ready at once.
var closedChan = func() chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()

// Ready returns a channel that is closed when Position is behind the end of the log, so that Next has something to give
// or at least Position to move on; it is closed already if that is so now. It may be shared with other cursors. Ask for
// it anew each time. After Close it is a channel that is never closed: see Done.
func (c *Cursor[T]) Ready() <-chan struct{} {
	if c.closed.Load() {
		return nil
	}
	l, pos := c.log, c.pos.Load()
	if l.end.Load() != pos {
		return closedChan
	}
	w := l.waiters.Load()
	for w == nil {
		w = &waiters{make(chan struct{})}
		if !l.waiters.CompareAndSwap(nil, w) {
			w = l.waiters.Load()
		}
	}
	// An Append that did not find w has moved end before.
	if l.end.Load() != pos {
		return closedChan
	}
	return w.wake
}

// Position says how far this reader is: every change before it has been handed over by Next, or (LatestState) merged into
// one that was, or cancelled out. It starts at the end of the log when the cursor was made, never goes back, and moves
// only in Next. It equals the log's end when nothing waits.
func (c *Cursor[T]) Position() Position { return Position(c.pos.Load()) }

// Backlog is what waits for a reader.
type Backlog struct {
	// Changes that wait. LatestState: keys.
	Changes int
	// Age is the time since the oldest of them was appended (LatestState: since the key that waits longest first
	// changed); 0 if none waits.
	Age time.Duration
}

// Backlog says what waits: zero if nothing does or the cursor is closed. Under LatestState it merges first what is not
// merged yet, so that the number of keys is exact. It does not move Position.
func (c *Cursor[T]) Backlog() Backlog {
	if c.upToDate() {
		return Backlog{}
	}
	c.mu.Lock()
	defer c.unlock(c.at.pos)
	if c.closed.Load() {
		return Backlog{}
	}
	end := c.log.End()
	if c.policy == EveryChange {
		if c.at.pos == end {
			return Backlog{}
		}
		return Backlog{int(end - c.at.pos), c.log.now() - c.at.peek(end)}
	}
	for c.foldLocked(end) {
	}
	if c.waiting == nil || c.waiting.live == 0 {
		return Backlog{}
	}
	return Backlog{c.waiting.live, c.log.now() - c.waiting.oldest().at}
}

// Done returns a channel that is closed by Close.
func (c *Cursor[T]) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		if c.closed.Load() {
			return closedChan
		}
		c.done = make(chan struct{})
	}
	return c.done
}

// Close gives up the place: what only this cursor could reach is garbage, and no goroutine of it is left. Next returns 0
// from then on, Position stays as it is. A reader that waits for Ready is not woken; one that can be closed by somebody
// else waits for Done, too. Idempotent.
func (c *Cursor[T]) Close() {
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		return
	}
	c.closed.Store(true)
	read := c.at.pos
	c.at, c.waiting = place[T]{}, nil
	done := c.done
	c.mu.Unlock()
	if done != nil {
		close(done)
	}
	if folding := c.log.leave(c, read); folding != nil {
		<-folding
	}
}
