package informer

import (
	"context"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/feed"
	"github.com/informerkit/informerkit/internal/goroutine"
)

// Registration is a handler's place at an informer.
type Registration[T any] struct {
	informer *Informer[T]
	handler  Handler[T]
	opts     HandlerOptions
	number   int // counts registrations, for a stable order
	reader   *reader[T]

	synced chan struct{} // closed when everything of the first list has been told
	gone   chan struct{} // closed by Remove
	done   chan struct{} // closed when no call will start and none runs
	again  chan struct{} // holds a request of Replay
	panics atomic.Int64
	caller atomic.Int64                // the goroutine that makes the calls; 0 if none
	unbind atomic.Pointer[func() bool] // undoes the binding to opts.Context

	mu      sync.Mutex // guards what follows
	removed bool
	closed  bool          // done is closed
	idle    chan struct{} // closed when the goroutine of the last start has ended; nil before the first
}

// start makes calls until l ends or r is removed, in a new goroutine; one of an earlier life that has not ended yet is
// waited for first.
func (r *Registration[T]) start(l *life) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.removed {
		return
	}
	previous, idle := r.idle, make(chan struct{})
	r.idle = idle
	l.started(r)
	go func() {
		defer l.ended(r)
		if previous != nil {
			<-previous
		}
		defer r.finish(idle)
		r.run(l)
	}()
}

// finish ends a goroutine's turn.
func (r *Registration[T]) finish(idle chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.caller.Store(0)
	close(idle)
	if r.removed {
		r.reader.snapshot = nil
		r.closeLocked()
	}
}

func (r *Registration[T]) closeLocked() {
	if !r.closed {
		r.closed = true
		close(r.done)
	}
}

// Remove ends the registration: no call starts after it returned. It does not wait for one that is running: Done tells of
// that. It may be called from anywhere, also from inside the handler, and again.
func (r *Registration[T]) Remove() {
	i := r.informer
	i.mu.Lock()
	delete(i.registrations, r)
	i.mu.Unlock()
	if stop := r.unbind.Load(); stop != nil {
		(*stop)()
	}
	inside := r.caller.Load() != 0 && r.caller.Load() == goroutine.ID()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.removed {
		r.removed = true
		close(r.gone)
		r.reader.cursor.Close()
	}
	if inside || r.idleLocked() {
		r.closeLocked()
	}
}

func (r *Registration[T]) idleLocked() bool {
	if r.idle == nil {
		return true
	}
	select {
	case <-r.idle:
		return true
	default:
		return false
	}
}

// Done is closed when, after Remove, no call is running any more, except the one that called Remove itself, if it was
// called from inside the handler: so waiting for Done there does not deadlock.
func (r *Registration[T]) Done() <-chan struct{} { return r.done }

// Name is HandlerOptions.Name, or the number that stands for it.
func (r *Registration[T]) Name() string { return r.opts.Name }

// Synced is closed when the handler's calls for everything of the first list, or for a late handler for everything that was there
// when it came, have returned. A call that panicked counts as returned.
func (r *Registration[T]) Synced() <-chan struct{} { return r.synced }

// WaitSynced waits for Synced. When ctx ends first, the error is a [NotSyncedError]; when the handler is removed first,
// [ErrRemoved].
func (r *Registration[T]) WaitSynced(ctx context.Context) error {
	select {
	case <-r.synced:
		return nil
	default:
	}
	select {
	case <-r.synced:
		return nil
	case <-r.gone:
		return ErrRemoved
	case <-ctx.Done():
		return r.informer.notSynced(ctx, r.opts.Name)
	}
}

// Backlog is what the handler has not been told yet.
func (r *Registration[T]) Backlog() Backlog { return r.reader.backlog() }

// Replay tells every object once more, as an Updated whose Event.Replay is set, as soon as the handler has caught up. A
// request made while one is pending is the same request.
func (r *Registration[T]) Replay() {
	select {
	case r.again <- struct{}{}:
	default:
	}
}

// run makes the calls, until l ends or r is removed.
func (r *Registration[T]) run(l *life) {
	r.caller.Store(goroutine.ID())
	log := klog.FromContext(l.ctx)
	halted := func() bool { return l.over.Load() || isClosed(r.gone) }
	tell := func(e Event[T]) bool {
		r.call(log, &e)
		return !halted()
	}
	replay := newReplay(r)
	defer replay.stop()
	for !halted() {
		if !r.reader.drain(tell, r.noteSynced) || !replay.run(tell) {
			continue
		}
		var filled <-chan struct{}
		if !isClosed(r.synced) {
			filled = r.informer.synced
			if isClosed(filled) {
				r.noteSynced()
				filled = nil
			}
		}
		select {
		case <-r.reader.cursor.Ready():
		case <-filled:
		case <-r.again:
			replay.ask()
		case <-replay.timer():
			replay.ticked()
		case <-r.gone:
		case <-l.ctx.Done():
		}
	}
}

// noteSynced closes synced if everything of the first list has been told. Until then it lets no batch reach beyond the
// first list, so that synced is closed when exactly that has been told.
func (r *Registration[T]) noteSynced() (until feed.Position) {
	if isClosed(r.synced) {
		return anyPosition
	}
	logged := r.informer.log.End()
	end := r.informer.initialEnd.Load()
	switch {
	case end == 0: // it will be where the log ended before that was asked, or later
		return logged
	case uint64(r.reader.cursor.Position()) < end-1:
		return feed.Position(end - 1)
	}
	close(r.synced)
	return anyPosition
}

// call calls the handler for e. A panic of it is the handler's own affair.
func (r *Registration[T]) call(log klog.Logger, e *Event[T]) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		r.panics.Add(1)
		if r.opts.OnPanic != nil {
			r.opts.OnPanic(e.Key, v)
			return
		}
		log.Error(nil, "Handler panicked", "informer", r.informer.opts.Name, "handler", r.opts.Name,
			"event", e.Type, "key", e.Key, "panic", v, "stack", string(debug.Stack()))
	}()
	r.handler.call(e)
}

func (r *Registration[T]) status() HandlerStatus {
	return HandlerStatus{
		Name:    r.opts.Name,
		Synced:  isClosed(r.synced),
		Backlog: r.reader.backlog(),
		Panics:  int(r.panics.Load()),
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// minReplay is the shortest replay period.
const minReplay = time.Second
