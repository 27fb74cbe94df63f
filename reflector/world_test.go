package reflector

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/listwatch"
)

var seeds = flag.Uint64("seeds", 60, "how many random histories TestConvergesWhateverTheServerDoes goes through")

// world is a server that misbehaves at random until it is healed. What a healthy one of it does is what a kube-apiserver
// does: pages, resource versions, a bounded history, bookmarks, streaming lists.
type world struct {
	// mu guards everything; no call into the reflector is made under it.
	mu       sync.Mutex
	random   *rand.Rand
	faulty   bool
	streams  map[*worldStream]bool
	objects  map[string]int // to resource version
	rv       int
	history  []change
	oldest   int // what is before it is forgotten
	noStream bool
	states   map[int]map[string]string // content at each resource version
}

type change struct {
	typ listwatch.EventType
	key string
	rv  int
}

func newWorld(r *rand.Rand) *world {
	w := &world{random: r, faulty: true, rv: 100, oldest: 100, objects: map[string]int{}, streams: map[*worldStream]bool{}, noStream: r.IntN(3) == 0,
		states: map[int]map[string]string{}}
	w.states[w.rv] = w.contentLocked()
	return w
}

func (w *world) write() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rv++
	key := fmt.Sprint("k", w.random.IntN(30))
	c := change{listwatch.Modified, key, w.rv}
	if _, there := w.objects[key]; !there {
		c.typ = listwatch.Added
	} else if w.random.IntN(3) == 0 {
		c.typ = listwatch.Deleted
	}
	w.objects[key] = w.rv
	if c.typ == listwatch.Deleted {
		delete(w.objects, key)
	}
	w.history = append(w.history, c)
	w.states[w.rv] = w.contentLocked()
	w.wakeLocked()
}

func (w *world) wakeLocked() {
	for s := range w.streams {
		select {
		case s.news <- struct{}{}:
		default:
		}
	}
}

// compact forgets history.
func (w *world) compact() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history, w.oldest = nil, w.rv
}

// cut ends all streams.
func (w *world) cut(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s := range w.streams {
		s.cut = err
	}
	w.wakeLocked()
}

// restore goes back to a backup: other objects, older resource versions.
func (w *world) restore() {
	w.cut(io.EOF)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rv, w.oldest, w.history = 20, 20, nil
	w.objects = map[string]int{"k1": 7, "k2": 9, "restored": 20}
	w.states[w.rv] = w.contentLocked()
}

func (w *world) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faulty = false
	for s := range w.streams {
		s.deaf = false
	}
	w.wakeLocked()
}

func (w *world) content() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.contentLocked()
}

func (w *world) contentLocked() map[string]string {
	out := map[string]string{}
	for k, rv := range w.objects {
		out[k] = strconv.Itoa(rv)
	}
	return out
}

// faultLocked is one of the ways in which a request fails, now and then.
func (w *world) faultLocked() error {
	if !w.faulty || w.random.IntN(3) > 0 {
		return nil
	}
	switch w.random.IntN(10) {
	case 0:
		return apierrors.NewInternalError(errors.New("etcd fell over"))
	case 1:
		return apierrors.NewForbidden(pods, "", errors.New("no access"))
	case 2:
		return fmt.Errorf("dial: %w", syscall.ECONNREFUSED)
	case 3:
		return apierrors.NewTooManyRequests("slow down", 1+w.random.IntN(5))
	case 4:
		return apierrors.NewServiceUnavailable("starting")
	case 5:
		return gone
	case 6:
		return apierrors.NewNotFound(pods, "")
	case 7:
		return io.ErrUnexpectedEOF
	case 8:
		panic("the client fell apart")
	}
	return tooLargeError()
}

