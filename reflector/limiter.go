package reflector

import (
	"context"
	"slices"
	"sync"
)

// DefaultConcurrentLists is how many lists a process has in flight at once, over all reflectors without an
// Options.Limiter. A list that is slow, or a server that ignores streaming lists, holds a place for as long as Options
// allow; waits between tries don't.
const DefaultConcurrentLists = 16

var processLimiter = NewLimiter(DefaultConcurrentLists)

// Limiter bounds the lists in flight. Who comes first goes first, within a priority. Safe for concurrent use.
type Limiter struct {
	// mu guards free and waiting: who gets the next place is one decision.
	mu      sync.Mutex
	free    int
	waiting []*waiter // by priority, then by arrival
}

type waiter struct {
	priority int
	granted  chan struct{}
}

// NewLimiter allows n lists at once; n below 1 counts as 1.
func NewLimiter(n int) *Limiter { return &Limiter{free: max(n, 1)} }

// Acquire waits for a place, and returns how to give it back, which is idempotent. The error is ctx's cause.
func (l *Limiter) Acquire(ctx context.Context, priority int) (release func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w := l.enter(priority)
	if w != nil {
		select {
		case <-w.granted:
		case <-ctx.Done():
			l.leave(w)
			return nil, context.Cause(ctx)
		}
	}
	return sync.OnceFunc(l.release), nil
}

// enter takes a place, or a place in the queue.
func (l *Limiter) enter(priority int) *waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free > 0 {
		l.free--
		return nil
	}
	w := &waiter{priority: priority, granted: make(chan struct{})}
	i := len(l.waiting)
	for i > 0 && l.waiting[i-1].priority < priority {
		i--
	}
	l.waiting = slices.Insert(l.waiting, i, w)
	return w
}

// leave gives up waiting, or a place granted in the same moment.
func (l *Limiter) leave(w *waiter) {
	l.mu.Lock()
	i := slices.Index(l.waiting, w)
	if i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	l.mu.Unlock()
	if i < 0 {
		l.release()
	}
}

func (l *Limiter) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.free++
		return
	}
	close(l.waiting[0].granted)
	l.waiting = slices.Delete(l.waiting, 0, 1)
}
