package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/informer"
)

// minResync is the shortest resync period.
const minResync = time.Second

// handlerRegistration is a handler of a shared informer.
type handlerRegistration struct {
	owner    *sharedIndexInformer
	delivery *informer.Registration[any]
	name     string

	// Guarded by owner.mu.
	period time.Duration // between resyncs; 0: none
	next   time.Time     // when the next one is due
}

func (r *handlerRegistration) HasSynced() bool { return isSynced(r.delivery.Synced()) }

func (r *handlerRegistration) HasSyncedChecker() DoneChecker {
	return syncChecker{informer: r.owner.informer, name: r.name, done: r.delivery.Synced()}
}

// ShutdownChan closes when, after the removal of the handler, no call of it runs any more, but for one that removed it
// itself. It is an optional interface of registrations, which [ShutDownEventHandler] needs.
func (r *handlerRegistration) ShutdownChan() <-chan struct{} { return r.delivery.Done() }

func (s *sharedIndexInformer) AddEventHandler(handler ResourceEventHandler) (ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, HandlerOptions{})
}

func (s *sharedIndexInformer) AddEventHandlerWithResyncPeriod(handler ResourceEventHandler, resyncPeriod time.Duration) (ResourceEventHandlerRegistration, error) {
	return s.AddEventHandlerWithOptions(handler, HandlerOptions{ResyncPeriod: &resyncPeriod})
}

func (s *sharedIndexInformer) AddEventHandlerWithOptions(handler ResourceEventHandler, options HandlerOptions) (ResourceEventHandlerRegistration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, fmt.Errorf("handler %v was not added to shared informer because it has stopped already", handler)
	}
	r := &handlerRegistration{owner: s, name: fmt.Sprintf("%s + event handler %T", s.name(), handler)}
	r.delivery = s.informer.AddHandler(
		informer.Handler[any]{Event: s.metrics.handler(eventsTo(handler))},
		informer.HandlerOptions{
			Delivery:      s.delivery,
			JoinRecreated: true,
			OnPanic: func(_ string, panicked any) {
				logger := klog.Background()
				if options.Logger != nil {
					logger = *options.Logger
				}
				// As in every goroutine of Kubernetes: log, and then crash unless the process asked for the contrary.
				defer utilruntime.HandleCrashWithLogger(logger.WithValues("handler", r.name))
				panic(panicked)
			},
		})
	s.resyncs.add(r, options.ResyncPeriod, s.started, time.Now())
	return r, nil
}

// eventsTo tells handler what an informer tells.
func eventsTo(handler ResourceEventHandler) func(informer.Event[any]) {
	return func(e informer.Event[any]) {
		switch e.Type {
		case informer.Added:
			handler.OnAdd(e.New, e.Initial)
		case informer.Updated:
			handler.OnUpdate(e.Old, e.New)
		case informer.Deleted:
			if e.Final {
				handler.OnDelete(e.Old)
			} else {
				handler.OnDelete(DeletedFinalStateUnknown{Key: e.Key, Obj: e.Old})
			}
		}
	}
}

func (s *sharedIndexInformer) RemoveEventHandler(handle ResourceEventHandlerRegistration) error {
	r, ok := handle.(*handlerRegistration)
	if !ok || r == nil || r.owner != s {
		return fmt.Errorf("%s: %T is no registration of this informer", s.name(), handle)
	}
	s.mu.Lock()
	delete(s.resyncs.handlers, r)
	s.mu.Unlock()
	r.delivery.Remove()
	return nil
}

// ShutDownEventHandler removes a handler and waits until no call of it runs any more. It may be called again. From
// inside the handler it does not wait for the very call it is made in.
func ShutDownEventHandler(informer SharedInformer, handle ResourceEventHandlerRegistration) error {
	if err := informer.RemoveEventHandler(handle); err != nil {
		return err
	}
	r, ok := handle.(interface{ ShutdownChan() <-chan struct{} })
	if !ok {
		return errors.New("handle does not support ShutdownChan()")
	}
	<-r.ShutdownChan()
	return nil
}

// backlog is what all handlers together have not been told yet.
func (s *sharedIndexInformer) backlog() int {
	s.mu.Lock()
	registrations := slices.Collect(maps.Keys(s.resyncs.handlers))
	s.mu.Unlock()
	n := 0
	for _, r := range registrations {
		n += r.delivery.Backlog().Changes
	}
	return n
}

// resyncs says who is to be resynced when. Guarded by the mutex of the informer it belongs to.
type resyncs struct {
	standard time.Duration // of handlers that don't say
	check    time.Duration // how often to look who is due; 0: never, and then nobody ever is
	handlers map[*handlerRegistration]struct{}
}

func newResyncs(standard time.Duration) resyncs {
	r := resyncs{standard: standard, handlers: map[*handlerRegistration]struct{}{}}
	if standard > 0 {
		r.check = max(standard, minResync)
	}
	return r
}

// add takes in a handler that asks for a period; nil is the standard one. Before the start the shortest period makes
// the pace, after it the pace is the shortest period.
func (r *resyncs) add(handler *handlerRegistration, asked *time.Duration, started bool, now time.Time) {
	period := r.standard
	if asked != nil {
		period = *asked
	}
	switch {
	case period <= 0 || r.check == 0:
		period = 0
	default:
		period = max(period, minResync)
		if started {
			period = max(period, r.check)
		}
		r.check = min(r.check, period)
	}
	handler.period, handler.next = period, now.Add(period)
	r.handlers[handler] = struct{}{}
}

// due returns the handlers whose time has come, and sets their next one.
func (r *resyncs) due(now time.Time) []*handlerRegistration {
	var due []*handlerRegistration
	for handler := range r.handlers {
		if handler.period > 0 && !now.Before(handler.next) {
			handler.next = now.Add(handler.period)
			due = append(due, handler)
		}
	}
	return due
}

// resync has the handlers that are due told everything again.
func (s *sharedIndexInformer) resync(ctx context.Context, period time.Duration) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			s.mu.Lock()
			due := s.resyncs.due(now)
			s.mu.Unlock()
			for _, r := range due {
				r.delivery.Replay()
			}
		case <-ctx.Done():
			return
		}
	}
}
