package bench

import (
	"sync"
	"sync/atomic"
	"time"
)

var getWorkloads = []workload{
	{
		group: "Get", params: "readers=1", about: "one object by key, nobody writes", by: contenders, metric: "ns/op",
		prepare: func(s *scope, contender string) (trial, error) {
			h, err := s.holder(contender, false)
			if err != nil {
				return nil, err
			}
			p := s.pods()
			return func(m meter) {
				timed(m, func(i int) {
					if h.get(p.asked[i%len(p.asked)]) == nil {
						panic("BUG: a pod is missing")
					}
				})
			}, nil
		},
	},
	{
		group: "Get", params: "readers=2/writers=1", about: "one object by key, for one of two readers beside a writer that never rests", by: writing, metric: "ns/op",
		prepare: func(s *scope, contender string) (trial, error) {
			h, err := s.holder(contender, false)
			if err != nil {
				return nil, err
			}
			next := newStates(s.pods(), nil)
			return func(m meter) { getBesideWriter(m, h, next, 2) }, nil
		},
	},
}

// getBesideWriter gets m.N times in each of several readers while a writer updates.
func getBesideWriter(m meter, h *holder, next *states, readers int) {
	p := next.population
	var reading sync.WaitGroup
	var over atomic.Bool
	written := make(chan int)
	m.Start()
	began := time.Now()
	go func() {
		n := 0
		for ; !over.Load(); n++ {
			h.put(next.pod(n))
		}
		written <- n
	}()
	for r := range readers {
		reading.Go(func() {
			for i := range m.N() {
				if h.get(p.asked[(i+r*len(p.asked)/readers)%len(p.asked)]) == nil {
					panic("BUG: a pod is missing")
				}
			}
		})
	}
	reading.Wait()
	took := time.Since(began)
	m.Stop()
	over.Store(true)
	m.Report(float64(<-written)/took.Seconds(), "writes/s")
}
