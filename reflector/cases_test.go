package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/listwatch"
)

// What users of such machinery reported elsewhere, and what is right; each test is named after the behaviour.

type (
	stream = listwatch.Stream[string]
	pageOf = listwatch.Page[string]
)

func answers(p pageOf) func(context.Context, int, metav1.ListOptions) (pageOf, error) {
	return func(context.Context, int, metav1.ListOptions) (pageOf, error) { return p, nil }
}

var gone = apierrors.NewResourceExpired("too old resource version")

func TestResourceGonePolicies(t *testing.T) {
	missing := apierrors.NewNotFound(pods, "")
	for _, tc := range []struct {
		policy  NotFoundPolicy
		content map[string]string
		gone    bool
	}{
		{NotFoundRetry, map[string]string{"a": "3"}, false},
		{NotFoundClear, map[string]string{}, true},
		{NotFoundStop, map[string]string{"a": "3"}, false},
	} {
		t.Run(fmt.Sprint(tc.policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, sink := newScript(), newMemory()
				var there atomic.Bool
				there.Store(true)
				src.onList = func(context.Context, int, metav1.ListOptions) (pageOf, error) {
					if !there.Load() {
						return pageOf{}, missing
					}
					return list("10", item("a", "3")), nil
				}
				src.onWatch = func(context.Context, int, metav1.ListOptions) (stream, error) {
					if !there.Load() {
						return nil, missing
					}
					return play(ends(io.EOF).later(time.Minute)), nil
				}
				x := run(t, src, sink, Options{Streaming: StreamingOff, OnNotFound: tc.policy})
				synctest.Wait()
				there.Store(false)
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				sameContent(t, sink.content(), tc.content)
				if last := sink.lists()[len(sink.lists())-1]; last.Gone != tc.gone {
					t.Errorf("last commit = %+v", last)
				}
				s := x.Status()
				if !apierrors.IsNotFound(s.LastError) || s.Lists != 1 {
					t.Errorf("status = %+v", s)
				}
				if tc.policy == NotFoundStop {
					if err := x.stop(); !apierrors.IsNotFound(err) || s.Phase != Stopped {
						t.Errorf("Run = %v, status %+v", err, s)
					}
					return
				}
				if n := len(src.made()); n > 40 {
					t.Errorf("%d calls in ten minutes", n)
				}
				there.Store(true)
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				sameContent(t, sink.content(), map[string]string{"a": "3"})
				if s := x.Status(); s.Phase != Watching || s.LastError != nil {
					t.Errorf("back again: %+v", s)
				}
			})
		})
	}
}

func TestSinkErrorIsListedAnewWithBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onList = func(_ context.Context, n int, _ metav1.ListOptions) (pageOf, error) {
			if n == 0 {
				return list("10", item("b", "9")), nil
			}
			return list("20", item("b", "12")), nil
		}
		src.onWatch = func(_ context.Context, n int, _ metav1.ListOptions) (stream, error) {
			return play(says(modified("b", fmt.Sprint(12+10*n)))), nil
		}
		boom := errors.New("no room")
		tries := 0
		sink.onApply = func([]listwatch.Event[string]) error {
			if tries++; tries == 1 {
				return boom
			}
			return nil
		}
		log := &errorLog{}
		x := run(t, src, sink, Options{Streaming: StreamingOff, OnError: log.add})
		synctest.Wait()
		if s := x.Status(); s.ResourceVersion != "10" || s.Phase != BackingOff || !errors.Is(s.LastError, boom) {
			t.Errorf("the resource version of a refused event counts as seen: %+v", s)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		sameContent(t, sink.content(), map[string]string{"b": "22"})
		sameCalls(t, src.trace(), "list@0", "watch@10", "list@10", "watch@20")
		if at := src.made()[2].at; at < defaultBackoff.Initial {
			t.Errorf("listed again after %v", at)
		}
		if errs := log.all(); len(errs) != 1 || !errors.Is(errs[0], boom) {
			t.Errorf("told %v", errs)
		}
	})
}

