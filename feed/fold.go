package feed

import "runtime"

const (
	// foldLag is how many changes a LatestState cursor may be behind before they are merged without waiting for its
	// reader. The changes of the last Append do not count: the reader has hardly had the time.
	foldLag = 2 * maxSegment
	// helpLag is from where on they do count, and the appender lends a hand, lest it outrun the merging for as long as it
	// is busy; helpSegments is how much it merges then, at most once for each time that the log grows by a segment. That
	// is less than a microsecond per change. (BenchmarkBacklog has what it bounds.)
	helpLag      = 32 * maxSegment
	helpSegments = 16
)

// catchUpLocked starts merging for the LatestState cursors that are far behind, and returns one that is very far behind, if
// there is any, to lend a hand with. The last Append moved the end from before to end. Called when that has added a
// segment, so that the cost, one look at each such cursor, is shared by a segment's changes.
func (l *Log[T]) catchUpLocked(before, end Position) (help *Cursor[T]) {
	for _, c := range l.latest {
		read := Position(c.read.Load())
		if read+foldLag >= before && read+helpLag >= end {
			continue
		}
		if read+helpLag < end && help == nil {
			help = c
		}
		if ended(c.folding) {
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
		runtime.Gosched() // so as to be interrupted here, and not while holding the lock
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
	defer c.unlock(c.at.pos)
	return !c.closed.Load() && c.foldLocked(c.log.End())
}
