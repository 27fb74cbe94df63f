package reflector

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/listwatch"
)

func TestFollowsAListAndItsWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onList = func(context.Context, int, metav1.ListOptions) (listwatch.Page[string], error) {
			return list("10", item("a", "3"), item("b", "4")), nil
		}
		src.onWatch = func(context.Context, int, metav1.ListOptions) (listwatch.Stream[string], error) {
			return play(says(modified("a", "11"), deleted("b", "12")), says(added("c", "13"), mark("20")).later(time.Second)), nil
		}
		x := run(t, src, sink, Options{Streaming: StreamingOff})
		synctest.Wait()
		sameContent(t, sink.content(), map[string]string{"a": "11"})
		time.Sleep(time.Second)
		synctest.Wait()
		sameContent(t, sink.content(), map[string]string{"a": "11", "c": "13"})
		sameCalls(t, src.trace(), "list@0", "watch@10")
		if s := x.Status(); s.Phase != Watching || s.ResourceVersion != "20" || s.Lists != 1 || s.LastError != nil ||
			s.Received != 2 || s.Expected != 2 || !s.LastEvent.Equal(time.Now()) {
			t.Errorf("status = %+v", s)
		}
		if err := x.stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("Run = %v", err)
		}
		if s := x.Status(); s.Phase != Stopped || src.openStreams() != 0 {
			t.Errorf("stopped: %+v, %d open streams", s, src.openStreams())
		}
	})
}

func TestStreamingListGoesOnAsTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onWatch = func(context.Context, int, metav1.ListOptions) (listwatch.Stream[string], error) {
			return play(
				says(added("a", "3"), added("b", "4")),
				says(modified("a", "7"), deleted("b", "8"), added("c", "9"), endMark("9"), modified("c", "10")).later(time.Second),
			), nil
		}
		x := run(t, src, sink, Options{})
		synctest.Wait()
		sameContent(t, sink.content(), map[string]string{}) // never a partial set
		if s := x.Status(); s.Phase != Listing || s.Received != 2 || s.Expected != -1 {
			t.Errorf("status while listing = %+v", s)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		sameContent(t, sink.content(), map[string]string{"a": "7", "c": "10"})
		sameCalls(t, src.trace(), "stream@")
		if got := sink.lists(); len(got) != 1 || got[0].ResourceVersion != "9" {
			t.Errorf("commits = %+v", got)
		}
		if s := x.Status(); s.Phase != Watching || s.ResourceVersion != "10" {
			t.Errorf("status = %+v", s)
		}
	})
}

func TestSyncTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for _, streaming := range []Streaming{StreamingAuto, StreamingOff} {
			src, sink := newScript(), newMemory()
			src.onList = func(context.Context, int, metav1.ListOptions) (listwatch.Page[string], error) { return list("10"), nil }
			src.onWatch = func(_ context.Context, _ int, o metav1.ListOptions) (listwatch.Stream[string], error) {
				if o.SendInitialEvents != nil {
					return nil, listwatch.ErrStreamingUnsupported
				}
				return play(), nil
			}
			run(t, src, sink, Options{Streaming: streaming})
			synctest.Wait()
			if len(sink.lists()) != 1 || !time.Now().Equal(start) {
				t.Errorf("streaming %v: %d lists after %v", streaming, len(sink.lists()), time.Since(start))
			}
		}
	})
}

func TestRunAgainGoesOnFromWhatWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onList = func(_ context.Context, n int, _ metav1.ListOptions) (listwatch.Page[string], error) {
			if n == 0 {
				return list("10", item("a", "3")), nil
			}
			return list("20", item("b", "15")), nil
		}
		src.onWatch = func(context.Context, int, metav1.ListOptions) (listwatch.Stream[string], error) {
			return play(says(mark("12"))), nil
		}
		x := run(t, src, sink, Options{Streaming: StreamingOff})
		synctest.Wait()
		if err := x.Run(t.Context()); !errors.Is(err, ErrRunning) {
			t.Errorf("second Run = %v", err)
		}
		x.stop()
		sameContent(t, sink.content(), map[string]string{"a": "3"})
		x.again()
		synctest.Wait()
		sameContent(t, sink.content(), map[string]string{"b": "15"})
		sameCalls(t, src.trace(), "list@0", "watch@10", "list@12", "watch@20")
	})
}

func TestWatchCutIsWatchedOnWithoutAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onList = func(context.Context, int, metav1.ListOptions) (listwatch.Page[string], error) { return list("10"), nil }
		src.onWatch = func(_ context.Context, n int, _ metav1.ListOptions) (listwatch.Stream[string], error) {
			if n == 0 {
				return play(says(added("a", "11")), ends(io.EOF).later(time.Minute)), nil
			}
			return play(), nil
		}
		log := &errorLog{}
		run(t, src, sink, Options{Streaming: StreamingOff, OnError: log.add})
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		sameCalls(t, src.trace(), "list@0", "watch@10", "watch@11")
		if errs := log.all(); len(errs) != 0 {
			t.Errorf("errors: %v", errs)
		}
	})
}

func TestErrorsAreToldAndShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onList = func(_ context.Context, n int, _ metav1.ListOptions) (listwatch.Page[string], error) {
			if n < 3 {
				return listwatch.Page[string]{}, apierrors.NewForbidden(pods, "", errors.New("no access"))
			}
			return list("10"), nil
		}
		src.onWatch = quiet
		log := &errorLog{}
		x := run(t, src, sink, Options{Name: "pods", Streaming: StreamingOff, OnError: log.add, Backoff: Backoff{Initial: time.Second}})
		synctest.Wait()
		s := x.Status()
		if s.Phase != BackingOff || s.Attempts != 1 || !apierrors.IsForbidden(s.LastError) || time.Until(s.RetryAt) != time.Second {
			t.Errorf("after the first failure: %+v", s)
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if s = x.Status(); s.Attempts != 3 {
			t.Errorf("after the third failure: %+v", s)
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if s = x.Status(); s.Phase != Watching || s.Attempts != 0 || s.LastError != nil || s.LastErrorAt.IsZero() {
			t.Errorf("recovered: %+v", s)
		}
		for _, err := range log.all() {
			if !apierrors.IsForbidden(err) || err.Error()[:5] != "pods:" {
				t.Errorf("told %v", err)
			}
		}
		if n := len(log.all()); n != 3 {
			t.Errorf("told %d errors, want 3", n)
		}
	})
}
