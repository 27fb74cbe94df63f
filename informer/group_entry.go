package informer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/internal/failurelog"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/store"
)

// entry is an informer of a group, and who holds it.
type entry struct {
	group    *Group
	scope    Scope
	informer *Informer[runtime.Object]
	source   *changeable
	whole    chan struct{} // closed when the store holds whole objects; nil if it does from the start
	failures failurelog.Log

	// Guarded by Group.mu.
	base   View // what is held, or about to be
	refs   int
	cancel context.CancelFunc // ends its run; nil while it is not running
	ended  chan struct{}      // closed while it is not running
	failed chan struct{}      // closed when its run has ended by itself, because of err
	gone   chan struct{}      // closed when the last handle is released; never replaced
	err    error

	mu      sync.Mutex // guards what follows
	waiting map[*SharedRegistration]struct{}
	listers [2]*Lister[runtime.Object] // without and with a label index; nil until asked for
}

func newEntry(g *Group, scope Scope, base View, kind schema.GroupVersionKind, opts ScopeOptions, from listwatch.Source[runtime.Object]) (*entry, error) {
	if opts.Name == "" {
		opts.Name = scope.String()
	}
	e := &entry{
		group:   g,
		scope:   scope,
		base:    base,
		ended:   make(chan struct{}),
		failed:  make(chan struct{}),
		gone:    make(chan struct{}),
		waiting: map[*SharedRegistration]struct{}{},
	}
	close(e.ended)
	e.source = newChangeable(from, e.isWhole)
	transform := opts.Transform
	if !base.full() {
		e.whole = make(chan struct{})
		transform = withKind(kind, transform)
	}
	report := opts.Reflector.OnError
	opts.Reflector.OnError = func(ctx context.Context, err error) {
		switch {
		case isChange(err): // of our own making
		case report != nil:
			report(ctx, err)
		default:
			reportFailure(ctx, &e.failures, opts.Name, err)
		}
	}
	_, writer := store.New(store.Options[runtime.Object]{Same: sameForm})
	var err error
	e.informer, err = New(e.source, Options[runtime.Object]{
		Name:            opts.Name,
		Transform:       transform,
		Reflector:       opts.Reflector,
		ShutdownTimeout: opts.ShutdownTimeout,
		Writer:          writer,
	})
	return e, err
}

// sameForm is Same for a store in which metadata may be replaced by whole objects of the same resource version.
func sameForm(prev, next runtime.Object) bool {
	return isPartial(prev) == isPartial(next) && Same(prev, next)
}

// withKind gives metadata the kind of its object, if it is known, before transform: servers say "PartialObjectMetadata".
func withKind(kind schema.GroupVersionKind, transform func(runtime.Object) (runtime.Object, error)) func(runtime.Object) (runtime.Object, error) {
	if kind.Empty() {
		return transform
	}
	name := func(obj runtime.Object) (runtime.Object, error) {
		if partial, ok := obj.(*metav1.PartialObjectMetadata); ok && partial.GroupVersionKind() != kind {
			named := *partial
			named.SetGroupVersionKind(kind)
			return &named, nil
		}
		return obj, nil
	}
	if transform == nil {
		return name
	}
	return Chain(name, transform)
}

// holdLocked counts one more handle. An informer that ended by itself gets another try. Group.mu is held.
func (e *entry) holdLocked() {
	e.refs++
	if e.err != nil && e.cancel == nil && e.group.life != nil {
		e.startLocked(e.group.life)
	}
}

// startLocked runs the informer until l ends or the last handle is released. Group.mu is held.
func (e *entry) startLocked(l *groupLife) {
	ctx, cancel := context.WithCancel(l.ctx)
	ended := make(chan struct{})
	e.cancel, e.ended = cancel, ended
	if e.err != nil {
		e.err, e.failed = nil, make(chan struct{})
	}
	l.running.Go(func() {
		defer close(ended)
		defer cancel()
		err := e.informer.Run(ctx)

		g := e.group
		g.mu.Lock()
		defer g.mu.Unlock()
		e.cancel = nil
		switch {
		case err == nil:
		case ctx.Err() != nil:
			l.failures = append(l.failures, err)
		default:
			e.err = err
			close(e.failed)
		}
	})
}