func TestPageSizeIsAlwaysHonoured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		expired := apierrors.NewResourceExpired("the continue token is too old")
		expired.ErrStatus.ListMeta.Continue = "fresh"
		seen := map[string]int{}
		src.onList = func(_ context.Context, n int, o metav1.ListOptions) (pageOf, error) {
			if o.Limit != 2 {
				t.Errorf("list %d: limit %d", n, o.Limit)
			}
			p := pageOf{ResourceVersion: "10", Remaining: -1}
			switch {
			case o.Continue == "":
				p.Items, p.Continue = []listwatch.Item[string]{item("a", "1"), item("b", "2")}, "two"
			case o.Continue == "two" && n == 1:
				return p, expired
			case o.Continue == "two":
				p.Items, p.Continue = []listwatch.Item[string]{item("c", "3"), item("d", "4")}, "three"
			case o.Continue == "three":
				p.Items, p.Remaining = []listwatch.Item[string]{item("e", "5")}, 0
			default:
				t.Errorf("list %d: token %q", n, o.Continue)
			}
			return p, nil
		}
		src.onWatch = quiet
		run(t, src, &counting{memory: sink, seen: seen}, Options{Streaming: StreamingOff, PageSize: 2})
		synctest.Wait()
		sameContent(t, sink.content(), map[string]string{})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		sameContent(t, sink.content(), map[string]string{"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"})
		for key, n := range seen {
			if n != 1 {
				t.Errorf("%s came %d times in the list that was committed", key, n)
			}
		}
	})
}

// counting counts how often each key is in the replacement that is committed.
type counting struct {
	*memory
	seen map[string]int
}

func (c *counting) Replace(ctx context.Context) Replacement[string] {
	clear(c.seen)
	return &countingNext{c.memory.Replace(ctx), c.seen}
}

type countingNext struct {
	Replacement[string]
	seen map[string]int
}

func (n *countingNext) Add(items []listwatch.Item[string]) error {
	for i := range items {
		n.seen[items[i].Key]++
	}
	return n.Replacement.Add(items)
}

func TestExpiredResourceVersionIsDroppedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onList = func(_ context.Context, n int, o metav1.ListOptions) (pageOf, error) {
			switch n {
			case 0:
				return list("10"), nil
			case 1, 2:
				return pageOf{}, gone
			}
			return list("30"), nil
		}
		src.onWatch = func(_ context.Context, n int, _ metav1.ListOptions) (stream, error) {
			if n == 0 {
				return play(says(mark("12")), ends(gone)), nil
			}
			return play(), nil
		}
		run(t, src, sink, Options{Streaming: StreamingOff})
		time.Sleep(time.Minute)
		synctest.Wait()
		sameCalls(t, src.trace(), "list@0", "watch@10", "list@12", "list@", "list@", "watch@30")
		calls := src.made()
		for i, least := range []time.Duration{2: defaultBackoff.Initial, 3: 2 * defaultBackoff.Initial, 4: 4 * defaultBackoff.Initial} {
			if least > 0 && calls[i].at-calls[i-1].at < least {
				t.Errorf("call %d came %v after the one before, want at least %v", i, calls[i].at-calls[i-1].at, least)
			}
		}
	})
}

func TestHistoryResetIsTakenOnceAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onList = func(_ context.Context, n int, o metav1.ListOptions) (pageOf, error) {
			switch {
			case n == 0:
				return list("12", item("a", "12"), item("b", "2")), nil
			case o.ResourceVersion == "12":
				return pageOf{}, gone
			}
			return list("5", item("a", "4")), nil
		}
		src.onWatch = func(_ context.Context, n int, _ metav1.ListOptions) (stream, error) {
			if n == 0 {
				return play(says(modified("a", "11")), ends(gone)), nil // late: older than what is there
			}
			return play(ends(io.EOF).later(time.Minute)), nil
		}
		log := &errorLog{}
		x := run(t, src, sink, Options{Streaming: StreamingOff, OnError: log.add})
		synctest.Wait()
		sameContent(t, sink.content(), map[string]string{"a": "12", "b": "2"})
		time.Sleep(time.Minute)
		synctest.Wait()
		sameContent(t, sink.content(), map[string]string{"a": "4"})
		commits := sink.lists()
		if len(commits) != 2 || commits[0].Reset || !commits[1].Reset || commits[1].ResourceVersion != "5" {
			t.Errorf("commits = %+v", commits)
		}
		var reset *HistoryResetError
		n := 0
		for _, err := range log.all() {
			if errors.As(err, &reset) {
				n++
			}
		}
		if n != 1 || reset.Seen != "12" || reset.Listed != "5" {
			t.Errorf("told %v", log.all())
		}
		if s := x.Status(); s.Resets != 1 || s.ResourceVersion != "5" {
			t.Errorf("status = %+v", s)
		}
	})
}

func TestManyReflectorsComeBackOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const reflectors, atOnce = 50, 4
		src := newScript()
		src.onList = func(ctx context.Context, _ int, _ metav1.ListOptions) (pageOf, error) {
			down := time.Since(src.start) < time.Minute
			time.Sleep(100 * time.Millisecond)
			if down {
				return pageOf{}, apierrors.NewServiceUnavailable("starting")
			}
			return list("10"), nil
		}
		src.onWatch = quiet
		limiter := NewLimiter(atOnce)
		sinks := make([]*memory, reflectors)
		for i := range sinks {
			sinks[i] = newMemory()
			run(t, src, sinks[i], Options{Streaming: StreamingOff, Limiter: limiter})
		}
		time.Sleep(3 * time.Minute)
		synctest.Wait()
		for i, sink := range sinks {
			if len(sink.lists()) != 1 {
				t.Errorf("reflector %d has not synced", i)
			}
		}
		if src.most > atOnce {
			t.Errorf("%d lists in flight, limit %d", src.most, atOnce)
		}
		var late []time.Duration // lists after the failure
		for _, c := range src.made() {
			if c.what == "list" && c.at >= time.Minute {
				late = append(late, c.at)
			}
		}
		slices.Sort(late)
		if len(late) != reflectors || late[len(late)-1]-late[0] < 10*time.Second {
			t.Errorf("%d lists within %v: not spread", len(late), late[len(late)-1]-late[0])
		}
	})
}

func TestWatchTimeoutAndBackoffAreTunable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onList = func(_ context.Context, n int, _ metav1.ListOptions) (pageOf, error) {
			if n < 5 {
				return pageOf{}, apierrors.NewInternalError(errors.New("boom"))
			}
			return list("10"), nil
		}
		src.onWatch = func(context.Context, int, metav1.ListOptions) (stream, error) {
			return play(ends(io.EOF).later(time.Hour)), nil
		}
		run(t, src, sink, Options{Streaming: StreamingOff, WatchTimeout: 30 * time.Minute,
			Backoff: Backoff{Initial: time.Second, Max: 9 * time.Second, Factor: 3}})
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		calls := src.made()
		var waits []time.Duration
		for i := 1; i <= 5; i++ {
			waits = append(waits, calls[i].at-calls[i-1].at)
		}
		want := []time.Duration{time.Second, 3 * time.Second, 9 * time.Second, 9 * time.Second, 9 * time.Second}
		if !slices.Equal(waits, want) {
			t.Errorf("waits = %v, want %v", waits, want)
		}
		seen := map[int64]bool{}
		for _, c := range calls {
			if c.what != "watch" {
				continue
			}
			s := *c.opts.TimeoutSeconds
			seen[s] = true
			if s < 1800 || s > 3600 {
				t.Errorf("timeoutSeconds = %d", s)
			}
		}
		if len(seen) < 10 {
			t.Errorf("%d watches had %d different lengths", len(calls)-6, len(seen))
		}
	})
}

