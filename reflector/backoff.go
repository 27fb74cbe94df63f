package reflector

import (
	"math"
	"time"
)

// Backoff says how long to wait after the nth failure in a row. The zero value is client-go's: 0.8 s to 30 s, doubling,
// full jitter of 1, forgotten after 2 minutes of quiet. If any field is set, zero in another means what is said there.
type Backoff struct {
	// Initial is the first wait, Max the longest, both without jitter. 0: 800 ms and 30 s.
	Initial, Max time.Duration
	// Factor is what each wait is longer by. At least 1. 0: 2.
	Factor float64
	// Jitter adds a random part of the wait: with 1, up to as much again. Without it clients that fail together come back
	// together. 0: none.
	Jitter float64
	// ResetAfter is how long after the last failure the next one counts as the first again. 0: 2 minutes.
	ResetAfter time.Duration
}

var defaultBackoff = Backoff{Initial: 800 * time.Millisecond, Max: 30 * time.Second, Factor: 2, Jitter: 1, ResetAfter: 2 * time.Minute}

func (b Backoff) withDefaults() (Backoff, error) {
	if b == (Backoff{}) {
		return defaultBackoff, nil
	}
	if err := setDuration(&b.Initial, "Backoff.Initial", defaultBackoff.Initial, time.Millisecond); err != nil {
		return b, err
	}
	if err := setDuration(&b.Max, "Backoff.Max", max(defaultBackoff.Max, b.Initial), b.Initial); err != nil {
		return b, err
	}
	if err := setDuration(&b.ResetAfter, "Backoff.ResetAfter", defaultBackoff.ResetAfter, 0); err != nil {
		return b, err
	}
	if b.Factor == 0 {
		b.Factor = defaultBackoff.Factor
	}
	if !(b.Factor >= 1) || math.IsInf(b.Factor, 0) {
		return b, &OptionError{"Backoff.Factor", b.Factor, "must be at least 1"}
	}
	if !(b.Jitter >= 0) || math.IsInf(b.Jitter, 0) {
		return b, &OptionError{"Backoff.Jitter", b.Jitter, "must not be negative"}
	}
	return b, nil
}

// delay is the wait after the nth failure, n from 0; random is in [0, 1).
func (b Backoff) delay(n int, random float64) time.Duration {
	d := min(float64(b.Initial)*math.Pow(b.Factor, float64(n)), float64(b.Max))
	return time.Duration(min(d*(1+b.Jitter*random), float64(math.MaxInt64/2)))
}

// failures counts towards the next delay.
type failures struct {
	n    int
	last time.Time
}

func (f *failures) next(b Backoff, now time.Time, random float64) time.Duration {
	if f.n > 0 && now.Sub(f.last) >= b.ResetAfter {
		f.n = 0
	}
	d := b.delay(f.n, random)
	f.n++
	// Quiet begins when the wait is over.
	f.last = now.Add(d)
	return d
}
