package bench

import (
	"slices"
	"testing"
	"time"

	pprofile "github.com/google/pprof/profile"
)

func TestFunctionsForPeople(t *testing.T) {
	for symbol, want := range map[string]struct {
		name string
		own  bool
	}{
		"github.com/informerkit/informerkit/store.(*Writer[go.shape.*uint8]).Commit":                               {"store.(*Writer).Commit", true},
		"github.com/informerkit/informerkit/store.AddIndex[go.shape.*uint8,go.shape.func []example.com/a.T].func1": {"store.AddIndex.func1", true},
		"k8s.io/client-go/tools/cache.(*threadSafeMap).Get":                                                        {"cache.(*threadSafeMap).Get", true},
		"runtime.memmove":                          {"runtime.memmove", false},
		"internal/runtime/maps.ctrlGroup.matchH2":  {"maps.ctrlGroup.matchH2", false},
		"slices.SortFunc[go.shape.[]a.com/b.T]":    {"slices.SortFunc", false},
		"encoding/json.(*decodeState).objectFunc1": {"json.(*decodeState).objectFunc1", false},
	} {
		if name, own := functionOf(symbol); name != want.name || own != want.own {
			t.Errorf("%s is %q, %v; want %q, %v", symbol, name, own, want.name, want.own)
		}
	}
}

// What Go's own functions take, the one that calls them takes; what a trial excludes does not count.
func TestSharesAreOfThoseWhoCall(t *testing.T) {
	const here = "github.com/informerkit/informerkit/"
	location := func(functions ...string) *pprofile.Location {
		l := &pprofile.Location{}
		for _, f := range functions {
			l.Line = append(l.Line, pprofile.Line{Function: &pprofile.Function{Name: f}})
		}
		return l
	}
	trial := location(here + "bench.trial")
	sample := func(n int64, stack ...*pprofile.Location) *pprofile.Sample {
		return &pprofile.Sample{Value: []int64{n, n * 10}, Location: stack}
	}
	got := shares(&pprofile.Profile{Sample: []*pprofile.Sample{
		sample(30, location("runtime.memmove", "strings.Clone"), location(here+"store.get", here+"store.Get"), trial),
		sample(20, location(here+"store.Get"), trial),
		sample(10, location(here+"store.get"), trial),
		sample(38, location("runtime.gcDrain"), location("runtime.gcBgMarkWorker")),
		sample(500, location("runtime.memmove"), location(here+"bench.touchPod"), location(here+"bench.receive"), trial),
		sample(2, trial), // too little to tell
	}})
	want := []share{{"store.get", 0.4}, {"garbage collector and scheduler", 0.38}, {"store.Get", 0.2}}
	if !slices.Equal(got, want) {
		t.Errorf("shares are %v, want %v", got, want)
	}
}

func TestProfileFindsWhatTakesTheTime(t *testing.T) {
	busy := func(m meter) {
		m.Start()
		for began := time.Now(); time.Since(began) < 100*time.Millisecond; {
			spin()
		}
		m.Stop()
	}
	found, err := profileOf(busy, 1, 500*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(found, func(s share) bool { return s.function == "bench.spin" && s.part > 0.3 }) {
		t.Errorf("the time went to %v", found)
	}
}

//go:noinline
func spin() {
	for i := range 100_000 {
		touched += byte(i)
	}
}

// A chain of reads that came back early would stay in the caches it is to leave.
func TestChainLeadsThroughAllLines(t *testing.T) {
	lines := newChain(1000)
	at, n := uint64(0), 0
	for {
		n++
		if at = lines[at][0]; at == 0 {
			break
		}
	}
	if n != len(lines) {
		t.Errorf("a chain of %d lines comes back after %d", len(lines), n)
	}
}

func TestSlowIsWhoDoesNotReachATargetOfTime(t *testing.T) {
	measured := func(workload, metric string, own, model float64) *Result {
		return &Result{Name: workload, Metric: metric, Rounds: []map[string]figures{{typed: {metric: own}, clientGo: {metric: model}}}}
	}
	for _, c := range []struct {
		r    *Result
		want bool
	}{
		{measured("Get/readers=1", "ns/op", 100, 90), true},
		{measured("Get/readers=1", "ns/op", 90, 100), false},
		{measured("Backlog/delivery=latest/states=shared", "heap-MB", 50, 500), false}, // no profile of time tells why
		{measured("Resync", "cpu-ns/op", 2, 1), false},                                 // no target
	} {
		if got := c.r.slow(typed); got != c.want {
			t.Errorf("%s: slow is %v", c.r.Name, got)
		}
	}
}
