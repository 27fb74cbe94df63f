// Package failurelog keeps a log from being flooded by a failure that stays the same.
package failurelog

import (
	"sync"
	"time"
)

const (
	firstSilence = 10 * time.Second
	maxSilence   = 10 * time.Minute
)

// Log decides what to log: an error that stays the same is due again after intervals that double, from 10 s to 10
// minutes. The zero value is ready. Safe for concurrent use.
type Log struct {
	mu       sync.Mutex // guards what follows; a leaf
	last     string
	times    int
	silent   time.Duration // how long the same error stays unlogged
	loggedAt time.Time
}

// Due reports whether an error seen now is to be logged, and how often it was seen since it was logged last.
func (l *Log) Due(message string, now time.Time) (times int, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if message != l.last || l.loggedAt.IsZero() {
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
