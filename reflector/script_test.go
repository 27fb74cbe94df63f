package reflector

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/versions"
	"github.com/informerkit/informerkit/listwatch"
)

// An object of these tests is a string: its resource version.

func item(key, rv string) listwatch.Item[string] {
	return listwatch.LazyItem(key, "uid-"+key, rv, func() (string, error) { return rv, nil })
}

func added(key, rv string) listwatch.Event[string] {
	return listwatch.Event[string]{Type: listwatch.Added, Item: item(key, rv)}
}

func modified(key, rv string) listwatch.Event[string] {
	return listwatch.Event[string]{Type: listwatch.Modified, Item: item(key, rv)}
}

func deleted(key, rv string) listwatch.Event[string] {
	return listwatch.Event[string]{Type: listwatch.Deleted, Item: item(key, rv)}
}

func mark(rv string) listwatch.Event[string] {
	return listwatch.Event[string]{Type: listwatch.Bookmark, Item: listwatch.Item[string]{ResourceVersion: rv}}
}

func endMark(rv string) listwatch.Event[string] {
	ev := mark(rv)
	ev.InitialEventsEnd = true
	return ev
}

func list(rv string, items ...listwatch.Item[string]) listwatch.Page[string] {
	return listwatch.Page[string]{ResourceVersion: rv, Items: items}
}

// call is a request that a script got.
type call struct {
	at   time.Duration // since the script began
	opts metav1.ListOptions
	what string // "list", "stream" or "watch"
}

func (c call) String() string { return c.what + "@" + c.opts.ResourceVersion }

// script is a source that answers as a test wrote down: onList and onWatch get each request with its number, from 0.
type script struct {
	onList  func(ctx context.Context, n int, opts metav1.ListOptions) (listwatch.Page[string], error)
	onWatch func(ctx context.Context, n int, opts metav1.ListOptions) (listwatch.Stream[string], error)
	start   time.Time

	// mu guards what follows: many reflectors may share a script.
	mu             sync.Mutex
	calls          []call
	lists, watches int
	open           int // streams not stopped
	inFlight, most int // lists
}

func newScript() *script { return &script{start: time.Now()} }

func (s *script) List(ctx context.Context, opts metav1.ListOptions) (listwatch.Page[string], error) {
	s.mu.Lock()
	n := s.lists
	s.lists++
	s.calls = append(s.calls, call{time.Since(s.start), opts, "list"})
	s.inFlight++
	s.most = max(s.most, s.inFlight)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.inFlight--
		s.mu.Unlock()
	}()
	return s.onList(ctx, n, opts)
}

func (s *script) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[string], error) {
	s.mu.Lock()
	n := s.watches
	s.watches++
	what := "watch"
	if opts.SendInitialEvents != nil {
		what = "stream"
	}
	s.calls = append(s.calls, call{time.Since(s.start), opts, what})
	s.mu.Unlock()
	stream, err := s.onWatch(ctx, n, opts)
	if err == nil {
		s.mu.Lock()
		s.open++
		s.mu.Unlock()
		stream = &counted{Stream: stream, s: s}
	}
	return stream, err
}

func (s *script) trace() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, c := range s.calls {
		out = append(out, c.String())
	}
	return out
}

func (s *script) made() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.calls...)
}

func (s *script) openStreams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open
}

// counted tells its script when it is stopped.
type counted struct {
	listwatch.Stream[string]
	s    *script
	once sync.Once
}

func (c *counted) Stop() {
	c.once.Do(func() {
		c.s.mu.Lock()
		c.s.open--
		c.s.mu.Unlock()
	})
	c.Stream.Stop()
}

// beat is one thing a played stream does.
type beat struct {
	after  time.Duration
	events []listwatch.Event[string]
	err    error // ends the stream; nil and no events: silent for ever
	panics bool
}

func says(events ...listwatch.Event[string]) beat { return beat{events: events} }
func ends(err error) beat                         { return beat{err: err} }
func silent() beat                                { return beat{} }

func (b beat) later(d time.Duration) beat {
	b.after = d
	return b
}

