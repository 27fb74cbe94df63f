package informer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// Group is many informers that are started, waited for and stopped together. What wants objects acquires a [Shared] handle
// by [Scope] and releases it; there is one informer per scope, with one watch, however many handles and whatever
// their types. Make one with [NewGroup].
//
// # Views
//
// Handles of one scope may be typed, unstructured or of metadata only: each object is held once and converted when it is read. It
// is held typed if the group's scheme knows the resource, otherwise unstructured, and as metadata only while nobody has
// asked for more. When somebody does, the informer lists once more and goes on with whole objects; handlers of the metadata
// notice nothing, and a handle of whole objects is synced when they are there.
//
// A view in the form the objects are held in costs nothing. One of metadata costs a small allocation per object read; between
// typed and unstructured the whole object is converted, on every read. What is read is in any case shared with others: do not
// change it.
//
// An unstructured view of objects that are held typed shows the fields that the Go type has; see [ScopeOptions].Base.
type Group struct {
	opts GroupOptions

	// mu guards what follows, and the entries' fields that say so. It is held for short steps only. Order: Group.mu before
	// entry.mu before Informer.mu.
	mu      sync.Mutex
	entries map[Scope]*entry
	life    *groupLife // nil while not running
}

// groupLife is the time between a call of Group.Run and its return.
type groupLife struct {
	ctx      context.Context
	running  sync.WaitGroup // the informers' goroutines; added to under Group.mu, while Group.life is set
	failures []error        // of informers that ended; guarded by Group.mu
}

// SourceFunc makes the source of a scope, with objects in the form that view says. kind is the objects' kind if it is known,
// which it always is for a TypedView. The scope's selectors are the source's to apply ([listwatch.Narrow]). It may be called
// for sources that are not used in the end, so it starts nothing. See [ClientSource].
type SourceFunc func(scope Scope, view View, kind schema.GroupVersionKind) (listwatch.Source[runtime.Object], error)

// GroupOptions configures a [Group].
type GroupOptions struct {
	// Source makes the informers' sources. Required.
	Source SourceFunc
	// Scheme knows the Go types. Nil: client-go's, which has the built-in ones.
	Scheme *runtime.Scheme
	// Informer gives the options of the informer of a scope. It is called when the scope is acquired. Nil: all have the zero ones.
	Informer func(Scope) ScopeOptions
	// Strict makes [Lookup] refuse what nobody has acquired, so that a read can't start an informer.
	Strict bool
}

// ScopeOptions are the options of an informer of a group. The zero value works.
type ScopeOptions struct {
	// Name tells informers apart in errors, logs and metrics. "" stands for the scope in words.
	Name string
	// Base is the form in which objects are held. 0 and MetadataView: as the group's doc says. TypedView: typed, also while
	// only metadata is asked for, which saves the change later. UnstructuredView: as the server sent them, so that no field is
	// lost that the Go type does not have; typed views are then converted.
	Base View
	// Transform is as [Options].Transform. It gets objects in the form they are held in.
	Transform func(runtime.Object) (runtime.Object, error)
	// Reflector tunes listing and watching. Its Name is the informer's if empty.
	Reflector reflector.Options
	// ShutdownTimeout is as [Options].ShutdownTimeout. It counts when the group stops, and when the last handle is released.
	ShutdownTimeout time.Duration
}

// NewGroup makes a group without informers. It does nothing until Run.
func NewGroup(opts GroupOptions) (*Group, error) {
	if opts.Source == nil {
		return nil, errors.New("informer: GroupOptions.Source is nil")
	}
	if opts.Scheme == nil {
		opts.Scheme = scheme.Scheme
	}
	return &Group{opts: opts, entries: map[Scope]*entry{}}, nil
}

// Acquire returns a handle on the informer of scope, which is made if there is none; it runs while the group does. T is
// the view: a pointer to the Go type of the resource's kind, *unstructured.Unstructured, *metav1.PartialObjectMetadata, or
// runtime.Object for whole objects in the form they are held in. A Go type that the group's scheme does not know is converted from
// unstructured objects.
//
// The handle must be released. The error says what is wrong with the scope, the options or T, or is that of GroupOptions.Source.
func Acquire[T runtime.Object](g *Group, scope Scope) (*Shared[T], error) {
	return acquire[T](g, scope, false)
}

// Lookup is Acquire for reads that were not planned. In a group that is strict it returns an [UndeclaredError] if nobody
// holds the scope, or only its metadata and T is more: no request is made then. The handle must be released.
func Lookup[T runtime.Object](g *Group, scope Scope) (*Shared[T], error) {
	return acquire[T](g, scope, g.opts.Strict)
}

