package reflector

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestWatchdogCanBeMovedBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for name, tc := range map[string]struct {
			moves []time.Duration // from now
			want  time.Duration
		}{
			"not moved":      {nil, time.Minute},
			"later":          {[]time.Duration{2 * time.Minute}, 2 * time.Minute},
			"earlier":        {[]time.Duration{time.Second}, time.Second},
			"later, earlier": {[]time.Duration{time.Hour, time.Second}, time.Second},
			"into the past":  {[]time.Duration{-time.Second}, 0},
		} {
			begin := time.Now()
			w := newWatchdog(t.Context(), clock.RealClock{}, begin.Add(time.Minute))
			for _, d := range tc.moves {
				w.move(begin.Add(d))
				synctest.Wait()
			}
			<-w.ctx.Done()
			if got := time.Since(begin); got != tc.want || !w.barked() || !errors.Is(context.Cause(w.ctx), ErrTimeout) {
				t.Errorf("%s: ended after %v with %v", name, got, context.Cause(w.ctx))
			}
			w.close()
		}
		w := newWatchdog(t.Context(), clock.RealClock{}, start.Add(time.Hour))
		w.close()
		if w.barked() {
			t.Error("a watchdog that was closed has barked")
		}
	})
}

func TestTimesComeFromTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktesting.NewFakeClock(time.Unix(1e9, 0)) // which stands still, whatever the bubble's does
		src, sink := newScript(), newMemory()
		src.onList = func(ctx context.Context, n int, _ listOptions) (pageOf, error) {
			if n == 0 {
				return pageOf{}, errors.New("not yet")
			}
			<-ctx.Done()
			return pageOf{}, ctx.Err()
		}
		log := &errorLog{}
		x := run(t, src, sink, Options{Streaming: StreamingOff, Clock: c, RequestTimeout: time.Hour, OnError: log.add})
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if s := x.Status(); s.Phase != BackingOff || !s.Since.Equal(c.Now()) {
			t.Errorf("status = %+v", s)
		}
		c.Step(time.Minute)
		synctest.Wait()
		sameCalls(t, src.trace(), "list@0", "list@0")
		c.Step(time.Hour)
		synctest.Wait()
		if errs := log.all(); len(errs) != 2 || !errors.Is(errs[1], ErrTimeout) {
			t.Errorf("told %v", errs)
		}
	})
}
