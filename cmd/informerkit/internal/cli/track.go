package cli

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// tracker is one informer of the demo and what is known of it.
type tracker interface {
	name() string
	run(ctx context.Context) error
	row(now time.Time) row
	// recovered is how a trouble that is over was overcome; "" if there is none, or it is not over.
	recovered(now time.Time) string
	// settle waits until the copy, and what the handler was told, have seen all that was written.
	settle(ctx context.Context) error
	verify(server *apitest.Server) (verdict, error)
	count() counts
}

// object is what the demo's informers hold.
type object interface {
	runtime.Object
	metav1.Object
}

// track follows one resource with an informer that has two handlers: one that tells the stream every change, and a slow one that
// is content with the latest state.
type track[T object] struct {
	resource schema.GroupVersionResource
	informer *informer.Informer[T]
	output   *informer.Registration[T]
	ledger   *ledger
	tell     func(resource string, r record)
	progress chan struct{} // holds a token after something was told

	mu       sync.Mutex   // guards what follows
	told     map[string]T // what the events told so far amount to
	arrivals []arrival    // since the last row
	events   int
	problems int
	trouble  time.Time // when the present one began; zero if there is none
	lists    int       // complete ones, before it
	rate     meter
}

// arrival is when an event was told.
type arrival struct {
	rv uint64
	at time.Time
}

// counts are what a tracker has seen.
type counts struct {
	writes, events, problems, lists int
}

// newTrack follows source. The slow handler takes delay for each object; 0: there is none. stop ends with the demo.
func newTrack[T object](stop context.Context, resource schema.GroupVersionResource, source listwatch.Source[T], l *ledger, delay time.Duration,
	tell func(string, record), problem func(string, error)) (*track[T], error) {
	t := &track[T]{resource: resource, ledger: l, tell: tell, told: map[string]T{}, progress: make(chan struct{}, 1)}
	var err error
	t.informer, err = informer.New(source, informer.Options[T]{
		Name: resource.Resource,
		Reflector: reflector.Options{
			Backoff: demoBackoff,
			OnError: func(_ context.Context, err error) {
				t.noteProblem()
				problem(resource.Resource, err)
			},
		},
	})
	if err != nil {
		return nil, err
	}
	t.output = t.informer.AddHandler(informer.Handler[T]{Event: t.event}, informer.HandlerOptions{Name: "output"})
	if delay > 0 {
		dawdle := func(informer.Event[T]) { sleep(stop, delay) }
		t.informer.AddHandler(informer.Handler[T]{Event: dawdle}, informer.HandlerOptions{Name: "slow", Delivery: informer.LatestState})
	}
	return t, nil
}

// demoBackoff is shorter than the default, which waits up to 30 s for a server that fails as often as the demo's does.
var demoBackoff = reflector.Backoff{Initial: 300 * time.Millisecond, Max: 2 * time.Second, Jitter: 0.5, ResetAfter: 5 * time.Second}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (t *track[T]) name() string { return t.resource.Resource }

func (t *track[T]) run(ctx context.Context) error { return t.informer.Run(ctx) }

func (t *track[T]) noteProblem() {
	lists := t.informer.Status().Reflector.Lists
	t.mu.Lock()
	defer t.mu.Unlock()
	t.problems++
	if t.trouble.IsZero() {
		t.trouble, t.lists = time.Now(), lists
	}
}

func (t *track[T]) recovered(now time.Time) string {
	s := t.informer.Status()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.trouble.IsZero() || s.Reflector.LastError != nil || s.Reflector.Phase != reflector.Watching {
		return ""
	}
	took := lagText(now.Sub(t.trouble))
	t.trouble = time.Time{}
	if s.Reflector.Lists > t.lists {
		return fmt.Sprintf("%s: in step again after %s, by a new list of %d objects", t.name(), took, s.Objects)
	}
	return fmt.Sprintf("%s: in step again after %s, by a watch from where it was", t.name(), took)
}

// event is the output handler.
func (t *track[T]) event(e informer.Event[T]) {
	now := time.Now()
	t.mu.Lock()
	t.events++
	if e.Type == informer.Deleted {
		delete(t.told, e.Key)
	} else {
		t.told[e.Key] = e.New
	}
	seenByWatch := !e.Initial && (e.Type != informer.Deleted || e.Final)
	if rv, err := strconv.ParseUint(e.Object().GetResourceVersion(), 10, 64); err == nil && seenByWatch {
		t.arrivals = append(t.arrivals, arrival{rv, now})
	}
	t.mu.Unlock()

	t.tell(t.resource.Resource, recordOf(e, now, content[T]))
	select {
	case t.progress <- struct{}{}:
	default:
	}
}

func (t *track[T]) row(now time.Time) row {
	s := t.informer.Status()
	r := row{kind: t.name(), objects: s.Objects, rv: s.Version.ResourceVersion, lists: s.Reflector.Lists, state: s.Reflector.Phase.String()}
	for _, h := range s.Handlers {
		switch h.Name {
		case t.output.Name():
			r.backlog = h.Backlog.Changes
		default:
			r.slow = h.Backlog.Changes
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r.rate = t.rate.perSecond(t.events, now)
	r.lag = t.lagLocked(s.Version.ResourceVersion, now)
	return r
}

// lagLocked is the longest time, since it was asked last, that a write took to be told; or how long one has been waiting to be seen.
func (t *track[T]) lagLocked(seen string, now time.Time) time.Duration {
	var lag time.Duration
	for _, a := range t.arrivals {
		if wrote, ok := t.ledger.at(a.rv); ok {
			lag = max(lag, a.at.Sub(wrote))
		}
	}
	t.arrivals = t.arrivals[:0]
	if rv, err := strconv.ParseUint(seen, 10, 64); err == nil {
		lag = max(lag, t.ledger.behind(rv, now))
		t.ledger.forget(now.Add(-time.Minute))
	}
	return lag
}

func (t *track[T]) count() counts {
	_, writes := t.ledger.last()
	t.mu.Lock()
	defer t.mu.Unlock()
	return counts{writes: writes, events: t.events, problems: t.problems, lists: t.informer.Status().Reflector.Lists}
}

func (t *track[T]) settle(ctx context.Context) error {
	rv, _ := t.ledger.last()
	if err := t.informer.WaitFor(ctx, strconv.FormatUint(rv, 10)); err != nil {
		return err
	}
	for !t.toldAll() {
		select {
		case <-t.progress:
		case <-ctx.Done():
			return nil // verify says what is missing
		}
	}
	return nil
}

// toldAll reports whether what was told amounts to what the store holds.
func (t *track[T]) toldAll() bool {
	stored := t.informer.Snapshot()
	t.mu.Lock()
	defer t.mu.Unlock()
	if stored.Len() != len(t.told) {
		return false
	}
	for key, obj := range stored.All() {
		if told, ok := t.told[key]; !ok || told.GetResourceVersion() != obj.GetResourceVersion() {
			return false
		}
	}
	return true
}

func (t *track[T]) verify(server *apitest.Server) (verdict, error) {
	objects, err := apitest.List[T](server, t.resource, "")
	if err != nil {
		return verdict{}, fmt.Errorf("%s: %w", t.name(), err)
	}
	want := map[string]T{}
	for _, obj := range objects {
		want[listwatch.ObjectKey(obj.GetNamespace(), obj.GetName())] = obj
	}
	stored := map[string]T{}
	for key, obj := range t.informer.Snapshot().All() {
		stored[key] = obj
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return verdict{kind: t.name(), objects: len(want), stored: differences(want, stored), told: differences(want, t.told)}, nil
}
