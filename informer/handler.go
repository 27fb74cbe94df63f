package informer

import (
	"context"
	"fmt"
	"time"

	"github.com/informerkit/informerkit/feed"
)

// Handler is told of events, one at a time, in one goroutine of its own. Functions that are nil are skipped. What they
// get is shared with all readers: they must not change it.
type Handler[T any] struct {
	Added   func(obj T)
	Updated func(old, new T)
	Deleted func(d Deletion[T])
	// Event, if set, is called in place of the three, with everything that is known.
	Event func(e Event[T])
}

func (h *Handler[T]) call(e *Event[T]) {
	switch {
	case h.Event != nil:
		h.Event(*e)
	case e.Type == Added && h.Added != nil:
		h.Added(e.New)
	case e.Type == Updated && h.Updated != nil:
		h.Updated(e.Old, e.New)
	case e.Type == Deleted && h.Deleted != nil:
		h.Deleted(Deletion[T]{Key: e.Key, Last: e.Old, Final: e.Final, Moved: e.Moved})
	}
}

// Delivery says what a handler that lags behind is told, and so what its backlog can cost.
type Delivery uint8

const (
	// EveryChange tells every change. What the handler lags behind is held in the informer's log, once for all handlers.
	EveryChange Delivery = iota
	// LatestState tells at most one change per object: from the state told last to the newest. An object that came and
	// went meanwhile is not told: do not wait for it, look what is there. The backlog is bounded by the number of objects,
	// however long the handler takes.
	LatestState
)

func (d Delivery) policy() feed.Policy {
	if d == LatestState {
		return feed.LatestState
	}
	return feed.EveryChange
}

// HandlerOptions configures a registration. The zero value works.
type HandlerOptions struct {
	// Name tells handlers apart in status, errors and logs. "" gives a number.
	Name string
	// Delivery is the policy for the backlog.
	Delivery Delivery
	// Context removes the handler when it ends. Nil: it stays until Remove.
	Context context.Context
	// Replay tells every object again, as an Updated whose Event.Replay is set, in the order of keys and spread evenly over each
	// period of this length. It repairs nothing: it repeats what the store holds. 0: never. Less than a second is a second.
	Replay time.Duration
	// JoinRecreated tells an object that was deleted and made again, seen only afterwards, as one Updated from the old to
	// the new one (client-go's way, told apart by UID) in place of a Deleted and an Added.
	JoinRecreated bool
	// OnPanic is called, in the handler's goroutine, with what a call panicked with; the event counts as told. It may panic
	// itself, which ends the process as any panic does. Nil: the panic is logged and counted in [HandlerStatus].
	OnPanic func(key string, panicked any)
}

// Backlog is what a handler has not been told yet.
type Backlog struct {
	// Changes counts changes (EveryChange) or objects (LatestState).
	Changes int
	// Age is how long the oldest of them has waited; 0 if there is none.
	Age time.Duration
}

// AddHandler registers h, at any time. It is told of every object that is there now (Event.Initial), and then of every
// change after that. Calls are made while Run runs; in between the backlog waits.
func (i *Informer[T]) AddHandler(h Handler[T], opts HandlerOptions) *Registration[T] {
	r := i.newRegistration(h, opts)
	i.register(r)
	if opts.Context != nil {
		stop := context.AfterFunc(opts.Context, r.Remove)
		r.unbind.Store(&stop)
	}
	return r
}

// newRegistration makes a registration that gets no calls before it is registered.
func (i *Informer[T]) newRegistration(h Handler[T], opts HandlerOptions) *Registration[T] {
	r := &Registration[T]{
		informer: i,
		handler:  h,
		opts:     opts,
		synced:   make(chan struct{}),
		gone:     make(chan struct{}),
		done:     make(chan struct{}),
		again:    make(chan struct{}, 1),
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handlers++
	if r.opts.Name == "" {
		r.opts.Name = fmt.Sprintf("#%d", i.handlers)
	}
	r.number = i.handlers
	return r
}

// register makes calls come, from the store's present state on.
func (i *Informer[T]) register(r *Registration[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	r.reader = i.newReaderLocked(r.opts.Delivery, r.opts.JoinRecreated)
	i.registrations[r] = struct{}{}
	if i.life != nil {
		r.start(i.life)
	}
}
