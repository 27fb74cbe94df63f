package bench

// finding is a workload that asks for several objects: ask asks holder h, the i-th time.
func finding(group, params, about string, by []string, byLabels bool, want func(p *population) int, ask func(h *holder, p *population, i int) int) workload {
	return workload{
		group: group, params: params, about: about, by: by, metric: "ns/op",
		prepare: func(s *scope, contender string) (trial, error) {
			h, err := s.holder(contender, byLabels)
			if err != nil {
				return nil, err
			}
			p := s.pods()
			n := want(p)
			return func(m meter) {
				timed(m, func(i int) {
					if ask(h, p, i) != n {
						panic("BUG: " + contender + " did not find what there is")
					}
				})
			}, nil
		},
	}
}

func exactly(n int) func(*population) int { return func(*population) int { return n } }

func everything(p *population) int { return len(p.pods) }

var listWorkloads = []workload{
	finding("ListAll", "as=iterate", "all objects, each visited", iterating, false, everything,
		func(h *holder, _ *population, _ int) int { return h.all() }),
	finding("ListAll", "as=slice", "all objects, as a slice", slicing, false, everything,
		func(h *holder, _ *population, _ int) int { return h.slice() }),
	finding("ListNamespace", "select=all", "the 1,000 objects of a namespace", contenders, false, exactly(perNamespace),
		func(h *holder, p *population, i int) int { return h.namespace(p.namespaces[i%len(p.namespaces)]) }),
	finding("ListNamespace", "select=10", "the 10 objects of a namespace of 1,000 that a label selector matches", labelling, true, exactly(perTemplate),
		func(h *holder, p *population, i int) int {
			t := &p.templates[i%len(p.templates)]
			return h.matching(t.namespace, t.selector)
		}),
	finding("ListAll", "select=10", "the 10 of all objects that a label selector matches", labelling, true, exactly(perTemplate),
		func(h *holder, p *population, i int) int {
			return h.matching("", p.templates[i%len(p.templates)].selector)
		}),
	finding("ByIndex", "objects=500", "the 500 objects of a node", contenders, false, exactly(perNode),
		func(h *holder, p *population, i int) int { return h.node(p.nodes[i%len(p.nodes)]) }),
}
