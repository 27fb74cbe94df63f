package bench

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// undisturbed is a workload of a writer that is alone.
func undisturbed(group, params, about string, by []string, byLabels bool, make func(s *scope, h *holder, p *population) trial) workload {
	return workload{
		group: group, params: params, about: about, by: by, metric: "ns/op",
		prepare: func(s *scope, contender string) (trial, error) {
			h, err := s.holder(contender, byLabels)
			if err != nil {
				return nil, err
			}
			return make(s, h, s.pods()), nil
		},
	}
}

// batchSize is how many objects a batch puts.
const batchSize = 1000

var writeWorkloads = []workload{
	undisturbed("Update", "values=same", "one object, its index values as before", writing, false, func(_ *scope, h *holder, p *population) trial {
		next := newStates(p, nil)
		return func(m meter) { timedReceived(m, next.pod, h.put) }
	}),
	undisturbed("Update", "values=same/received=before", "one object, its index values as before; in no processor's cache any more", writing, false, func(_ *scope, h *holder, p *population) trial {
		next := newStates(p, nil)
		return func(m meter) { timed(m, func(i int) { h.put(next.pod(i)) }) }
	}),
	undisturbed("Update", "values=changed", "one object, moved to another node", writing, false, func(s *scope, h *holder, p *population) trial {
		next := newStates(p, func(pod *corev1.Pod, i int) { pod.Spec.NodeName = p.nodes[i%len(p.nodes)] })
		s.onClose(func() { next.settle(h) })
		return func(m meter) { timedReceived(m, next.pod, h.put) }
	}),
	undisturbed("Update", "values=same/index=labels", "one object, with an index of its 7 labels besides where that is offered", indexing, true, func(_ *scope, h *holder, p *population) trial {
		next := newStates(p, nil)
		return func(m meter) { timedReceived(m, next.pod, h.put) }
	}),
	undisturbed("DeleteAdd", "", "one object deleted and added again", writing, false, func(_ *scope, h *holder, p *population) trial {
		next := newStates(p, nil)
		return func(m meter) {
			timedReceived(m, next.pod, func(pod *corev1.Pod) {
				h.remove(pod)
				h.put(pod)
			})
		}
	}),
	undisturbed("Batch", "objects=1000", "1,000 objects updated in one step", writing, false, func(_ *scope, h *holder, p *population) trial {
		next := newStates(p, nil)
		pods := make([]*corev1.Pod, batchSize)
		return func(m meter) {
			timed(m, func(i int) {
				m.Exclude(receive(pods, func(j int) *corev1.Pod { return next.pod(i*batchSize + j) }))
				h.batch(pods)
			})
		}
	}),
	{
		group: "ReplaceAll", params: "changed=1%", about: "the whole content replaced by a list in which 1 % is new", by: following, metric: "ns/op",
		prepare: func(s *scope, contender string) (trial, error) {
			h, err := s.holder(contender, false)
			if err != nil {
				return nil, err
			}
			next := newLists(s.pods())
			return func(m meter) {
				changes := 0
				for range m.N() {
					list := next.next()
					m.Start()
					changes += h.replace(list)
					m.Stop()
				}
				if changes > 0 {
					m.Report(float64(changes)/float64(m.N()), "changes")
				}
			}, nil
		}, n: 1,
	},
	{
		group: "ReplaceAll", params: "changed=1%/readers=1", about: "the longest of all Gets during a replacement of everything", by: following, metric: "longest-ns", n: 1,
		prepare: func(s *scope, contender string) (trial, error) {
			h, err := s.holder(contender, false)
			if err != nil {
				return nil, err
			}
			next := newLists(s.pods())
			return func(m meter) { longestGet(m, h, s.pods(), next) }, nil
		},
	},
}

// states are pods and their next states, taken turns with.
type states struct {
	population *population
	now, other []*corev1.Pod
}

// newStates makes another state of each pod, which change, if not nil, makes differ in more than its resource version.
func newStates(p *population, change func(pod *corev1.Pod, i int)) *states {
	s := &states{population: p, now: slices.Clone(p.pods), other: make([]*corev1.Pod, len(p.pods))}
	for i, pod := range p.pods {
		s.other[i] = withState(pod, uint64(len(p.pods)+i))
		if change != nil {
			change(s.other[i], i)
		}
	}
	return s
}

// pod is the next state of one of the pods, another one for each i.
func (s *states) pod(i int) *corev1.Pod {
	n := s.population.order[i%len(s.now)]
	s.now[n], s.other[n] = s.other[n], s.now[n]
	return s.now[n]
}

// settle puts all back in their first state.
func (s *states) settle(h *holder) {
	for i, pod := range s.population.pods {
		if s.now[i] != pod {
			s.now[i], s.other[i] = s.other[i], s.now[i]
			h.put(pod)
		}
	}
}

// lists makes one list after the other as a server would send them: each pod newly received, so that its UID and resource
// version are equal to those of the state before and not the same memory. Each time 1 % has changed.
type lists struct {
	population *population
	rvs        []string
	rv, made   int
}

func newLists(p *population) *lists {
	l := &lists{population: p, rv: len(p.pods)}
	for _, pod := range p.pods {
		l.rvs = append(l.rvs, pod.ResourceVersion)
	}
	return l
}

func (l *lists) next() []*corev1.Pod {
	p := l.population
	changed := len(p.pods) / 100
	for i := range changed {
		l.rv++
		l.rvs[p.order[(l.made*changed+i)%len(p.order)]] = strconv.Itoa(l.rv)
	}
	l.made++
	list := make([]*corev1.Pod, len(p.pods))
	for i, pod := range p.pods {
		next := *pod
		next.UID = types.UID(strings.Clone(string(pod.UID)))
		next.ResourceVersion = strings.Clone(l.rvs[i])
		list[i] = &next
	}
	return list
}

// warmGets is how many Gets come before a replacement.
const warmGets = 1000

// longestGet replaces everything while a reader gets, without rest.
func longestGet(m meter, h *holder, p *population, next *lists) {
	most := time.Duration(0)
	for range m.N() {
		list := next.next()
		runtime.GC() // of the list; it would be in the way of some Gets
		var replacing, over atomic.Bool
		found := make(chan time.Duration)
		reading := make(chan struct{})
		go func() {
			longest := time.Duration(0)
			for i := 0; !over.Load(); i++ {
				key := p.asked[i%len(p.asked)]
				during := replacing.Load()
				began := time.Now()
				pod := h.get(key)
				took := time.Since(began)
				if during || replacing.Load() { // one that waited for the end of it counts
					longest = max(longest, took)
				}
				if pod == nil {
					panic("BUG: a pod is missing")
				}
				if i == warmGets {
					close(reading)
				}
			}
			found <- longest
		}()
		<-reading
		m.Start()
		replacing.Store(true)
		h.replace(list)
		replacing.Store(false)
		m.Stop()
		over.Store(true)
		most = max(most, <-found)
	}
	m.Report(float64(most.Nanoseconds()), "longest-ns")
}
