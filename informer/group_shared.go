package informer

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
)

// ErrReleased is in the chain of the error of a wait on a [Shared] that was released before what it waited for.
var ErrReleased = errors.New("informer was released")

// Shared is a handle on an informer of a [Group], got from [Acquire]: its objects as T. It reads, as an [Informer] does,
// from the copy that all handles of the scope share. It must be released; then it finds nothing.
//
// All methods are safe for concurrent use, also from inside handlers.
type Shared[T runtime.Object] struct {
	scope      Scope
	name       string
	projection projection[T]
	synced     <-chan struct{}
	unshown    unshown

	entry    atomic.Pointer[entry]                     // nil once released, so that nothing here holds on to the store
	listers  [2]atomic.Pointer[Lister[runtime.Object]] // as those of entry; nil until asked for and once released
	released context.Context                           // ends with Release
	end      context.CancelCauseFunc                   // of released
	done     chan struct{}

	mu       sync.Mutex // guards what follows. Order: before entry.mu
	closed   bool       // Release was called
	handlers map[*SharedRegistration]struct{}
	indexes  map[*SharedIndex[T]]struct{}
	overlays map[*SharedOverlay[T]]struct{}
}

func newShared[T runtime.Object](e *entry, p projection[T]) *Shared[T] {
	s := &Shared[T]{
		scope:      e.scope,
		name:       e.informer.Name(),
		projection: p,
		synced:     e.synced(p.view),
		done:       make(chan struct{}),
		handlers:   map[*SharedRegistration]struct{}{},
		indexes:    map[*SharedIndex[T]]struct{}{},
		overlays:   map[*SharedOverlay[T]]struct{}{},
	}
	s.entry.Store(e)
	s.released, s.end = context.WithCancelCause(context.Background())
	return s
}

// Release gives the handle back: its handlers, indexes and overlays are removed, waits on it end with [ErrReleased].
// The last handle of a scope stops the informer; who acquires the scope after that gets a new one, with nothing in it.
// Release waits for nothing, Done tells of the end. It may be called again, and from inside a handler.
func (s *Shared[T]) Release() {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.closed = true
	handlers, indexes, overlays := s.handlers, s.indexes, s.overlays
	s.handlers, s.indexes, s.overlays = nil, nil, nil
	for n := range s.listers {
		s.listers[n].Store(nil)
	}
	s.mu.Unlock()

	e := s.entry.Swap(nil)
	s.end(ErrReleased)
	var ends []<-chan struct{}
	for r := range handlers {
		r.Remove()
		ends = append(ends, r.Done())
	}
	for ix := range indexes {
		e.informer.RemoveIndex(ix.base)
	}
	for o := range overlays {
		o.Close()
	}
	if ended := e.release(); ended != nil {
		ends = append(ends, ended)
	}
	if !slices.ContainsFunc(ends, func(ch <-chan struct{}) bool { return !isClosed(ch) }) {
		close(s.done)
		return
	}
	go func() {
		for _, ch := range ends {
			<-ch
		}
		close(s.done)
	}()
}

// Done is closed when, after Release, no handler of this handle is running any more, except one that called Release itself,
// and, if the handle was the scope's last, every goroutine of the informer has ended: don't wait for that inside a handler.
func (s *Shared[T]) Done() <-chan struct{} { return s.done }

// Scope is what the handle was acquired for, its selectors in their normal spelling.
func (s *Shared[T]) Scope() Scope { return s.scope }

// Name is that of the informer.
func (s *Shared[T]) Name() string { return s.name }

// held is what the store has under key.
func (s *Shared[T]) held(key string) (obj runtime.Object, ok bool) {
	if e := s.entry.Load(); e != nil {
		return e.informer.Get(key)
	}
	return nil, false
}

// Get returns the newest object under key. It waits for nobody. The object is shared: do not change it.
func (s *Shared[T]) Get(key string) (T, bool) {
	obj, ok := s.held(key)
	if !ok {
		var none T
		return none, false
	}
	return s.show(key, obj)
}

// Len is the number of objects now, those included that can't be shown as T (see Status).
func (s *Shared[T]) Len() int {
	if e := s.entry.Load(); e != nil {
		return e.informer.Len()
	}
	return 0
}

// All yields every object by key, of one version.
func (s *Shared[T]) All() iter.Seq2[string, T] { return s.Snapshot().All() }

// Synced is closed when the first list, in a form that T can be shown from, is stored.
func (s *Shared[T]) Synced() <-chan struct{} { return s.synced }

// WaitSynced waits for Synced. The error is a [NotSyncedError]: ctx has ended, the handle was released ([ErrReleased]), or the
// informer has ended by itself.
func (s *Shared[T]) WaitSynced(ctx context.Context) error {
	return s.wait(ctx, func(context.Context, *entry) error { return nil })
}

// Version tells how fresh the copy is; zero once released.
func (s *Shared[T]) Version() Version {
	if e := s.entry.Load(); e != nil {
		return e.informer.Version()
	}
	return Version{}
}

// WaitFor waits until reads show every change up to resource version rv, as [Informer.WaitFor] does. Errors are those of that
// and of WaitSynced.
func (s *Shared[T]) WaitFor(ctx context.Context, rv string) error {
	return s.wait(ctx, func(ctx context.Context, e *entry) error { return e.informer.WaitFor(ctx, rv) })
}

// wait waits for first, and until the handle is synced.
func (s *Shared[T]) wait(ctx context.Context, first func(context.Context, *entry) error) error {
	e := s.entry.Load()
	if e == nil {
		return &NotSyncedError{Informer: s.name, Cause: ErrReleased}
	}
	ctx, cancel := s.bind(ctx)
	defer cancel()
	if err := first(ctx, e); err != nil {
		return err
	}
	return e.wait(ctx, s.projection.view)
}

// bind makes a context end with the handle, too.
func (s *Shared[T]) bind(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unbind := context.AfterFunc(s.released, func() { cancel(ErrReleased) })
	return ctx, func() {
		unbind()
		cancel(nil)
	}
}

// Events pulls what a handler would be told, as [Informer.Events] does, until ctx ends, the handle is released or the loop is left.
func (s *Shared[T]) Events(ctx context.Context) iter.Seq[Event[T]] {
	return func(yield func(Event[T]) bool) {
		if s.WaitSynced(ctx) != nil {
			return
		}
		e := s.entry.Load()
		if e == nil {
			return
		}
		ctx, cancel := s.bind(ctx)
		defer cancel()
		for ev := range e.informer.Events(ctx) {
			if shown, ok := s.event(&ev); ok && !yield(shown) {
				return
			}
		}
	}
}

// Status tells where the informer stands, its handlers of other handles included, and which objects can't be shown as T as far
// as that was noticed, by reads and handlers ([ReasonView]). Once released, it has nothing but a name.
func (s *Shared[T]) Status() Status {
	e := s.entry.Load()
	if e == nil {
		return Status{Name: s.name}
	}
	status := e.informer.Status()
	status.Synced = isClosed(s.synced)
	status.Quarantined = append(status.Quarantined, s.unshown.list(e.informer.Get)...)
	slices.SortStableFunc(status.Quarantined, func(a, b Quarantined) int { return cmp.Compare(a.Key, b.Key) })
	return status
}
