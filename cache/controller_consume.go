package cache

import (
	"context"
	"errors"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/internal/failurelog"
)

const (
	firstRetry = 10 * time.Millisecond // after the first failure in a row
	maxRetry   = time.Second           // pauses grow up to here
)

// consume pops and processes until ctx ends and the queue is empty.
func consume(ctx context.Context, config *Config) {
	c := &consumer{config: config}
	for !c.run(ctx) { // a panic of Process that did not end the process
		pause(ctx, maxRetry)
	}
	<-ctx.Done() // somebody else may have closed the queue
}

// consumer is of one goroutine.
type consumer struct {
	config   *Config
	failures int // in a row
	log      failurelog.Log
}

// run reports that there is nothing left to do.
func (c *consumer) run(ctx context.Context) (finished bool) {
	defer utilruntime.HandleCrashWithContext(ctx)
	pop := c.pop
	if queue, ok := c.config.Queue.(QueueWithBatch); ok && c.config.ProcessBatch != nil && !c.config.RetryOnError {
		pop = func(ctx context.Context) (bool, error) { return c.popBatch(queue) }
	}
	for {
		processed, err := pop(ctx)
		switch {
		case err == nil:
			c.failures = 0
			continue
		case !processed && (errors.Is(err, ErrFIFOClosed) || ctx.Err() != nil):
			return true
		}
		if times, due := c.log.Due(err.Error(), time.Now()); due {
			klog.FromContext(ctx).Error(err, "Processing failed", "times", times)
		}
		c.failures++
		if !processed || c.config.RetryOnError {
			pause(ctx, retryAfter(c.failures)) // it may be the same item, or the same error of the queue, again and again
		}
	}
}

// pop processes one item. processed is false if there was none.
func (c *consumer) pop(ctx context.Context) (processed bool, err error) {
	var initial bool
	item, err := c.config.Queue.Pop(func(obj any, isInInitialList bool) error {
		processed, initial = true, isInInitialList
		err := c.config.Process(obj, isInInitialList)
		if err == nil || !c.config.RetryOnError || ctx.Err() != nil {
			return err
		}
		return ErrRequeue{Err: err}
	})
	var requeue ErrRequeue
	if !processed || !errors.As(err, &requeue) {
		return processed, err
	}
	// The queue does not know ErrRequeue, or the error would be the inner one.
	if queue, ok := c.config.Queue.(interface{ AddIfNotPresent(obj any) error }); ok {
		return true, errors.Join(requeue.Err, queue.AddIfNotPresent(item))
	}
	for n := 1; err != nil && pause(ctx, retryAfter(n)); n++ {
		err = c.config.Process(item, initial)
	}
	return true, err
}

func (c *consumer) popBatch(queue QueueWithBatch) (processed bool, err error) {
	err = queue.PopBatch(
		func(deltas []Delta, isInInitialList bool) error {
			processed = true
			return c.config.ProcessBatch(deltas, isInInitialList)
		},
		func(obj any, isInInitialList bool) error {
			processed = true
			return c.config.Process(obj, isInInitialList)
		})
	return processed, err
}

// retryAfter is the pause after the nth failure in a row.
func retryAfter(n int) time.Duration {
	return min(firstRetry<<min(n-1, 16), maxRetry)
}

// pause reports false if ctx ended before d was over.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
