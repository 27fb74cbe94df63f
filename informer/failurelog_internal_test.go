package informer

import (
	"testing"
	"time"
)

func TestSameErrorIsLoggedAtGrowingIntervals(t *testing.T) {
	var l failureLog
	start := time.Unix(0, 0)
	var logged []time.Duration
	total := 0
	for at := time.Duration(0); at <= time.Hour; at += time.Second {
		if times, ok := l.due("the same", start.Add(at)); ok {
			logged = append(logged, at)
			total += times
		}
	}
	want := []time.Duration{0, 10 * time.Second, 30 * time.Second, 70 * time.Second, 150 * time.Second, 310 * time.Second, 630 * time.Second, 1230 * time.Second, 1830 * time.Second, 2430 * time.Second, 3030 * time.Second}
	if len(logged) != len(want) {
		t.Fatalf("logged at %v, want %v", logged, want)
	}
	for n := range want {
		if logged[n] != want[n] {
			t.Errorf("logged at %v, want %v", logged, want)
			break
		}
	}
	if total != 3031 {
		t.Errorf("the log tells of %d errors up to its last line, there were 3031", total)
	}
	if _, ok := l.due("another", start.Add(time.Hour)); !ok {
		t.Error("a new error is not logged at once")
	}
}
