package informer

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/listwatch"
)

// followed is a resource that is followed.
type followed[T runtime.Object] struct {
	resource listwatch.Resource
	shared   *Shared[T]
	handler  *SharedRegistration // nil if there is none
	tally    tally
	retiring bool // guarded by Follower.mu
}

// begin acquires a resource, registers its handler, and follows it: who is told of its objects finds it among those followed.
func (f *Follower[T]) begin(r listwatch.Resource) error {
	shared, err := Acquire[T](f.group, Scope{Resource: r.GVR, Namespace: f.opts.Namespace, Labels: f.opts.Labels})
	if err != nil {
		return fmt.Errorf("follow %s: %w", r.GVR, err)
	}
	one := &followed[T]{resource: r, shared: shared, tally: tally{drained: make(chan struct{})}}
	var h Handler[T]
	if f.opts.Handler != nil {
		h = f.opts.Handler(r)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opts.Handler != nil {
		one.handler = shared.AddHandler(Handler[T]{Event: func(e Event[T]) {
			if !otherKind(r.Kind, e.Object()) && one.tally.begins(e.Type) {
				defer one.tally.ends(e.Type)
				h.call(&e)
			}
		}}, f.opts.HandlerOptions)
	}
	f.following[r.GVR.GroupResource()] = one
	return nil
}

// otherKind reports that obj is known not to be of a kind. A definition may be deleted and made again with another kind; until that
// is discovered, the informer of the former one gets objects of the latter, which are told when that one is followed.
func otherKind(kind schema.GroupVersionKind, obj runtime.Object) bool {
	found := obj.GetObjectKind().GroupVersionKind()
	return found.Kind != "" && found.Group == kind.Group && found.Kind != kind.Kind
}

func (one *followed[T]) wait(ctx context.Context) error {
	if err := one.shared.WaitSynced(ctx); err != nil || one.handler == nil {
		return err
	}
	return one.handler.WaitSynced(ctx)
}

// retire tells the handler that the objects are gone, and releases the informer. If ctx ends, it does not wait for the telling.
func (one *followed[T]) retire(ctx context.Context) {
	if e := one.shared.entry.Load(); e != nil {
		ended := e.vacate(ctx)
		one.tally.retire()
		select {
		case <-one.tally.drained:
		case <-ended: // the group has stopped, nobody can be told
		case <-ctx.Done():
		}
	}
	one.shared.Release()
	<-one.shared.Done()
}

// vacate makes the informer give up what it holds, because its resource is gone: all handlers are told, while the informer runs;
// ended is closed when it does not. If others hold it, it waits for the resource to come back; else it gets no more, and who
// acquires the scope from now on gets another.
func (e *entry) vacate(ctx context.Context) (ended <-chan struct{}) {
	g := e.group
	g.mu.Lock()
	alone := e.refs == 1
	if alone && g.entries[e.scope] == e {
		delete(g.entries, e.scope)
	}
	g.mu.Unlock()

	if !alone {
		ctx = context.WithoutCancel(ctx) // others need the source that follows
	}
	err := e.informer.RemoveSource(ctx, "")
	if err == nil && !alone {
		if err := e.informer.AddSource("", e.source); err != nil {
			panic("BUG: informer: the source of " + e.scope.String() + " can't be added again: " + err.Error())
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.cancel == nil && g.life != nil { // it had ended by itself when the resource went
		e.startLocked(g.life)
	}
	return e.ended
}

// tally knows whether a handler believes in any object.
type tally struct {
	drained chan struct{} // closed when, after retire, it believes in none; from then on it is told nothing

	mu       sync.Mutex // guards what follows; a leaf
	there    int        // objects it was told to be there
	retiring bool
}

// begins reports that an event may be told.
func (t *tally) begins(typ EventType) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if isClosed(t.drained) {
		return false
	}
	if typ == Added {
		t.there++
	}
	return true
}

// ends notes that an event was told.
func (t *tally) ends(typ EventType) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if typ == Deleted {
		t.there--
		t.drainLocked()
	}
}

func (t *tally) retire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.retiring = true
	t.drainLocked()
}

func (t *tally) drainLocked() {
	if t.retiring && t.there == 0 && !isClosed(t.drained) {
		close(t.drained)
	}
}

// definitionWatch asks its follower to discover whenever a CustomResourceDefinition changes, if the server has such.
type definitionWatch[T runtime.Object] struct {
	follower *Follower[T]
	shared   *Shared[T] // nil while the server has none
}

// update begins or ends the watch, given what is served. Failing is no failure: there is a discovery from time to time.
func (d *definitionWatch[T]) update(served []listwatch.Resource, failed map[schema.GroupVersion]error) {
	_, has := failed[definitions.GroupVersion()]
	has = has && d.shared != nil
	for _, r := range served {
		has = has || r.GVR == definitions
	}
	switch {
	case has && d.shared == nil:
		shared, err := Acquire[T](d.follower.group, Scope{Resource: definitions})
		if err != nil {
			return
		}
		d.shared = shared
		shared.AddHandler(Handler[T]{Event: func(e Event[T]) {
			if !e.Initial {
				d.follower.ask()
			}
		}}, HandlerOptions{Name: "discovery", Delivery: LatestState})
	case !has && d.shared != nil:
		d.end()
	}
}

func (d *definitionWatch[T]) end() {
	if d.shared != nil {
		d.shared.Release()
		<-d.shared.Done()
		d.shared = nil
	}
}
