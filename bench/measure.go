package bench

import (
	"runtime"
	"slices"
	"time"
)

// figures are what one trial measured, by unit: "ns/op", "B/op", "allocs/op" and what it reported itself.
type figures map[string]float64

// stopwatch is the runner's meter.
type stopwatch struct {
	n       int
	running bool
	began   time.Time
	took    time.Duration
	// What was allocated until Start, and between Start and Stop so far.
	from, allocated allocations
	reported        figures
}

type allocations struct{ bytes, objects uint64 }

func allocatedNow() allocations {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return allocations{m.TotalAlloc, m.Mallocs}
}

func (s *stopwatch) N() int { return s.n }

func (s *stopwatch) Start() {
	if s.running {
		panic("BUG: a meter that runs is started")
	}
	s.running = true
	s.from = allocatedNow()
	s.began = time.Now()
}

func (s *stopwatch) Stop() {
	took := time.Since(s.began)
	if !s.running {
		panic("BUG: a meter that does not run is stopped")
	}
	s.running = false
	now := allocatedNow()
	s.took += took
	s.allocated.bytes += now.bytes - s.from.bytes
	s.allocated.objects += now.objects - s.from.objects
}

func (s *stopwatch) Exclude(d time.Duration) { s.took -= d }

func (s *stopwatch) Report(value float64, unit string) { s.reported[unit] = value }

// clean collects garbage, unless there is next to none.
func clean() {
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.TotalAlloc-collected > m.HeapAlloc/50 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		collected = m.TotalAlloc
	}
}

// collected is what had been allocated when garbage was collected last by clean.
var collected uint64

// measure does a trial of n operations.
func measure(t trial, n int) (figures, time.Duration) {
	s := &stopwatch{n: n, reported: figures{}}
	t(s)
	if s.running || s.took == 0 {
		panic("BUG: a trial that did not run its meter")
	}
	s.reported["ns/op"] = float64(s.took.Nanoseconds()) / float64(n)
	s.reported["B/op"] = float64(s.allocated.bytes) / float64(n)
	s.reported["allocs/op"] = float64(s.allocated.objects) / float64(n)
	return s.reported, s.took
}

// maxOperations bounds a trial: of shorter operations fewer nanoseconds are measured.
const maxOperations = 100_000_000

// calibrate finds how many operations take about as long as wanted, and how long they do take.
func calibrate(t trial, want time.Duration) (n int, took time.Duration) {
	n = 1
	for {
		_, took = measure(t, n)
		if took >= want*3/4 || n == maxOperations {
			return n, took
		}
		// Short trials tell little: go on in steps.
		next := float64(n) * float64(want) / float64(max(took, time.Microsecond))
		n = min(max(int(min(next, float64(n)*100)), n+1), maxOperations)
	}
}

// spread is a median with the least and the greatest value.
type spread struct{ least, median, greatest float64 }

// spreadOf is that of values, of which there is one at least.
func spreadOf(values []float64) spread {
	values = slices.Sorted(slices.Values(values))
	middle := len(values) / 2
	median := values[middle]
	if len(values)%2 == 0 {
		median = (values[middle-1] + values[middle]) / 2
	}
	return spread{values[0], median, values[len(values)-1]}
}
