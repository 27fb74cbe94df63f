package failurelog_test

import (
	"slices"
	"testing"
	"time"

	"github.com/informerkit/informerkit/internal/failurelog"
)

func TestTheSameErrorIsDueAtGrowingIntervals(t *testing.T) {
	var log failurelog.Log
	start := time.Unix(0, 0)
	var at []time.Duration
	seen := 0
	for second := range 3601 {
		times, due := log.Due("refused", start.Add(time.Duration(second)*time.Second))
		if due {
			at = append(at, time.Duration(second)*time.Second)
			seen += times
		}
	}
	want := []time.Duration{
		0, 10 * time.Second, 30 * time.Second, 70 * time.Second, 150 * time.Second, 310 * time.Second, 630 * time.Second,
		1230 * time.Second, 1830 * time.Second, 2430 * time.Second, 3030 * time.Second,
	}
	if !slices.Equal(at, want) {
		t.Errorf("logged at %v, want %v", at, want)
	}
	if seen != 3031 {
		t.Errorf("the log tells of %d errors up to its last line, there were 3031", seen)
	}
	if _, due := log.Due("another", start.Add(time.Hour)); !due {
		t.Error("a new error is not logged at once")
	}
}

func TestAnotherErrorIsDueAtOnce(t *testing.T) {
	var log failurelog.Log
	now := time.Unix(0, 0)
	for _, message := range []string{"refused", "forbidden", "refused"} {
		if times, due := log.Due(message, now); !due || times != 1 {
			t.Errorf("%s: due %v, %d times; want at once", message, due, times)
		}
		if _, due := log.Due(message, now); due {
			t.Errorf("%s again: due", message)
		}
	}
}

func TestAnEmptyMessageIsDueToo(t *testing.T) {
	var log failurelog.Log
	if _, due := log.Due("", time.Unix(0, 0)); !due {
		t.Error("not due")
	}
}
