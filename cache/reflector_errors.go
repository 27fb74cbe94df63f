package cache

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// VeryShortWatchError says that a server ended a watch within a second and without an event.
type VeryShortWatchError struct {
	// Name of the reflector.
	Name string
}

// Error names the reflector.
func (e *VeryShortWatchError) Error() string {
	return fmt.Sprintf("very short watch: %s: Unexpected watch close - watch lasted less than a second and no items received", e.Name)
}

// RetryWithDeadline says for how long something that keeps failing is to be tried again. Safe for concurrent use.
type RetryWithDeadline interface {
	// After notes how a try went.
	After(error)
	// ShouldRetry reports whether another try is due.
	ShouldRetry() bool
}

// NewRetryWithDeadline allows retries after errors that isRetryable says yes to, for maxRetryDuration from the first one
// on. One that comes minResetPeriod or more after the last one begins afresh; other errors don't count. With a
// maxRetryDuration of 0 nothing is ever tried again.
func NewRetryWithDeadline(maxRetryDuration, minResetPeriod time.Duration, isRetryable func(error) bool, clock clock.Clock) RetryWithDeadline {
	return &retryWithDeadline{limit: maxRetryDuration, quiet: minResetPeriod, isRetryable: isRetryable, clock: clock}
}

type retryWithDeadline struct {
	limit, quiet time.Duration
	isRetryable  func(error) bool
	clock        clock.Clock

	mu          sync.Mutex // guards what follows
	first, last time.Time  // retryable errors of the present row; zero if there is none
}

func (r *retryWithDeadline) After(err error) {
	if !r.isRetryable(err) {
		return
	}
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() || now.Sub(r.last) >= r.quiet {
		r.first = now
	}
	r.last = now
}

func (r *retryWithDeadline) ShouldRetry() bool {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limit > 0 && !r.first.IsZero() && now.Sub(r.first) <= r.limit
}