// play is a stream that does the beats in turn and is silent then.
func play(beats ...beat) listwatch.Stream[string] { return &played{beats: beats} }

type played struct{ beats []beat }

func (p *played) Next(ctx context.Context) ([]listwatch.Event[string], error) {
	b := silent()
	if len(p.beats) > 0 {
		b, p.beats = p.beats[0], p.beats[1:]
	}
	select {
	case <-time.After(b.after):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if b.panics {
		panic("the stream fell apart")
	}
	if b.err == nil && b.events == nil {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return b.events, b.err
}

func (p *played) Stop() {}

// quiet is a stream on which nothing happens.
func quiet(context.Context, int, metav1.ListOptions) (listwatch.Stream[string], error) {
	return play(), nil
}

// memory is a sink that keeps what it is given, as store and informer would.
type memory struct {
	onApply  func(events []listwatch.Event[string]) error
	onCommit func(ListInfo) error

	// mu guards what follows: tests look while Run goes on.
	mu      sync.Mutex
	objects map[string]string
	commits []ListInfo
	applied int
}

func newMemory() *memory { return &memory{objects: map[string]string{}} }

func (m *memory) Replace(context.Context) Replacement[string] {
	return &nextContent{m: m, objects: map[string]string{}}
}

func (m *memory) Apply(_ context.Context, events []listwatch.Event[string]) error {
	if m.onApply != nil {
		if err := m.onApply(events); err != nil {
			return err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, ev := range events {
		m.applied++
		switch obj, err := ev.Item.Object(); {
		case ev.Type == listwatch.Bookmark:
		case err != nil:
			return err
		case versions.Older(ev.Item.ResourceVersion, m.objects[ev.Item.Key]):
		case ev.Type == listwatch.Deleted:
			delete(m.objects, ev.Item.Key)
		default:
			m.objects[ev.Item.Key] = obj
		}
	}
	return nil
}

func (m *memory) content() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.objects)
}

func (m *memory) lists() []ListInfo {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]ListInfo(nil), m.commits...)
}

type nextContent struct {
	m       *memory
	objects map[string]string
}

func (n *nextContent) Add(items []listwatch.Item[string]) error {
	for i := range items {
		obj, err := items[i].Object()
		if err != nil {
			return err
		}
		n.objects[items[i].Key] = obj
	}
	return nil
}

func (n *nextContent) Remove(key string) error {
	delete(n.objects, key)
	return nil
}

func (n *nextContent) Commit(info ListInfo) error {
	if n.m.onCommit != nil {
		if err := n.m.onCommit(info); err != nil {
			return err
		}
	}
	n.m.mu.Lock()
	defer n.m.mu.Unlock()
	n.m.objects = n.objects
	n.m.commits = append(n.m.commits, info)
	return nil
}

// running is a reflector in a goroutine of its own, for as long as the test, or until stop.
type running struct {
	*Reflector[string]
	t      *testing.T
	cancel context.CancelFunc
	done   chan error
}

func run(t *testing.T, source listwatch.Source[string], sink Sink[string], opts Options) *running {
	t.Helper()
	r, err := New(source, sink, opts)
	if err != nil {
		t.Fatal(err)
	}
	x := &running{Reflector: r, t: t}
	x.again()
	t.Cleanup(func() { x.stop() })
	return x
}

func (x *running) again() {
	var ctx context.Context
	ctx, x.cancel = context.WithCancel(context.Background())
	x.done = make(chan error, 1)
	go func() { x.done <- x.Run(ctx) }()
}

// stop ends Run and returns what it returned; again, it returns the same.
func (x *running) stop() error {
	x.cancel()
	err := <-x.done
	x.done <- err
	return err
}

// errorLog collects what OnError is told.
type errorLog struct {
	// mu guards errs.
	mu   sync.Mutex
	errs []error
}

func (l *errorLog) add(_ context.Context, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

func (l *errorLog) all() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]error(nil), l.errs...)
}

func sameContent(t *testing.T, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("content = %v, want %v", got, want)
	}
}

func sameCalls(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("calls = %v\nwant    %v", got, want)
	}
}
