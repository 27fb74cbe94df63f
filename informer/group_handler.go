package informer

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// SharedRegistration is a handler's place at a [Shared] handle. It ends with the handle.
type SharedRegistration struct {
	name         string
	synced, done <-chan struct{}

	mu         sync.Mutex                    // guards what follows. Order: before Informer.mu
	base       *Registration[runtime.Object] // nil once removed, so that it does not hold on to the store
	registered bool                          // else it waits for whole objects
	forget     func(*SharedRegistration)     // takes it out of its handle; nil once removed
	unbind     func() bool                   // undoes the binding to HandlerOptions.Context; nil if there is none
}

// AddHandler registers h, as [Informer.AddHandler] does. A handler of whole objects is told nothing before they are there. At a
// released handle the registration is one that is removed.
func (s *Shared[T]) AddHandler(h Handler[T], opts HandlerOptions) *SharedRegistration {
	tell := Handler[runtime.Object]{Event: func(e Event[runtime.Object]) {
		if shown, ok := s.event(&e); ok {
			h.call(&shown)
		}
	}}
	bound := opts.Context
	opts.Context = nil

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		closed := make(chan struct{})
		close(closed)
		return &SharedRegistration{name: opts.Name, synced: make(chan struct{}), done: closed}
	}
	e := s.entry.Load()
	base := e.informer.newRegistration(tell, opts)
	r := &SharedRegistration{name: base.opts.Name, synced: base.synced, done: base.done, base: base}
	r.forget = func(r *SharedRegistration) {
		e.strike(r)
		s.mu.Lock()
		delete(s.handlers, r)
		s.mu.Unlock()
	}
	s.handlers[r] = struct{}{}
	e.enroll(r, s.projection.view)
	if bound != nil {
		r.mu.Lock()
		r.unbind = context.AfterFunc(bound, r.Remove)
		r.mu.Unlock()
	}
	return r
}

func (r *SharedRegistration) register() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.base != nil && !r.registered {
		r.registered = true
		r.base.informer.register(r.base)
	}
}

// Remove ends the registration, as [Registration.Remove] does.
func (r *SharedRegistration) Remove() {
	r.mu.Lock()
	base, registered, forget, unbind := r.base, r.registered, r.forget, r.unbind
	r.base, r.forget, r.unbind = nil, nil, nil
	r.mu.Unlock()
	if base == nil {
		return
	}
	if unbind != nil {
		unbind()
	}
	forget(r)
	if registered {
		base.Remove()
	} else {
		close(base.gone)
		close(base.done)
	}
}

// now is the registration, nil once removed.
func (r *SharedRegistration) now() (base *Registration[runtime.Object], registered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.base, r.registered
}

// Done is closed when, after Remove, no call is running any more; see [Registration.Done].
func (r *SharedRegistration) Done() <-chan struct{} { return r.done }

// Name is HandlerOptions.Name, or the number that stands for it.
func (r *SharedRegistration) Name() string { return r.name }

// Synced is closed when the handler was told everything of the first list; see [Registration.Synced].
func (r *SharedRegistration) Synced() <-chan struct{} { return r.synced }

// WaitSynced waits for Synced. When ctx ends first, the error is a [NotSyncedError]; when the handler is removed first, or the
// handle released, [ErrRemoved].
func (r *SharedRegistration) WaitSynced(ctx context.Context) error {
	if isClosed(r.synced) {
		return nil
	}
	base, _ := r.now()
	if base == nil {
		return ErrRemoved
	}
	return base.WaitSynced(ctx)
}

// Backlog is what the handler has not been told yet.
func (r *SharedRegistration) Backlog() Backlog {
	if base, registered := r.now(); registered && base != nil {
		return base.Backlog()
	}
	return Backlog{}
}

// Replay tells every object once more; see [Registration.Replay].
func (r *SharedRegistration) Replay() {
	if base, _ := r.now(); base != nil {
		base.Replay()
	}
}
