package cache

import "errors"

// ErrFIFOClosed is what Pop returns when the queue is closed and everything in it has been popped.
var ErrFIFOClosed = errors.New("queue is closed")

// ReflectorStore is what a reflector needs of a store or queue.
type ReflectorStore interface {
	// Add takes in an object that is new.
	Add(obj any) error
	// Update takes in a new state of an object.
	Update(obj any) error
	// Delete hears that an object is gone; obj is its last state.
	Delete(obj any) error
	// Replace makes list the whole content, as of that resource version. The list is the callee's from then on.
	Replace(list []any, resourceVersion string) error
	// Resync of a queue puts back in line what it, or its consumer, holds. Others do nothing.
	Resync() error
}

// Queue is a [ReflectorStore] whose content waits to be processed. Safe for concurrent use, but for one consumer.
type Queue interface {
	ReflectorStore

	// Pop waits until there is something to process, takes it out, and returns it after process has run on it,
	// with process's error. If that is an [ErrRequeue], what was taken goes back and the error is the inner one.
	// Of a closed queue with nothing in it the error is [ErrFIFOClosed].
	Pop(process PopProcessFunc) (any, error)

	// HasSynced reports whether the first list has been processed: what the first Replace brought, or nothing if an
	// Add, Update or Delete came before it.
	HasSynced() bool
	// HasSyncedChecker is done when HasSynced turns true.
	HasSyncedChecker() DoneChecker

	// Close makes Pop return once the queue is empty. Idempotent.
	Close()
}

// QueueWithBatch is a [Queue] that can give out several items at once.
type QueueWithBatch interface {
	Queue

	// PopBatch is Pop for as many items as the queue finds fit to be processed together. It calls processBatch on
	// these, or processSingle if there is one, or one that cannot be part of a batch. Both must come to the same.
	PopBatch(processBatch ProcessBatchFunc, processSingle PopProcessFunc) error
}

// PopProcessFunc processes what a queue gives out. isInInitialList: it came with the queue's first Replace.
type PopProcessFunc func(obj any, isInInitialList bool) error

// ProcessBatchFunc processes several deltas at once, no two of them about the same object.
type ProcessBatchFunc func(deltas []Delta, isInInitialList bool) error

// ErrRequeue returned by a [PopProcessFunc] puts the item back into its queue, unless there is a newer one of its key by
// then. Pop returns Err, which may be nil.
type ErrRequeue struct {
	Err error
}

// Error is the inner error's.
func (e ErrRequeue) Error() string {
	if e.Err == nil {
		return "the item should be requeued without returning an error"
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e ErrRequeue) Unwrap() error { return e.Err }

// Pop waits for an item of queue and returns it, for those who have nothing to do while it is taken out. It returns nil
// if the queue is closed and empty.
func Pop(queue Queue) any {
	var popped any
	// The only error is ErrFIFOClosed, and the answer to that is nil.
	_, _ = queue.Pop(func(obj any, _ bool) error {
		popped = obj
		return nil
	})
	return popped
}