func (w *world) List(ctx context.Context, o metav1.ListOptions) (pageOf, error) {
	time.Sleep(time.Duration(w.intn(200)) * time.Millisecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.faultLocked(); err != nil {
		return pageOf{}, err
	}
	p := pageOf{ResourceVersion: strconv.Itoa(w.rv), Remaining: -1}
	from := ""
	if o.Continue != "" {
		rv, key, _ := strings.Cut(o.Continue, ",")
		if rv != p.ResourceVersion { // pages of the past are not kept
			return pageOf{}, gone
		}
		from = key
	} else if n, _ := strconv.Atoi(o.ResourceVersion); n > w.rv {
		return pageOf{}, tooLargeError()
	}
	keys := slices.Sorted(maps.Keys(w.objects))
	for _, key := range keys {
		if key <= from && from != "" {
			continue
		}
		if o.Limit > 0 && int64(len(p.Items)) == o.Limit {
			p.Continue = p.ResourceVersion + "," + p.Items[len(p.Items)-1].Key
			break
		}
		p.Items = append(p.Items, item(key, strconv.Itoa(w.objects[key])))
	}
	return p, nil
}

func (w *world) intn(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(n)
}

func (w *world) Watch(ctx context.Context, o metav1.ListOptions) (stream, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.faultLocked(); err != nil {
		return nil, err
	}
	s := &worldStream{w: w, news: make(chan struct{}, 1), end: time.Now().Add(time.Duration(*o.TimeoutSeconds) * time.Second), marked: time.Now()}
	n, _ := strconv.Atoi(o.ResourceVersion)
	if o.SendInitialEvents != nil {
		switch {
		case w.noStream && w.random.IntN(2) == 0:
			return nil, errorsByName["422"]
		case n > w.rv:
			return nil, tooLargeError()
		}
		for key, rv := range w.objects {
			s.initial = append(s.initial, added(key, strconv.Itoa(rv)))
		}
		s.at = w.rv
		if !w.noStream {
			s.initial = append(s.initial, endMark(strconv.Itoa(w.rv)))
		}
	} else {
		if n < w.oldest {
			return nil, gone
		}
		s.at = n
	}
	if w.faulty {
		s.deaf = w.random.IntN(8) == 0
		if w.random.IntN(3) == 0 {
			s.breaks = time.Now().Add(time.Duration(w.random.IntN(120)) * time.Second)
		}
	}
	w.streams[s] = true
	return s, nil
}

type worldStream struct {
	w       *world
	news    chan struct{}
	end     time.Time
	initial []listwatch.Event[string]

	// Of w.mu.
	at     int
	deaf   bool      // nothing arrives, not even the end
	breaks time.Time // when it fails; zero never
	cut    error
	marked time.Time // when the last bookmark went out
}

func (s *worldStream) Next(ctx context.Context) ([]listwatch.Event[string], error) {
	for {
		out, err, wait := s.look()
		if err != nil || len(out) > 0 {
			return out, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.news:
		case <-time.After(wait):
		}
	}
}

// look says what the stream gives now, or how long until it may give something without news.
func (s *worldStream) look() (out []listwatch.Event[string], err error, wait time.Duration) {
	w := s.w
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	switch {
	case s.deaf:
		return nil, nil, time.Hour
	case s.cut != nil:
		return nil, s.cut, 0
	case !s.breaks.IsZero() && !now.Before(s.breaks):
		if w.random.IntN(4) == 0 {
			panic("the decoder fell apart")
		}
		return nil, []error{io.EOF, io.ErrUnexpectedEOF, gone, errorsByName["500"], errorsByName["undecodable"], errorsByName["stream-reset"]}[w.random.IntN(6)], 0
	case !now.Before(s.end):
		return nil, io.EOF, 0
	case len(s.initial) > 0:
		n := 1 + w.random.IntN(len(s.initial))
		out, s.initial = s.initial[:n], s.initial[n:]
		return out, nil, 0
	}
	if s.at < w.oldest {
		return nil, gone, 0
	}
	for _, c := range w.history {
		if c.rv > s.at {
			out = append(out, listwatch.Event[string]{Type: c.typ, Item: item(c.key, strconv.Itoa(c.rv))})
			s.at = c.rv
		}
	}
	if minute := now.Truncate(time.Minute); len(out) == 0 && s.at == w.rv && minute.After(s.marked) {
		s.marked = minute
		return []listwatch.Event[string]{mark(strconv.Itoa(w.rv))}, nil, 0
	}
	wait = now.Truncate(time.Minute).Add(time.Minute).Sub(now)
	for _, t := range []time.Time{s.end, s.breaks} {
		if d := t.Sub(now); !t.IsZero() && d < wait {
			wait = d
		}
	}
	return out, nil, wait
}

func (s *worldStream) Stop() {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	delete(s.w.streams, s)
}

// exact is a sink that compares itself with what the world was at the resource version it has been told.
type exact struct {
	*memory
	t *testing.T
	w *world
}

func (e *exact) Replace(ctx context.Context) Replacement[string] {
	return &exactNext{e.memory.Replace(ctx), e}
}

func (e *exact) Apply(ctx context.Context, events []listwatch.Event[string]) error {
	err := e.memory.Apply(ctx, events)
	if err == nil {
		e.compare("events", summary(events).rv)
	}
	return err
}

func (e *exact) compare(after, rv string) {
	n, _ := strconv.Atoi(rv)
	e.w.mu.Lock()
	want := e.w.states[n]
	e.w.mu.Unlock()
	if got := e.content(); !maps.Equal(got, want) {
		e.t.Errorf("after %s up to %s: %v, want %v", after, rv, got, want)
	}
}

type exactNext struct {
	Replacement[string]
	e *exact
}

func (n *exactNext) Commit(info ListInfo) error {
	err := n.Replacement.Commit(info)
	if err == nil && !info.Gone {
		n.e.compare("a list", info.ResourceVersion)
	}
	return err
}

// TestConvergesWhateverTheServerDoes runs a reflector against a server of random faults. The sink
// holds at any time what the server held at the resource version told with it; once the server is well, what it holds now; and
// nothing is left running.
func TestConvergesWhateverTheServerDoes(t *testing.T) {
	for seed := range *seeds {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { converge(t, seed) })
		})
	}
}

