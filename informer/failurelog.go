package informer

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// failureLog logs list and watch errors without flooding: an error that stays the same is logged again after intervals that
// double, with the number of times it was seen.
type failureLog struct {
	mu       sync.Mutex // guards what follows; a leaf
	last     string
	times    int
	silent   time.Duration // how long the same error stays unlogged
	loggedAt time.Time
}

const (
	firstSilence = 10 * time.Second
	maxSilence   = 10 * time.Minute
)

func (l *failureLog) report(ctx context.Context, informer string, err error) {
	if times, ok := l.due(err.Error(), time.Now()); ok {
		klog.FromContext(ctx).Error(err, "List or watch failed", "informer", informer, "times", times)
	}
}

// due reports whether an error seen now is to be logged, and how often it was seen since it was logged last.
func (l *failureLog) due(message string, now time.Time) (times int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if message != l.last {
		l.last, l.times, l.silent, l.loggedAt = message, 0, firstSilence, now
		return 1, true
	}
	l.times++
	if now.Sub(l.loggedAt) < l.silent {
		return 0, false
	}
	times, l.times = l.times, 0
	l.loggedAt, l.silent = now, min(2*l.silent, maxSilence)
	return times, true
}