// UndeclaredError says that a read would have to start an informer, or make one hold more, and may not.
type UndeclaredError struct {
	Scope Scope
	// View is what was asked for.
	View View
}

func (e *UndeclaredError) Error() string {
	return fmt.Sprintf("informer %s (%s): not declared: nobody has acquired it and the group is strict", e.Scope, e.View)
}

func acquire[T runtime.Object](g *Group, scope Scope, declaredOnly bool) (*Shared[T], error) {
	scope, err := scope.normalized()
	if err != nil {
		return nil, err
	}
	p, err := newProjection[T](g.opts.Scheme, scope.Resource)
	if err != nil {
		return nil, fmt.Errorf("informer %s: %w", scope, err)
	}
	e, err := g.acquire(scope, p.view, p.kind, declaredOnly)
	if err != nil {
		return nil, err
	}
	return newShared(e, p), nil
}

func (g *Group) acquire(scope Scope, view View, kind schema.GroupVersionKind, declaredOnly bool) (*entry, error) {
	if e := g.acquireExisting(scope, view); e != nil {
		return e, nil
	}
	if declaredOnly {
		return nil, &UndeclaredError{Scope: scope, View: view}
	}
	// User code, so not under the lock: somebody else may do the same at the same time, and only one entry is used.
	var opts ScopeOptions
	if g.opts.Informer != nil {
		opts = g.opts.Informer(scope)
	}
	base, err := opts.base(view, kind)
	if err != nil {
		return nil, fmt.Errorf("informer %s: %w", scope, err)
	}
	source, err := g.opts.Source(scope, base, kind)
	if err == nil && source == nil {
		err = errors.New("GroupOptions.Source returned nil")
	}
	if err != nil {
		return nil, fmt.Errorf("informer %s: make its source: %w", scope, err)
	}
	fresh, err := newEntry(g, scope, base, kind, opts, source)
	if err != nil {
		return nil, err
	}

	g.mu.Lock()
	defer g.mu.Unlock()
	e, ok := g.entries[scope]
	switch {
	case !ok:
		e = fresh
		g.entries[scope] = e
		if g.life != nil {
			e.startLocked(g.life)
		}
	case base.full() && !e.base.full():
		e.base = base
		e.source.change(source)
	}
	e.holdLocked()
	return e, nil
}

// acquireExisting is nil if there is no informer of the scope, or one that holds too little.
func (g *Group) acquireExisting(scope Scope, view View) *entry {
	g.mu.Lock()
	defer g.mu.Unlock()
	e, ok := g.entries[scope]
	if !ok || view.full() && !e.base.full() {
		return nil
	}
	e.holdLocked()
	return e
}

// base is the form to hold objects in if somebody asks for view; kind is empty if the scheme does not know it.
func (o ScopeOptions) base(view View, kind schema.GroupVersionKind) (View, error) {
	switch {
	case o.Base == UnstructuredView:
		return UnstructuredView, nil
	case o.Base == TypedView && kind.Empty():
		return 0, errors.New("ScopeOptions.Base is TypedView, and the scheme does not know the resource's type")
	case o.Base > TypedView:
		return 0, fmt.Errorf("ScopeOptions.Base is %d", o.Base)
	case o.Base != TypedView && view == MetadataView:
		return MetadataView, nil
	case kind.Empty():
		return UnstructuredView, nil
	}
	return TypedView, nil
}

// Run runs the informers that are acquired, and those that come, until ctx ends, and returns when every goroutine has ended.
// An informer that fails stops no other. The error joins those of the informers that ended by themselves and are still
// held, and of those whose handlers did not return ([HandlersRunningError]); it is [ErrRunning] if the group is running
// already. A group can run again.
func (g *Group) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	life := &groupLife{ctx: ctx}
	g.mu.Lock()
	if g.life != nil {
		g.mu.Unlock()
		return ErrRunning
	}
	g.life = life
	for _, e := range g.entries {
		e.startLocked(life)
	}
	g.mu.Unlock()

	<-ctx.Done()

	g.mu.Lock()
	g.life = nil
	g.mu.Unlock()
	life.running.Wait()

	g.mu.Lock()
	defer g.mu.Unlock()
	failures := life.failures
	for _, e := range g.sortedLocked() {
		if e.err != nil {
			failures = append(failures, e.err)
		}
	}
	return errors.Join(failures...)
}
