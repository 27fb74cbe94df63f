package reflector

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// watchdog is a context that ends with [ErrTimeout] at a time that can be moved. It has a goroutine, which ends before
// close returns.
type watchdog struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	clock  clock.WithTicker
	timer  clock.Timer
	moved  chan struct{} // tells of an earlier until
	done   chan struct{}

	// mu guards until, which the goroutine reads when its timer fires.
	mu    sync.Mutex
	until time.Time
}

func newWatchdog(parent context.Context, c clock.WithTicker, until time.Time) *watchdog {
	w := &watchdog{clock: c, until: until, moved: make(chan struct{}, 1), done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancelCause(parent)
	w.timer = c.NewTimer(until.Sub(c.Now()))
	go w.run()
	return w
}

func (w *watchdog) run() {
	defer close(w.done)
	defer w.timer.Stop()
	for {
		select {
		case <-w.ctx.Done():
			return
		case <-w.moved:
		case <-w.timer.C():
		}
		left := w.left()
		if left <= 0 {
			w.cancel(ErrTimeout)
			return
		}
		w.timer.Reset(left)
	}
}

func (w *watchdog) left() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.until.Sub(w.clock.Now())
}

// move sets a new time. A later one is noticed when the old one comes.
func (w *watchdog) move(until time.Time) {
	w.mu.Lock()
	earlier := until.Before(w.until)
	w.until = until
	w.mu.Unlock()
	if earlier {
		select {
		case w.moved <- struct{}{}:
		default:
		}
	}
}

// sleep lets no time come until the next move.
func (w *watchdog) sleep() {
	w.move(w.clock.Now().Add(1 << 62))
}

// barked reports that the time came.
func (w *watchdog) barked() bool { return context.Cause(w.ctx) == ErrTimeout }

func (w *watchdog) close() {
	w.cancel(context.Canceled)
	<-w.done
}