// Whatever call fails, in whatever way, the reflector goes on and says so.
func TestFaultAtEachCall(t *testing.T) {
	boom := errors.New("boom")
	panics := func() { panic(boom) }
	for name, tc := range map[string]struct {
		list  func(n int) error
		watch func(n int) (stream, error)
	}{
		"list fails":      {list: func(int) error { return boom }},
		"list panics":     {list: func(int) error { panics(); return nil }},
		"watch fails":     {watch: func(int) (stream, error) { return nil, boom }},
		"watch panics":    {watch: func(int) (stream, error) { panics(); return nil, nil }},
		"watch gives nil": {watch: func(int) (stream, error) { return nil, nil }},
		"stream fails":    {watch: func(int) (stream, error) { return play(ends(boom)), nil }},
		"stream panics":   {watch: func(int) (stream, error) { return play(beat{panics: true}), nil }},
		"stop panics":     {watch: func(int) (stream, error) { return stopPanics{play(ends(boom))}, nil }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, sink := newScript(), newMemory()
				src.onList = func(_ context.Context, n int, _ metav1.ListOptions) (pageOf, error) {
					if tc.list != nil && n == 0 {
						if err := tc.list(n); err != nil {
							return pageOf{}, err
						}
					}
					return list("10", item("a", "3")), nil
				}
				src.onWatch = func(_ context.Context, n int, _ metav1.ListOptions) (stream, error) {
					if tc.watch != nil && n == 0 {
						return tc.watch(n)
					}
					return play(says(added("b", "11"))), nil
				}
				var source listwatch.Source[string] = src
				if name == "watch gives nil" {
					source = bare{src}
				}
				log := &errorLog{}
				x := run(t, source, sink, Options{Streaming: StreamingOff, OnError: log.add})
				time.Sleep(10 * time.Second)
				synctest.Wait()
				sameContent(t, sink.content(), map[string]string{"a": "3", "b": "11"})
				if n := len(log.all()); n != 1 {
					t.Errorf("told %v", log.all())
				}
				if s := x.Status(); s.Phase != Watching || s.LastError != nil {
					t.Errorf("status = %+v", s)
				}
				var p *PanicError
				if err := log.all()[0]; errors.As(err, &p) && (len(p.Stack) == 0 || !errors.Is(err, boom) && name != "stream panics") {
					t.Errorf("panic without a trace: %v", err)
				}
			})
		})
	}
}

func TestPanicOfTheCallbackIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		boom := errors.New("boom")
		src.onList = func(_ context.Context, n int, _ metav1.ListOptions) (pageOf, error) {
			if n == 0 {
				return pageOf{}, boom
			}
			return list("10"), nil
		}
		src.onWatch = quiet
		x := run(t, src, sink, Options{Streaming: StreamingOff, OnError: func(context.Context, error) { panic("callback") }})
		synctest.Wait()
		var p *PanicError
		if err := x.Status().LastError; !errors.As(err, &p) || !errors.Is(err, boom) {
			t.Errorf("last error = %v", err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s := x.Status(); s.Phase != Watching {
			t.Errorf("status = %+v", s)
		}
	})
}

// bare hands on a nil stream as it is.
type bare struct{ s *script }

func (b bare) List(ctx context.Context, o metav1.ListOptions) (pageOf, error) {
	return b.s.List(ctx, o)
}

func (b bare) Watch(ctx context.Context, o metav1.ListOptions) (stream, error) {
	b.s.mu.Lock()
	n := b.s.watches
	b.s.watches++
	b.s.mu.Unlock()
	return b.s.onWatch(ctx, n, o)
}

type stopPanics struct{ stream }

func (stopPanics) Stop() { panic("stop") }

func TestManyKindsUnauthorizedAtOnceRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const kinds = 90
		var denied atomic.Bool
		var scripts []*script
		var rs []*running
		for range kinds {
			src := newScript()
			src.onList = func(context.Context, int, metav1.ListOptions) (pageOf, error) {
				if denied.Load() {
					return pageOf{}, apierrors.NewUnauthorized("token expired")
				}
				return list("10", item("a", "3")), nil
			}
			src.onWatch = func(context.Context, int, metav1.ListOptions) (stream, error) {
				if denied.Load() {
					return nil, apierrors.NewUnauthorized("token expired")
				}
				return play(ends(apierrors.NewUnauthorized("token expired")).later(time.Minute)), nil
			}
			scripts = append(scripts, src)
			rs = append(rs, run(t, src, newMemory(), Options{Streaming: StreamingOff}))
		}
		synctest.Wait()
		denied.Store(true)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		for i, x := range rs {
			if s := x.Status(); !apierrors.IsUnauthorized(s.LastError) {
				t.Fatalf("kind %d: %+v", i, s)
			}
		}
		denied.Store(false)
		time.Sleep(70 * time.Second)
		synctest.Wait()
		for i, x := range rs {
			if s := x.Status(); s.Lists != 1 || scripts[i].openStreams() > 1 {
				t.Fatalf("kind %d: %+v, %d streams", i, s, scripts[i].openStreams())
			}
		}
	})
}
