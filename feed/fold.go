package feed

import "runtime"

const (
	// foldLag is how many changes a LatestState cursor may be behind before they are merged without waiting for its
	// reader.
	foldLag = 2 * maxSegment
	// helpLag is from where on the appender lends a hand, lest it outrun the merging for as long as it is busy, and
	// helpSegments how much it does then, at most once for each segment it fills. That is less than a microsecond per
	// change (BenchmarkBacklog has what it bounds).
	helpLag      = 32 * maxSegment
	helpSegments = 16
)

// catchUpLocked starts merging for the LatestState cursors that are far behind end, and returns one that is very far behind,
// if there is any, to lend a hand with. Called when a segment was added, so that its cost, one look at each such cursor, is
// shared by a segment's changes.
func (l *Log[T]) catchUpLocked(end Position) (help *Cursor[T]) {
	for _, c := range l.latest {
		lag := end - Position(c.read.Load())
		if lag > helpLag && help == nil {
			help = c
		}
		if lag > foldLag && ended(c.folding) {
			c.folding = make(chan struct{})
			go c.catchUp(c.folding)
		}
	}
	return help
}

func ended(goroutine <-chan struct{}) bool {
	if goroutine == nil {
		return true
	}
	select {
	case <-goroutine:
		return true
	default:
		return false
	}
}

// catchUp merges what the cursor is behind on, and ends when it is at the end of the log or closed. There is no such
// goroutine for a cursor whose reader keeps up.
func (c *Cursor[T]) catchUp(ended chan<- struct{}) {
	defer close(ended)
	for {
		c.mu.Lock()
		if !c.foldAndUnlock() {
			return
		}
		runtime.Gosched()
	}
}

// help is the appender's part. Whoever holds the lock is merging or reading, so there is nothing to wait for.
func (c *Cursor[T]) help() {
	for range helpSegments {
		if !c.mu.TryLock() || !c.foldAndUnlock() {
			return
		}
	}
}

// foldAndUnlock merges a segment, no more, so that the reader can come in between. False: there is nothing left to merge.
func (c *Cursor[T]) foldAndUnlock() bool {
	if c.closed.Load() {
		c.mu.Unlock()
		return false
	}
	before := c.at.pos
	more := c.foldLocked(c.log.End())
	after := c.at.pos
	c.read.Store(uint64(after))
	c.mu.Unlock()
	if before != after {
		c.log.caughtUp(after)
	}
	return more
}
