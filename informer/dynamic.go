package informer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/listwatch"
)

// Follower keeps an informer for every resource that a server serves, or for those that are wanted of them, in the group it
// is made with: resources that come get one, and of resources that go the objects are told as deleted before their informer
// is released. Make one with [FollowAll].
//
// What is served is asked at the start, whenever a CustomResourceDefinition changes, and from time to time (aggregated API
// servers come and go without one). A resource that could not be asked for, because an aggregated server is down, is not gone.
//
// A resource that is served in several versions is followed in the preferred one, for as long as that is served: a version that
// becomes preferred later is taken when the former one ceases. Its objects are then told as deleted in the one and added in the
// other, in this order. The same objects served in two groups (events are, in "" and in events.k8s.io) are two resources; see
// FollowOptions.Want.
type Follower[T runtime.Object] struct {
	group *Group
	opts  FollowOptions[T]

	changed    chan struct{} // holds one request to discover
	discovered chan struct{} // closed after the first discovery

	mu        sync.Mutex // guards what follows
	running   bool
	following map[schema.GroupResource]*followed[T]
	last      time.Time // of the newest discovery
	err       error     // what went wrong last
}

// FollowOptions configures a [Follower].
type FollowOptions[T runtime.Object] struct {
	// Discover asks what is served: [listwatch.Clients.Discover]. Of a group-resource that comes in several versions the first
	// that is wanted is followed. A [listwatch.DiscoveryError] says which groups and versions could not be asked. Required.
	Discover func(context.Context) ([]listwatch.Resource, error)
	// Want says which resources to follow. Nil: all.
	Want func(listwatch.Resource) bool
	// Namespace limits the informers to a namespace; cluster-scoped resources are then left out. "": all.
	Namespace string
	// Labels limits the informers to what the selector matches. "": everything.
	Labels string
	// Handler gives the handler for a resource's objects. It is called when the resource comes, in Run's goroutine. Nil:
	// no handlers.
	Handler func(listwatch.Resource) Handler[T]
	// HandlerOptions are those of all handlers.
	HandlerOptions HandlerOptions
	// Gone is called when a resource has gone, everything has been told, and its informer has been released. It is called in
	// goroutines of their own. Nil: nobody is told.
	Gone func(listwatch.Resource)
	// Period is how long to go without asking what is served. 0: 10 minutes.
	Period time.Duration
}

// definitions is the resource whose objects define others.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// FollowAll makes a follower. T is *unstructured.Unstructured, *metav1.PartialObjectMetadata, or runtime.Object for
// whole objects in the form the group holds them in. It does nothing until its Run, and its informers run while the group does.
func FollowAll[T runtime.Object](g *Group, opts FollowOptions[T]) (*Follower[T], error) {
	if opts.Discover == nil {
		return nil, errors.New("informer: FollowOptions.Discover is nil")
	}
	if opts.Period < 0 {
		return nil, fmt.Errorf("informer: FollowOptions.Period is %s: must not be negative", opts.Period)
	}
	if opts.Period == 0 {
		opts.Period = defaultDiscovery
	}
	p, err := newProjection[T](g.opts.Scheme, definitions)
	if err == nil && p.view == TypedView {
		err = errors.New("a Go type can't show every resource")
	}
	if err != nil {
		return nil, fmt.Errorf("informer: follow all resources: %w", err)
	}
	if _, err := (Scope{Resource: definitions, Labels: opts.Labels}).normalized(); err != nil {
		return nil, fmt.Errorf("informer: follow all resources: %w", err)
	}
	return &Follower[T]{
		group:      g,
		opts:       opts,
		changed:    make(chan struct{}, 1),
		discovered: make(chan struct{}),
		following:  map[schema.GroupResource]*followed[T]{},
	}, nil
}

// Run follows until ctx ends, releases what it holds, and returns when every goroutine it started has ended. The handlers are
// not told that objects are gone then: nobody knows. Failures to discover are tried again, and told by Status. The error is
// [ErrRunning] if it runs already. It can run again, and begins afresh.
func (f *Follower[T]) Run(ctx context.Context) error {
	f.mu.Lock()
	if f.running {
		f.mu.Unlock()
		return ErrRunning
	}
	f.running = true
	f.mu.Unlock()

	var retiring sync.WaitGroup
	watch := definitionWatch[T]{follower: f}
	when := schedule{period: f.opts.Period}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			continue
		case <-f.changed:
			timer.Reset(when.sooner(time.Now()))
			continue
		case <-timer.C:
		}
		resources, err := f.opts.Discover(ctx)
		if ctx.Err() != nil {
			break
		}
		if complete(err) {
			failed := failedVersions(err)
			watch.update(resources, failed)
			err = errors.Join(err, f.follow(ctx, resources, failed, &retiring))
		}
		f.note(err)
		timer.Reset(when.next(time.Now(), err != nil))
	}
	watch.end()
	f.releaseAll()
	retiring.Wait()

	f.mu.Lock()
	f.running = false
	f.mu.Unlock()
	return nil
}

