package feed

// foldLag is how many changes a LatestState cursor may be behind before they are merged without waiting for its reader.
const foldLag = 2 * maxSegment

// catchUpLocked starts merging for the LatestState cursors that are far behind end. Called when a segment was added, so
// that its cost, which is one look at each such cursor, is shared by the changes of a segment.
func (l *Log[T]) catchUpLocked(end Position) {
	for _, c := range l.latest {
		if end-Position(c.read.Load()) <= foldLag {
			continue
		}
		if c.folding != nil {
			select {
			case <-c.folding:
			default:
				continue // at work
			}
		}
		c.folding = make(chan struct{})
		go c.catchUp(c.folding)
	}
}

// catchUp merges what the cursor is behind on, and ends when it is at the end of the log or closed. There is no such
// goroutine for a cursor whose reader keeps up.
func (c *Cursor[T]) catchUp(ended chan<- struct{}) {
	defer close(ended)
	for c.catchUpSome() {
	}
}

// catchUpSome merges a segment, so that the reader can come in between.
func (c *Cursor[T]) catchUpSome() bool {
	c.mu.Lock()
	if c.closed.Load() {
		c.mu.Unlock()
		return false
	}
	before, end := c.at.pos, c.log.End()
	more := c.foldLocked(end)
	after := c.at.pos
	c.read.Store(uint64(after))
	c.mu.Unlock()
	if before != after {
		c.log.caughtUp(after)
	}
	return more
}
