package informer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// life is the time between a call of Run and its return.
type life struct {
	ctx    context.Context
	cancel context.CancelFunc
	over   atomic.Bool // ctx has ended; cheaper to ask than ctx

	mu     sync.Mutex    // guards what follows; a leaf
	active map[namer]int // handlers and sources whose goroutines have not ended
	quiet  chan struct{} // closed when active is empty; nil until somebody waits
	err    error         // why it ended, if not because its context did
}

type namer interface{ Name() string }

// fail ends the life with err; the first counts.
func (l *life) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	l.cancel()
}

func (l *life) started(r namer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active[r]++
}

func (l *life) ended(r namer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.active[r]--; l.active[r] == 0 {
		delete(l.active, r)
	}
	if len(l.active) == 0 && l.quiet != nil {
		close(l.quiet)
		l.quiet = nil
	}
}

// wait waits until every handler's goroutine has ended; after timeout (0: never) it names those that have not.
func (l *life) wait(timeout time.Duration) (stillRunning []string) {
	l.mu.Lock()
	if len(l.active) == 0 {
		l.mu.Unlock()
		return nil
	}
	quiet := make(chan struct{})
	l.quiet = quiet
	l.mu.Unlock()

	var expired <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-quiet:
		return nil
	case <-expired:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet = nil
	for r := range maps.Keys(l.active) {
		stillRunning = append(stillRunning, r.Name())
	}
	slices.Sort(stillRunning)
	return stillRunning
}

// Run follows the source and calls the handlers, until ctx ends, and returns when every goroutine it started has ended. The
// error is nil if ctx ended it; [ErrRunning] if the informer is running already; a [HandlersRunningError] after
// Options.ShutdownTimeout; and what made the reflector give up, if its options say that it may.
//
// An informer that has stopped keeps what it holds, readable and growing stale, and may be run again: the new list is compared with
// it, and handlers are told the difference.
func (i *Informer[T]) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &life{ctx: ctx, cancel: cancel, active: map[namer]int{}}
	defer context.AfterFunc(ctx, func() { l.over.Store(true) })()

	i.mu.Lock()
	if i.life != nil {
		i.mu.Unlock()
		return ErrRunning
	}
	i.life = l
	for _, r := range i.registrationsLocked() {
		r.start(l)
	}
	for _, s := range i.sourcesLocked() {
		s.startLocked(l, false)
	}
	i.mu.Unlock()

	<-ctx.Done()
	l.over.Store(true)

	i.mu.Lock()
	i.life = nil // handlers and sources that come now wait for the next Run
	i.mu.Unlock()
	if names := l.wait(i.opts.ShutdownTimeout); len(names) > 0 {
		return &HandlersRunningError{Informer: i.opts.Name, Handlers: names}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// registrationsLocked is in the order of AddHandler.
func (i *Informer[T]) registrationsLocked() []*Registration[T] {
	return slices.SortedFunc(maps.Keys(i.registrations), func(a, b *Registration[T]) int { return a.number - b.number })
}