func converge(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(r)
	sink := newMemory()
	refuse := func() error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.faulty && w.random.IntN(20) == 0 {
			return errors.New("no room")
		}
		return nil
	}
	sink.onApply = func([]listwatch.Event[string]) error { return refuse() }
	sink.onCommit = func(ListInfo) error { return refuse() }
	opts := Options{
		Streaming: Streaming(r.IntN(2)), // a server without streaming lists is one of those met
		PageSize:  int64(r.IntN(3)) * 7,
		FirstList: ListPolicy(r.IntN(2)),
		// Short waits, or little would happen.
		Backoff: Backoff{Initial: 100 * time.Millisecond, Max: 2 * time.Second, Jitter: 1},
	}
	opts.OnNotFound = NotFoundPolicy(r.IntN(2))
	restoreAt := -1
	if r.IntN(3) == 0 {
		restoreAt = 250 + r.IntN(40)
	}
	x := run(t, w, &exact{sink, t, w}, opts) // from here on w.random is used under w.mu only
	for i := range 300 {
		time.Sleep(time.Duration(w.intn(2000)) * time.Millisecond)
		switch n := w.intn(40); {
		case i == restoreAt:
			w.restore()
		case restoreAt >= 0 && i > restoreAt && i < restoreAt+3:
			// Quiet after the restore: a server that passes what was seen before anybody asks it can't be told from the old one.
		case n == 0:
			w.compact()
		case n == 1:
			w.cut(io.EOF)
		case n == 2:
			x.stop()
			x.again()
		case i < 250:
			w.write()
		}
	}
	w.heal()
	time.Sleep(4 * time.Hour)
	synctest.Wait()
	sameContent(t, sink.content(), w.content())
	if s := x.Status(); s.Phase != Watching {
		t.Errorf("status = %+v", s)
	}
	x.stop()
	w.mu.Lock()
	open := len(w.streams)
	w.mu.Unlock()
	if open != 0 {
		t.Errorf("%d streams left open", open)
	}
}
