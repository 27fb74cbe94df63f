package cache

import (
	"errors"
	"sync"
)

// blockingQueue is the skeleton under [FIFO], [DeltaFIFO], [RealFIFO] and [Heap]: waiting for content, closing, and
// handing content to a process function one call at a time. What is held, and in which order it comes out, is the
// owner's; it lies behind the same lock.
type blockingQueue struct {
	// mu guards the fields below and all that the owner holds. It is not held while something is processed.
	mu sync.RWMutex
	// changed, on mu: content came, the queue was closed, or the processing has ended.
	changed sync.Cond

	pending   func() int // how much the owner holds; called with mu held
	errClosed error      // what pop says once closed and empty
	closed    bool
	// processing: what was taken out last is in the hands of the process function. Until that has returned it is
	// neither here nor known to be dealt with. Who has to know waits (lockIdle).
	processing bool
	// waiting counts those in lockIdle who wait for the processing to end. They come before the next item, or a consumer
	// that never rests would never let them in.
	waiting int
}

func (q *blockingQueue) init(pending func() int, errClosed error) {
	q.pending = pending
	q.errClosed = errClosed
	q.changed.L = &q.mu
}

// lockIdle locks mu at a time when nothing is being processed.
func (q *blockingQueue) lockIdle() {
	q.mu.Lock()
	if !q.processing {
		return
	}
	q.waiting++
	for q.processing {
		q.changed.Wait()
	}
	q.waiting--
	q.changed.Broadcast()
}

// awaitLocked waits until there is content and nothing is being processed. Content left over comes before errClosed.
func (q *blockingQueue) awaitLocked() error {
	for {
		if !q.processing && q.waiting == 0 {
			if q.pending() > 0 {
				return nil
			}
			if q.closed {
				return q.errClosed
			}
		}
		q.changed.Wait()
	}
}

// consume waits for content, takes some (mu held), has it processed (mu not held) and settles (mu held, and also if
// process panics). settle hears whether process asked for what was taken to be put back. The error is process's own,
// the inner one of an [ErrRequeue], or errClosed; then nothing was taken.
func (q *blockingQueue) consume(take func(), process func() error, settle func(requeue bool)) error {
	q.mu.Lock()
	if err := q.awaitLocked(); err != nil {
		q.mu.Unlock()
		return err
	}
	take()
	q.processing = true
	q.mu.Unlock()

	again := false
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.processing = false
		settle(again)
		q.changed.Broadcast()
	}()
	err := process()
	if err != nil {
		again, err = wantsRequeue(err)
	}
	return err
}

// wantsRequeue takes an ErrRequeue off err.
func wantsRequeue(err error) (bool, error) {
	var requeue ErrRequeue
	if errors.As(err, &requeue) {
		return true, requeue.Err
	}
	return false, err
}

// close lets what is left be taken, and then nobody wait. Idempotent.
func (q *blockingQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

func (q *blockingQueue) isClosed() bool {
	q.mu.RLock()
	defer q.mu.RUnlock()
	return q.closed
}

// initialList is the account of what the first Replace brought. It is owned by a queue and guarded by its lock.
type initialList struct {
	begun bool          // a Replace, or another change, has come
	left  int           // of its items, how many have yet to be dealt with
	done  chan struct{} // closed when begun and none is left
}

func newInitialList() initialList { return initialList{done: make(chan struct{})} }

// begin says that a change has come. It reports whether that was the first one: then the n items it brought are the
// initial list.
func (l *initialList) begin(n int) (first bool) {
	if l.begun {
		return false
	}
	l.restart(n)
	return true
}

// restart makes n other items the initial list, in place of those of before.
func (l *initialList) restart(n int) {
	l.begun = true
	l.left = n
	l.check()
}

// settle says that n more items of the initial list have been dealt with.
func (l *initialList) settle(n int) {
	l.left -= n
	if l.left < 0 {
		panic("BUG: more items of the initial list than there were")
	}
	l.check()
}

func (l *initialList) check() {
	if l.begun && l.left == 0 && !l.synced() {
		close(l.done)
	}
}

// synced needs no lock.
func (l *initialList) synced() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}
