package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/listwatch"
)

// A source that does not know streaming lists (a fake, an old server) may be silent, or close at once.
func TestSourceThatIgnoresStreamingListsStillSyncs(t *testing.T) {
	for name, first := range map[string]func() stream{
		"silent and open": func() stream { return play() },
		"closed at once":  func() stream { return play(ends(io.EOF)) },
		"live changes":    func() stream { return &ticking{} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, sink := newScript(), newMemory()
				src.onList = answers(list("10", item("a", "3")))
				src.onWatch = func(_ context.Context, _ int, o metav1.ListOptions) (stream, error) {
					if o.SendInitialEvents != nil {
						return first(), nil
					}
					return play(says(added("b", "11")).later(time.Second)), nil
				}
				x := run(t, src, sink, Options{})
				time.Sleep(DefaultStreamingTimeout + 2*time.Second)
				synctest.Wait()
				sameContent(t, sink.content(), map[string]string{"a": "3", "b": "11"})
				if s := x.Status(); s.NoStreaming == nil || s.Phase != Watching {
					t.Errorf("status = %+v", s)
				}
				if name == "silent and open" {
					if c := src.made()[1]; c.what != "list" || c.at != DefaultStreamingIdle {
						t.Errorf("second call = %v after %v", c, c.at)
					}
				}
			})
		})
	}
}

// ticking is a stream with an event every second, and no end mark ever.
type ticking struct{ n int }

func (s *ticking) Next(ctx context.Context) ([]listwatch.Event[string], error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s.n++
	return []listwatch.Event[string]{modified("x", fmt.Sprint(100+s.n))}, nil
}

func (s *ticking) Stop() {}

func TestStreamingListWithoutEndMarkIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onList = answers(list("10", item("a", "3"), item("b", "4")))
		src.onWatch = func(_ context.Context, _ int, o metav1.ListOptions) (stream, error) {
			if o.SendInitialEvents == nil {
				return play(), nil
			}
			return play(says(added("a", "3"), added("b", "4")), ends(io.EOF).later(2*time.Second)), nil
		}
		log := &errorLog{}
		run(t, src, sink, Options{OnError: log.add})
		for len(sink.lists()) == 0 {
			sameContent(t, sink.content(), map[string]string{}) // never a partial set
			time.Sleep(time.Second)
			synctest.Wait()
		}
		sameContent(t, sink.content(), map[string]string{"a": "3", "b": "4"})
		sameCalls(t, src.trace(), "stream@", "stream@", "stream@", "list@0", "watch@10")
		var early *StreamingListError
		if errs := log.all(); len(errs) != 3 || !errors.As(errs[0], &early) || early.Events != 2 {
			t.Errorf("told %v", errs)
		}
	})
}

func TestSlowSinkIsNoSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onWatch = func(context.Context, int, metav1.ListOptions) (stream, error) {
			return play(says(added("a", "3")), says(added("b", "4")), says(endMark("9"))), nil
		}
		run(t, src, &slow{sink, 3 * DefaultStreamingIdle}, Options{})
		time.Sleep(7 * DefaultStreamingIdle)
		synctest.Wait()
		sameContent(t, sink.content(), map[string]string{"a": "3", "b": "4"})
		sameCalls(t, src.trace(), "stream@")
	})
}

// slow is a sink whose lists take their time.
type slow struct {
	*memory
	pause time.Duration
}

func (s *slow) Replace(ctx context.Context) Replacement[string] {
	return &slowNext{s.memory.Replace(ctx), s.pause}
}

type slowNext struct {
	Replacement[string]
	pause time.Duration
}

func (n *slowNext) Add(items []listwatch.Item[string]) error {
	time.Sleep(n.pause)
	return n.Replacement.Add(items)
}

func TestSilentWatchIsReplacedWithoutAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onList = answers(list("10"))
		src.onWatch = quiet
		log := &errorLog{}
		x := run(t, src, sink, Options{Streaming: StreamingOff, OnError: log.add})
		for range 3 {
			calls := src.made()
			last := calls[max(len(calls)-1, 0):]
			if len(last) == 1 && last[0].what == "watch" {
				deadline := time.Duration(*last[0].opts.TimeoutSeconds)*time.Second + watchGrace
				time.Sleep(time.Until(src.start.Add(last[0].at + deadline)))
			}
			synctest.Wait()
		}
		sameCalls(t, src.trace(), "list@0", "watch@10", "watch@10", "watch@10")
		if n := src.openStreams(); n != 1 {
			t.Errorf("%d open streams", n)
		}
		var silent *SilentStreamError
		if errs := log.all(); len(errs) != 2 || !errors.As(errs[0], &silent) {
			t.Errorf("told %v", errs)
		}
		if s := x.Status(); s.Phase != Watching || !s.LastEvent.IsZero() || s.LastError != nil {
			t.Errorf("status = %+v", s)
		}
	})
}

// A server cuts off who does not read. A slow sink gets bigger batches, not a longer backlog.
func TestSlowSinkDoesNotHoldUpTheStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const events, sendDeadline = 5000, time.Second
		ch := make(chan listwatch.Event[string], 10)
		late := 0
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			defer close(ch)
			for i := range events {
				select {
				case ch <- modified(fmt.Sprint("k", i%50), fmt.Sprint(100+i)):
				case <-time.After(sendDeadline):
					late++
				}
			}
		}()
		src, sink := newScript(), newMemory()
		src.onList = answers(list("10"))
		src.onWatch = func(_ context.Context, n int, _ metav1.ListOptions) (stream, error) {
			if n == 0 {
				return &fromChannel{ch: ch}, nil
			}
			return play(), nil
		}
		sink.onApply = func([]listwatch.Event[string]) error {
			time.Sleep(100 * time.Millisecond)
			return nil
		}
		run(t, src, sink, Options{Streaming: StreamingOff})
		<-sent
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if late != 0 {
			t.Errorf("%d sends timed out", late)
		}
		want := map[string]string{}
		for i := range events {
			want[fmt.Sprint("k", i%50)] = fmt.Sprint(100 + i)
		}
		sameContent(t, sink.content(), want)
		sameCalls(t, src.trace(), "list@0", "watch@10", "watch@"+fmt.Sprint(100+events-1))
	})
}

// fromChannel reads a channel as an adapter over a client's watch does.
type fromChannel struct {
	ch    <-chan listwatch.Event[string]
	ended bool
}

func (s *fromChannel) Next(ctx context.Context) (batch []listwatch.Event[string], err error) {
	if s.ended {
		return nil, io.EOF
	}
	select {
	case ev, ok := <-s.ch:
		if !ok {
			return nil, io.EOF
		}
		batch = append(batch, ev)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	for {
		select {
		case ev, ok := <-s.ch:
			if !ok {
				s.ended = true
				return batch, nil
			}
			batch = append(batch, ev)
			continue
		default:
		}
		return batch, nil
	}
}

func (s *fromChannel) Stop() {}
