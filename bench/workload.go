package bench

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// workload is one thing that contenders are measured at.
type workload struct {
	group  string // names the benchmark, "Get"
	params string // "readers=1": names the case
	about  string // what an operation is, for people

	// by says who has a notion of it, in the order of contenders.
	by []string
	// metric is what contenders are compared by: "ns/op", or one that the trial reports. Less is better.
	metric string
	// n is how many operations a trial does; 0: as many as take the run's trial time.
	n int
	// rounds bounds how often it is measured, where that takes long; 0: the run's count.
	rounds int
	// prepare makes the trial of a contender. What it opens it closes with s.
	prepare func(s *scope, contender string) (trial, error)
}

func (w *workload) name() string {
	if w.params == "" {
		return w.group
	}
	return w.group + "/" + w.params
}

// workloads are all, in the order in which they run: those that look at the heap before it is filled for the others.
var workloads = concat(
	relistWorkloads, memoryWorkloads, getWorkloads, listWorkloads, writeWorkloads, latencyWorkloads, eventWorkloads, backlogWorkloads,
)

func concat(groups ...[]workload) (all []workload) {
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// trial does m.N operations between m.Start and m.Stop.
type trial func(m meter)

// meter measures a trial. It is stopped at first.
type meter interface {
	N() int
	Start()
	Stop()
	// Exclude takes a time between Start and Stop out of what was measured.
	Exclude(d time.Duration)
	// Report adds a figure of its own, "p99-ns" for example.
	Report(value float64, unit string)
}

// timed does an operation m.N times.
func timed(m meter, op func(i int)) {
	n := m.N()
	m.Start()
	for i := range n {
		op(i)
	}
	m.Stop()
}

// receivedAtOnce is how many pods are received before they are written.
const receivedAtOnce = 64

// timedReceived does an operation m.N times, with a pod that has just been received. That is how pods come to a store: what it
// reads of one has been written a moment ago, and is in the processor's cache. What it holds is not.
func timedReceived(m meter, next func(i int) *corev1.Pod, op func(pod *corev1.Pod)) {
	n := m.N()
	var pods [receivedAtOnce]*corev1.Pod
	m.Start()
	for i := 0; i < n; i += len(pods) {
		now := pods[:min(len(pods), n-i)]
		m.Exclude(receive(now, func(j int) *corev1.Pod { return next(i + j) }))
		for _, pod := range now {
			op(pod)
		}
	}
	m.Stop()
}

// receive fills pods, brings what a store reads of them into the processor's cache, and returns how long that took.
func receive(pods []*corev1.Pod, next func(i int) *corev1.Pod) time.Duration {
	began := time.Now()
	for i := range pods {
		pods[i] = next(i)
		touchPod(pods[i])
	}
	return time.Since(began)
}

func touchPod(pod *corev1.Pod) {
	touch(pod.Namespace)
	touch(pod.Name)
	touch(pod.UID)
	touch(pod.ResourceVersion)
	touch(pod.Spec.NodeName)
}

// touched keeps touch from being left out by the compiler.
var touched byte

func touch[S ~string](s S) {
	for i := 0; i < len(s); i += 32 {
		touched += s[i]
	}
}

// fixture is what workloads share: made when first asked for, and once.
type fixture struct {
	objects    int
	short      bool
	population *population
	encoded    *wire
	holders    map[string]*holder
}

func newFixture(objects int, short bool) *fixture {
	return &fixture{objects: objects, short: short, holders: map[string]*holder{}}
}

// close closes the holders.
func (f *fixture) close() {
	for name, h := range f.holders {
		if h.close != nil {
			h.close()
		}
		delete(f.holders, name)
	}
	if f.encoded != nil {
		f.encoded.close()
		f.encoded = nil
	}
}

// scope is the time in which one workload is measured, and what it uses.
type scope struct {
	*fixture
	opened []func()
}

func (f *fixture) scope() *scope { return &scope{fixture: f} }

// onClose has fn called when the workload has been measured. Last come, first served.
func (s *scope) onClose(fn func()) { s.opened = append(s.opened, fn) }

func (s *scope) close() {
	for len(s.opened) > 0 {
		last := len(s.opened) - 1
		fn := s.opened[last]
		s.opened = s.opened[:last]
		fn()
	}
}

// pods are the population.
func (f *fixture) pods() *population {
	if f.population == nil {
		f.population = newPopulation(f.objects)
	}
	return f.population
}

// wire is the pods encoded. It does not keep them in the heap.
func (f *fixture) wire() (*wire, error) {
	if f.encoded != nil {
		return f.encoded, nil
	}
	p := f.population
	if p == nil {
		p = newPopulation(f.objects)
	}
	w, err := newWire(p)
	f.encoded = w
	return w, err
}

// holder is the contender with all pods in it, with an index of labels if it can and byLabels says so.
func (f *fixture) holder(contender string, byLabels bool) (*holder, error) {
	name := contender
	if byLabels && hasLabelIndex[contender] {
		name += ", by labels"
	}
	if h, ok := f.holders[name]; ok {
		return h, nil
	}
	h, err := newHolders[contender](f.pods(), byLabels)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", contender, err)
	}
	f.holders[name] = h
	return h, nil
}

// atLeast is a span of time for what has to be observed for a while, shorter where only the harness is checked.
func (f *fixture) atLeast(d time.Duration) time.Duration {
	if f.short {
		return d / 100
	}
	return d
}
