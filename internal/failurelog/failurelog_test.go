package failurelog_test

import (
	"testing"
	"time"

	"github.com/informerkit/informerkit/internal/failurelog"
)

func TestTheSameErrorIsDueAtGrowingIntervals(t *testing.T) {
	var log failurelog.Log
	start := time.Unix(0, 0)
	var at []time.Duration
	seen := 0
	for second := range 3600 {
		times, due := log.Due("refused", start.Add(time.Duration(second)*time.Second))
		if due {
			at = append(at, time.Duration(second)*time.Second)
			seen += times
		}
	}
	want := []time.Duration{0, 10 * time.Second, 30 * time.Second, 70 * time.Second, 150 * time.Second, 310 * time.Second, 630 * time.Second}
	for i, w := range want {
		if at[i] != w {
			t.Fatalf("logged at %v, want it to begin with %v", at, want)
		}
	}
	for i := len(want); i < len(at); i++ {
		if gap := at[i] - at[i-1]; gap > 10*time.Minute {
			t.Errorf("silent for %v", gap)
		}
	}
	if last := int(at[len(at)-1]/time.Second) + 1; seen != last {
		t.Errorf("counted %d errors up to the last one logged, there were %d", seen, last)
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
