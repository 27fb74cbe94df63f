package cache

import (
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestRetryWithDeadline(t *testing.T) {
	retryable, final := errors.New("retryable"), errors.New("final")
	type step struct {
		after time.Duration
		err   error // what happened then; nil: nothing, only ask
		want  bool
	}
	for _, c := range []struct {
		name         string
		limit, quiet time.Duration
		steps        []step
	}{
		{"no limit, no retry", 0, time.Minute, []step{{0, retryable, false}}},
		{"nothing happened", time.Minute, time.Minute, []step{{0, nil, false}}},
		{"up to the limit", 10 * time.Second, time.Minute, []step{
			{0, retryable, true}, {9 * time.Second, retryable, true}, {2 * time.Second, retryable, false},
		}},
		{"another error does not count", time.Minute, time.Minute, []step{{0, retryable, true}, {0, final, true}, {time.Second, retryable, true}}},
		{"quiet in between", 10 * time.Second, 5 * time.Second, []step{
			{0, retryable, true}, {4 * time.Second, retryable, true}, {20 * time.Second, nil, false}, {0, retryable, true},
		}},
	} {
		clock := clocktesting.NewFakeClock(time.Unix(0, 0))
		r := NewRetryWithDeadline(c.limit, c.quiet, func(err error) bool { return err == retryable }, clock)
		for i, s := range c.steps {
			clock.Step(s.after)
			if s.err != nil {
				r.After(s.err)
			}
			if got := r.ShouldRetry(); got != s.want {
				t.Errorf("%s, step %d: retry %v, want %v", c.name, i, got, s.want)
			}
		}
	}
}
