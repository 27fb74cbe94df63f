package bench

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

var latencyWorkloads = []workload{{
	group: "WriteLatency", params: "listers=2", about: "an update, while two readers list all objects without rest", by: writing, metric: "p99-ns", n: 1,
	prepare: func(s *scope, contender string) (trial, error) {
		h, err := s.holder(contender, false)
		if err != nil {
			return nil, err
		}
		next := newStates(s.pods(), nil)
		return func(m meter) { writeBesideListers(m, h, next, 2, s.atLeast(time.Second)) }, nil
	},
}}

// fewestWrites is how many writes a 99th percentile is taken of, at least.
const fewestWrites = 300

// writeBesideListers writes for a while, m.N times as long as asked, and reports how long single writes took.
func writeBesideListers(m meter, h *holder, next *states, listers int, span time.Duration) {
	var listing sync.WaitGroup
	var over atomic.Bool
	var lists atomic.Int64
	for range listers {
		listing.Go(func() {
			for !over.Load() {
				h.all()
				lists.Add(1)
			}
		})
	}
	for lists.Load() == 0 { // until they are at it
		time.Sleep(time.Millisecond)
	}
	var took []time.Duration
	m.Start()
	began := time.Now()
	for i := 0; time.Since(began) < span*time.Duration(m.N()) || i < fewestWrites; i++ {
		write := time.Now()
		h.put(next.pod(i))
		took = append(took, time.Since(write))
	}
	elapsed := time.Since(began)
	m.Stop()
	over.Store(true)
	listing.Wait()
	slices.Sort(took)
	m.Report(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
	m.Report(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
	m.Report(float64(took[len(took)-1].Nanoseconds()), "max-ns")
	m.Report(float64(len(took))/elapsed.Seconds(), "writes/s")
	m.Report(float64(lists.Load())/elapsed.Seconds(), "lists/s")
}