// complete reports that a discovery with this error tells what is served, but for certain versions.
func complete(err error) bool {
	var partial *listwatch.DiscoveryError
	return err == nil || errors.As(err, &partial)
}

func failedVersions(err error) map[schema.GroupVersion]error {
	var partial *listwatch.DiscoveryError
	if errors.As(err, &partial) {
		return partial.Failed
	}
	return nil
}

// note keeps what a discovery came to.
func (f *Follower[T]) note(err error) {
	f.mu.Lock()
	f.last, f.err = time.Now(), err
	f.mu.Unlock()
	if complete(err) && !isClosed(f.discovered) {
		close(f.discovered)
	}
}

// ask asks for a discovery.
func (f *Follower[T]) ask() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// follow makes what is followed what is served. The error says what could not be acquired.
func (f *Follower[T]) follow(ctx context.Context, served []listwatch.Resource, failed map[schema.GroupVersion]error, retiring *sync.WaitGroup) error {
	f.mu.Lock()
	present := make(map[schema.GroupResource]listwatch.Resource, len(f.following))
	for name, one := range f.following {
		present[name] = one.resource
	}
	f.mu.Unlock()
	start, stop := plan(present, served, failed, f.wants)
	for _, name := range stop {
		f.mu.Lock()
		one := f.following[name]
		already := one.retiring
		one.retiring = true
		f.mu.Unlock()
		if already {
			continue
		}
		retiring.Go(func() {
			one.retire(ctx)
			f.mu.Lock()
			delete(f.following, name)
			f.mu.Unlock()
			if f.opts.Gone != nil && ctx.Err() == nil {
				f.opts.Gone(one.resource)
			}
			f.ask() // it may be served in another form, which had to wait
		})
	}
	var errs []error
	for _, r := range start {
		if err := f.begin(r); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (f *Follower[T]) wants(r listwatch.Resource) bool {
	if f.opts.Namespace != "" && !r.Namespaced {
		return false
	}
	return f.opts.Want == nil || f.opts.Want(r)
}

// releaseAll gives everything back.
func (f *Follower[T]) releaseAll() {
	f.mu.Lock()
	all := f.following
	f.following = map[schema.GroupResource]*followed[T]{}
	f.mu.Unlock()
	for _, one := range all {
		one.shared.Release()
	}
	for _, one := range all {
		<-one.shared.Done()
	}
}

// sorted is what is followed and not on its way out, by name.
func (f *Follower[T]) sorted() []*followed[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := slices.DeleteFunc(slices.Collect(maps.Values(f.following)), func(one *followed[T]) bool { return one.retiring })
	slices.SortFunc(all, func(a, b *followed[T]) int {
		return strings.Compare(a.shared.scope.String(), b.shared.scope.String())
	})
	return all
}

// FollowerStatus tells what a follower follows.
type FollowerStatus struct {
	// Resources are those followed now, by group, version and name.
	Resources []listwatch.Resource
	// Discovered is when the server was asked last; zero: never.
	Discovered time.Time
	// Err is what went wrong then: the server, or a part of it, did not answer, or a resource could not be acquired.
	Err error
}

// Status tells what is followed now.
func (f *Follower[T]) Status() FollowerStatus {
	var status FollowerStatus
	for _, one := range f.sorted() {
		status.Resources = append(status.Resources, one.resource)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	status.Discovered, status.Err = f.last, f.err
	return status
}

// Shared is the handle on a resource that is followed. It is the follower's, which releases it when the resource goes.
func (f *Follower[T]) Shared(resource schema.GroupVersionResource) (*Shared[T], bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one, ok := f.following[resource.GroupResource()]
	if !ok || one.retiring || one.resource.GVR != resource {
		return nil, false
	}
	return one.shared, true
}

// WaitSynced waits for the first discovery, and then until of every resource that is followed the first list has been stored and
// told to its handler. When ctx ends first, the error wraps its cause and what went wrong last, or it is a
// [GroupNotSyncedError] that names the resources that are not ready. Resources that go meanwhile are not waited for.
func (f *Follower[T]) WaitSynced(ctx context.Context) error {
	select {
	case <-f.discovered:
	case <-ctx.Done():
		err := fmt.Errorf("informer: what is served is not known: %w", context.Cause(ctx))
		if last := f.Status().Err; last != nil {
			err = fmt.Errorf("%w: last error: %w", err, last)
		}
		return err
	}
	all := f.sorted()
	var failed *GroupNotSyncedError
	for _, one := range all {
		err := one.wait(ctx)
		if err == nil || errors.Is(err, ErrReleased) || errors.Is(err, ErrRemoved) {
			continue
		}
		if failed == nil {
			failed = &GroupNotSyncedError{Total: len(all)}
		}
		status := one.shared.Status().Reflector
		failed.NotReady = append(failed.NotReady, NotReady{
			Scope:    one.shared.scope,
			View:     one.shared.projection.view,
			Received: status.Received,
			Expected: status.Expected,
			Err:      err,
		})
	}
	if failed == nil {
		return nil
	}
	return failed
}
