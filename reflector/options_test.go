package reflector

import (
	"errors"
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type listOptions = metav1.ListOptions

func TestOptionsThatCanNotBe(t *testing.T) {
	for field, o := range map[string]Options{
		"PageSize":           {PageSize: -1},
		"WatchTimeout":       {WatchTimeout: time.Millisecond},
		"RequestTimeout":     {RequestTimeout: -1},
		"StreamingIdle":      {StreamingIdle: -1},
		"StreamingTimeout":   {StreamingTimeout: -1},
		"InternalErrorRetry": {InternalErrorRetry: -1},
		"Streaming":          {Streaming: 9},
		"OnNotFound":         {OnNotFound: 9},
		"FirstList":          {FirstList: 9},
		"Backoff.Initial":    {Backoff: Backoff{Initial: -1}},
		"Backoff.Max":        {Backoff: Backoff{Initial: time.Second, Max: time.Millisecond}},
		"Backoff.Factor":     {Backoff: Backoff{Factor: 0.5}},
		"Backoff.Jitter":     {Backoff: Backoff{Jitter: math.NaN()}},
		"Backoff.ResetAfter": {Backoff: Backoff{ResetAfter: -1}},
	} {
		r, err := New[string](newScript(), newMemory(), o)
		var bad *OptionError
		if !errors.As(err, &bad) || bad.Field != field || r != nil {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestOptionsThatAreZero(t *testing.T) {
	o, err := Options{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if o.WatchTimeout != 5*time.Minute || o.Backoff != defaultBackoff || o.Limiter != processLimiter || o.Clock == nil {
		t.Errorf("options = %+v", o)
	}
	if o, err = (Options{Backoff: Backoff{Initial: time.Minute}}).withDefaults(); err != nil {
		t.Fatal(err)
	}
	if want := (Backoff{Initial: time.Minute, Max: time.Minute, Factor: 2, ResetAfter: 2 * time.Minute}); o.Backoff != want {
		t.Errorf("back-off = %+v, want %+v", o.Backoff, want)
	}
}

func TestBackoff(t *testing.T) {
	b := Backoff{Initial: time.Second, Max: 10 * time.Second, Factor: 3, Jitter: 0.5, ResetAfter: time.Minute}
	now := time.Unix(0, 0)
	var f failures
	for i, tc := range []struct {
		after  time.Duration
		random float64
		want   time.Duration
	}{
		{0, 0, time.Second},
		{0, 0, 3 * time.Second},
		{0, 0.5, 11250 * time.Millisecond}, // 9 s and a quarter
		{0, 0, 10 * time.Second},
		{59 * time.Second, 0, 10 * time.Second},
		{time.Minute, 0, time.Second},
	} {
		now = now.Add(tc.after)
		if d := f.next(b, now, tc.random); d != tc.want {
			t.Errorf("wait %d = %v, want %v", i, d, tc.want)
		} else {
			now = now.Add(d)
		}
	}
	if d := b.delay(10000, 0.999); d < b.Max || d > 2*b.Max {
		t.Errorf("after very many failures: %v", d)
	}
	if d := (Backoff{Initial: 1, Max: math.MaxInt64, Factor: 1e300, Jitter: 1}).delay(math.MaxInt, 0.9); d <= 0 {
		t.Errorf("a wait beyond what can be said: %v", d)
	}
}