// release gives a handle back. ended is closed when the informer has ended, if it was the last one; else it is nil.
func (e *entry) release() (ended <-chan struct{}) {
	g := e.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if e.refs--; e.refs < 0 {
		panic("BUG: informer: more releases than acquisitions of " + e.scope.String())
	}
	if e.refs > 0 {
		return nil
	}
	if g.entries[e.scope] == e {
		delete(g.entries, e.scope)
	}
	close(e.gone)
	if e.cancel != nil {
		e.cancel()
	}
	return e.ended
}

// synced is closed when what a handle of view wants is stored.
func (e *entry) synced(view View) <-chan struct{} {
	if view.full() && e.whole != nil {
		return e.whole
	}
	return e.informer.synced
}

// isWhole registers those who wait for whole objects, and then says that they are there. The reflector's goroutine calls it, once.
func (e *entry) isWhole() {
	for {
		e.mu.Lock()
		waiting := e.waiting
		e.waiting = map[*SharedRegistration]struct{}{}
		if len(waiting) == 0 {
			close(e.whole)
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
		for r := range waiting {
			r.register()
		}
	}
}

// enroll registers r, if it needs whole objects when they are there.
func (e *entry) enroll(r *SharedRegistration, view View) {
	e.mu.Lock()
	if view.full() && e.whole != nil && !isClosed(e.whole) {
		e.waiting[r] = struct{}{}
		e.mu.Unlock()
		return
	}
	e.mu.Unlock()
	r.register()
}

func (e *entry) strike(r *SharedRegistration) {
	e.mu.Lock()
	delete(e.waiting, r)
	e.mu.Unlock()
}

// lister is one of the two that all handles share.
func (e *entry) lister(noLabels bool) *Lister[runtime.Object] {
	n := listerNumber(noLabels)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listers[n] == nil {
		e.listers[n] = NewLister(e.informer, ListerOptions[runtime.Object]{
			Resource:     e.scope.Resource.GroupResource(),
			NoLabelIndex: noLabels,
		})
	}
	return e.listers[n]
}

// wait waits until what a handle of view wants is stored. It ends with an error when ctx does, or the informer's run by itself.
func (e *entry) wait(ctx context.Context, view View) error {
	synced := e.synced(view)
	if isClosed(synced) {
		return nil
	}
	e.group.mu.Lock()
	failed := e.failed
	e.group.mu.Unlock()
	select {
	case <-synced:
		return nil
	case <-failed:
	case <-e.gone:
		return e.notSynced(ctx, ErrReleased)
	case <-ctx.Done():
		return e.notSynced(ctx, nil)
	}
	e.group.mu.Lock()
	err := e.err
	e.group.mu.Unlock()
	if err == nil { // it was started again meanwhile
		return e.wait(ctx, view)
	}
	return e.notSynced(ctx, fmt.Errorf("the informer has ended: %w", err))
}

// notSynced says why a wait ended; cause is nil if ctx has.
func (e *entry) notSynced(ctx context.Context, cause error) error {
	if cause != nil && ctx.Err() == nil {
		var cancel context.CancelCauseFunc
		ctx, cancel = context.WithCancelCause(ctx)
		cancel(cause)
	}
	return e.informer.notSynced(ctx, "")
}

func (g *Group) sortedLocked() []*entry {
	return slices.SortedFunc(maps.Values(g.entries), func(a, b *entry) int {
		return cmp.Or(
			cmp.Compare(a.scope.Resource.Group, b.scope.Resource.Group),
			cmp.Compare(a.scope.String(), b.scope.String()))
	})
}
