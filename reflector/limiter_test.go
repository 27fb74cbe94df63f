package reflector

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimiterIsFairWithinAPriority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(1)
		release, err := l.Acquire(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		order := make(chan string, 6)
		for _, w := range []struct {
			name     string
			priority int
		}{{"low 1", -1}, {"normal 1", 0}, {"high 1", 5}, {"normal 2", 0}, {"high 2", 5}, {"low 2", -1}} {
			go func() {
				release, err := l.Acquire(t.Context(), w.priority)
				if err != nil {
					t.Error(err)
					return
				}
				order <- w.name
				release()
				release() // gives nothing more back
			}()
			synctest.Wait()
		}
		release()
		synctest.Wait()
		close(order)
		want := []string{"high 1", "high 2", "normal 1", "normal 2", "low 1", "low 2"}
		if got := slices.Collect(all(order)); !slices.Equal(got, want) {
			t.Errorf("order = %q, want %q", got, want)
		}
	})
}

func all(c <-chan string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for s := range c {
			if !yield(s) {
				return
			}
		}
	}
}

func TestLimiterWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(0) // counts as 1
		release, err := l.Acquire(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, enough)
		defer cancel()
		if _, err := l.Acquire(ctx, 0); !errors.Is(err, enough) {
			t.Errorf("Acquire = %v", err)
		}
		if _, err := l.Acquire(ctx, 0); !errors.Is(err, enough) {
			t.Errorf("Acquire with an ended context = %v", err)
		}
		release()
		again, err := l.Acquire(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		again()
	})
}

func TestLimiterNeverExceedsNorLosesPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 3
		l := NewLimiter(places)
		var in, most atomic.Int32
		for i := range 200 {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			go func() {
				time.Sleep(time.Duration(r.IntN(1000)) * time.Millisecond)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+r.IntN(5000))*time.Millisecond)
				defer cancel()
				release, err := l.Acquire(ctx, r.IntN(3))
				if err != nil {
					return
				}
				if n := in.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Duration(r.IntN(100)) * time.Millisecond)
				in.Add(-1)
				release()
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if most.Load() != places || l.free != places || len(l.waiting) != 0 {
			t.Errorf("most %d, free %d, waiting %d", most.Load(), l.free, len(l.waiting))
		}
	})
}

// A place is held while listing, and not while waiting, watching, or after Run.
func TestPlaceIsHeldOnlyWhileListing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(1)
		blocked, sink := newScript(), newMemory()
		hold := make(chan struct{})
		blocked.onList = func(ctx context.Context, n int, _ listOptions) (pageOf, error) {
			if n == 0 {
				return pageOf{}, fmt.Errorf("not yet")
			}
			<-hold
			return list("10"), nil
		}
		blocked.onWatch = quiet
		opts := Options{Streaming: StreamingOff, Limiter: l, Backoff: Backoff{Initial: time.Second}}
		first := run(t, blocked, sink, opts)
		synctest.Wait()
		free := func() bool {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			release, err := l.Acquire(ctx, 0)
			if err == nil {
				release()
			}
			return err == nil
		}
		if s := first.Status(); s.Phase != BackingOff || !free() {
			t.Errorf("while waiting: %v", s.Phase)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s := first.Status(); s.Phase != Listing || free() {
			t.Errorf("while listing: %v", s.Phase)
		}

		other := newScript()
		other.onList, other.onWatch = answers(list("20")), quiet
		second := run(t, other, newMemory(), opts)
		synctest.Wait()
		if s := second.Status(); s.Phase != Queued {
			t.Errorf("behind another list: %v", s.Phase)
		}
		second.stop() // ends in the queue too
		close(hold)
		synctest.Wait()
		if s := first.Status(); s.Phase != Watching || !free() {
			t.Errorf("while watching: %v", s.Phase)
		}
		if err := first.stop(); !errors.Is(err, context.Canceled) || !free() {
			t.Errorf("after Run: %v", err)
		}
	})
}
