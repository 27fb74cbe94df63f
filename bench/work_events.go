package bench

import (
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
)

var eventWorkloads = []workload{
	events(1),
	events(10),
	{
		group: "LateHandler", about: "a handler comes to a full store and is told of all objects", by: following, metric: "ns/op",
		prepare: func(s *scope, contender string) (trial, error) {
			f, _, err := s.follower(contender, followerOptions{})
			if err != nil {
				return nil, err
			}
			return func(m meter) {
				for range m.N() {
					c := newCounter(int64(len(s.pods().pods)))
					m.Start()
					synced, remove := f.handle(told{added: c.count})
					<-c.done
					m.Stop()
					<-synced
					remove()
				}
			}, nil
		},
	},
	{
		group: "Resync", about: "CPU time in which one handler is told of all objects again", by: following, metric: "cpu-ns/op", n: 2, rounds: 5,
		prepare: func(s *scope, contender string) (trial, error) {
			return func(m meter) { resync(m, s, contender) }, nil
		},
	},
}

// events is a workload of changes that come from the source and are told to handlers.
func events(handlers int) workload {
	return workload{
		group: "Events", params: fmt.Sprintf("handlers=%d", handlers), by: following, metric: "ns/op",
		about: fmt.Sprintf("one change, from the source until the last of %d was told", handlers),
		prepare: func(s *scope, contender string) (trial, error) {
			f, src, err := s.follower(contender, followerOptions{})
			if err != nil {
				return nil, err
			}
			counters := make([]*counter, handlers)
			for i := range counters {
				counters[i] = newCounter(0)
				synced, _ := f.handle(told{updated: counters[i].count})
				<-synced
			}
			p := s.pods()
			return func(m meter) {
				for _, c := range counters {
					c.reset(int64(m.N()))
				}
				states := src.states(m.N(), func(i int) *corev1.Pod { return p.pods[p.order[i%len(p.order)]] })
				m.Start()
				src.send(states)
				for _, c := range counters {
					<-c.done
				}
				m.Stop()
			}, nil
		},
	}
}

// follower starts a contender that follows all pods, for as long as the workload is measured.
func (s *scope) follower(contender string, opts followerOptions) (*follower, *source, error) {
	src := newSource(s.pods().pods)
	f, err := newFollowers[contender](src, typedSource(src), opts)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", contender, err)
	}
	s.onClose(f.stop)
	return f, src, nil
}

// counter counts what a handler is told. done gets a value when it has come to wanted.
type counter struct {
	told, wanted atomic.Int64
	done         chan struct{}
}

func newCounter(wanted int64) *counter {
	c := &counter{done: make(chan struct{}, 1)}
	c.wanted.Store(wanted)
	return c
}

func (c *counter) reset(wanted int64) {
	c.told.Store(0)
	c.wanted.Store(wanted)
}

func (c *counter) count(*corev1.Pod) {
	if c.told.Add(1) == c.wanted.Load() {
		c.done <- struct{}{}
	}
}

// resync measures the CPU time of resyncs. client-go's go by the clock, so they can't be timed from their beginning; but as nothing
// else goes on meanwhile, what the process uses is theirs.
func resync(m meter, s *scope, contender string) {
	src := newSource(s.pods().pods)
	f, err := newFollowers[contender](src, typedSource(src), followerOptions{resync: true})
	must(err)
	defer f.stop()
	c := newCounter(0)
	synced, _ := f.handle(told{updated: c.count})
	<-synced
	replay := func() {
		c.reset(int64(len(s.pods().pods)))
		if f.replay != nil {
			f.replay()
		}
		<-c.done
	}
	if f.replay == nil {
		replay() // the first ends somewhere in a resync, and so do all others
	}
	before := cpuTime()
	for range m.N() {
		m.Start()
		replay()
		m.Stop()
	}
	m.Report(float64((cpuTime()-before).Nanoseconds())/float64(m.N()), "cpu-ns/op")
}
