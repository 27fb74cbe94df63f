package bench

import "runtime"

var memoryWorkloads = []workload{
	overhead("", contenders, false),
	overhead("/index=labels", indexing, true),
}

func overhead(params string, by []string, byLabels bool) workload {
	return workload{
		group: "Overhead", params: "indexes=2" + params, by: by, metric: "B/object", n: 1, rounds: 3,
		about: "bytes a store needs for an object and its index entries, the object itself not counted",
		prepare: func(s *scope, contender string) (trial, error) {
			p := s.pods()
			return func(m meter) {
				before := heapInUse()
				m.Start()
				h, err := newHolders[contender](p, byLabels)
				must(err)
				m.Stop()
				m.Report((heapInUse()-before)/float64(len(p.pods)), "B/object")
				runtime.KeepAlive(h)
				if h.close != nil {
					h.close()
				}
			}, nil
		},
	}
}
