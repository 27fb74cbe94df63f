package listwatch

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func open(n int) (*watch.FakeWatcher, Stream[*corev1.Pod]) {
	w := watch.NewFakeWithChanSize(n, false)
	return w, NewStream[*corev1.Pod](w)
}

func TestNextReturnsAllThatIsReadyInOrder(t *testing.T) {
	w, s := open(10)
	w.Add(pod("a", "1"))
	w.Modify(pod("a", "2"))
	w.Delete(pod("a", "3"))
	w.Action(watch.Bookmark, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}})
	evs, err := s.Next(t.Context())
	if err != nil || len(evs) != 4 {
		t.Fatalf("Next = %+v, %v", evs, err)
	}
	for i, want := range []EventType{Added, Modified, Deleted, Bookmark} {
		if evs[i].Type != want {
			t.Errorf("event %d is %v, want %v", i, evs[i].Type, want)
		}
	}
	if b := evs[3]; !b.InitialEventsEnd || b.Item.ResourceVersion != "9" || b.Item.Key != "" {
		t.Errorf("bookmark = %+v", b)
	}
	if evs[2].InitialEventsEnd {
		t.Error("only a bookmark ends the initial events")
	}
	s.Stop()
}

func TestEventsBeforeAnErrorComeFirst(t *testing.T) {
	w, s := open(10)
	defer s.Stop()
	w.Add(pod("a", "1"))
	gone := apierrors.NewResourceExpired("too old")
	w.Error(&gone.ErrStatus)
	if evs, err := s.Next(t.Context()); err != nil || len(evs) != 1 {
		t.Fatalf("first Next = %+v, %v", evs, err)
	}
	for range 2 {
		if evs, err := s.Next(t.Context()); !apierrors.IsResourceExpired(err) || len(evs) != 0 {
			t.Errorf("Next after the error = %+v, %v", evs, err)
		}
	}
}

func TestServerEndsTheStream(t *testing.T) {
	w, s := open(10)
	w.Add(pod("a", "1"))
	w.Stop()
	if evs, err := s.Next(t.Context()); err != nil || len(evs) != 1 {
		t.Fatalf("first Next = %+v, %v", evs, err)
	}
	if _, err := s.Next(t.Context()); err != io.EOF {
		t.Errorf("Next = %v, want EOF", err)
	}
	s.Stop()
	s.Stop()
}

func TestNextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := open(0)
		defer s.Stop()
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, cause)
		defer cancel()
		start := time.Now()
		if _, err := s.Next(ctx); !errors.Is(err, cause) || time.Since(start) != time.Minute {
			t.Errorf("Next = %v after %v", err, time.Since(start))
		}
	})
}

func TestStopFromElsewhereEndsNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := open(0)
		go func() {
			synctest.Wait()
			s.Stop()
		}()
		if _, err := s.Next(t.Context()); err != io.EOF {
			t.Errorf("Next = %v, want EOF", err)
		}
	})
}

func TestStreamErrors(t *testing.T) {
	decoding := apierrors.NewClientErrorReporter(http.StatusInternalServerError, "watch", "ClientWatchDecoding").
		AsObject(errors.New("bad byte"))
	var wrong *WrongTypeError
	var decode *DecodeError
	for name, tc := range map[string]struct {
		ev    watch.Event
		check func(error) bool
	}{
		"status in an error event": {watch.Event{Type: watch.Error, Object: &apierrors.NewTooManyRequests("later", 3).ErrStatus},
			apierrors.IsTooManyRequests},
		"status in an added event": {watch.Event{Type: watch.Added, Object: &apierrors.NewResourceExpired("old").ErrStatus},
			apierrors.IsResourceExpired},
		"decode failure of the client": {watch.Event{Type: watch.Error, Object: decoding},
			func(err error) bool { return errors.As(err, &decode) && apierrors.IsInternalError(err) }},
		"error event with an object":  {watch.Event{Type: watch.Error, Object: pod("a", "1")}, func(err error) bool { return err != nil }},
		"table":                       {watch.Event{Type: watch.Added, Object: &metav1.Table{}}, func(err error) bool { return errors.Is(err, ErrTable) }},
		"unknown type":                {watch.Event{Type: "MOVED", Object: pod("a", "1")}, func(err error) bool { return err != nil }},
		"bookmark without any object": {watch.Event{Type: watch.Bookmark}, func(err error) bool { return err != nil }},
	} {
		w, s := open(1)
		w.Action(tc.ev.Type, tc.ev.Object)
		if evs, err := s.Next(t.Context()); !tc.check(err) || len(evs) != 0 {
			t.Errorf("%s: %+v, %v", name, evs, err)
		}
		s.Stop()
	}
	w, s := open(1)
	defer s.Stop()
	w.Add(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s", ResourceVersion: "4"}})
	evs, err := s.Next(t.Context())
	if err != nil || len(evs) != 1 {
		t.Fatalf("Next = %+v, %v", evs, err)
	}
	if _, err := evs[0].Item.Object(); !errors.As(err, &wrong) || evs[0].Item.Key != "s" || evs[0].Item.ResourceVersion != "4" {
		t.Errorf("an object of another type: %+v, %v", evs[0], err)
	}
}

func TestBatchesAreBounded(t *testing.T) {
	w, s := open(maxBatch + 1)
	defer s.Stop()
	for range maxBatch + 1 {
		w.Add(pod("a", "1"))
	}
	for _, want := range []int{maxBatch, 1} {
		if evs, err := s.Next(t.Context()); err != nil || len(evs) != want {
			t.Errorf("batch of %d, %v; want %d", len(evs), err, want)
		}
	}
}

func TestEventTypeString(t *testing.T) {
	for typ, want := range map[EventType]string{Added: "ADDED", Modified: "MODIFIED", Deleted: "DELETED", Bookmark: "BOOKMARK", 0: "UNKNOWN"} {
		if typ.String() != want {
			t.Errorf("%d = %q, want %q", typ, typ, want)
		}
	}
}
