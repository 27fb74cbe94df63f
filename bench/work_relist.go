package bench

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

var relistWorkloads = []workload{
	{
		group: "Relist", params: "changed=1%/measure=time", by: following, metric: "relist-ns", n: 1, rounds: 5,
		about: "a whole informer lists all again, from the first request until its handler was told",
		prepare: func(s *scope, contender string) (trial, error) {
			return s.relist(contender, relistTime)
		},
	},
	{
		group: "Relist", params: "changed=1%/measure=heap", by: following, metric: "heap/live", n: 1, rounds: 3,
		about: "the most heap during that, garbage included and collected often, over what the informer holds",
		prepare: func(s *scope, contender string) (trial, error) {
			return s.relist(contender, relistPeak)
		},
	},
}

// relist is a trial of a contender that follows a wire. The informer is new in each, so that nothing else is in the heap.
func (s *scope) relist(contender string, measure func(m meter, r *relisting)) (trial, error) {
	w, err := s.wire()
	if err != nil {
		return nil, err
	}
	return func(m meter) {
		src := newRelistSource(w)
		r := &relisting{source: src, empty: heapInUse(), done: make(chan struct{})}
		f, err := newFollowers[contender](src, relistItems{src}, followerOptions{})
		must(err)
		defer f.stop()
		synced, _ := f.handle(told{updated: r.updated})
		<-synced
		measure(m, r)
	}, nil
}

// relisting is an informer's next list.
type relisting struct {
	source *relistSource
	empty  float64 // bytes in the heap before the informer was made
	told   int
	last   atomic.Pointer[string] // the key of what changes and is told last
	done   chan struct{}
}

func (r *relisting) updated(pod *corev1.Pod) {
	r.told++
	if last := r.last.Load(); last != nil && keyOf(pod) == *last {
		close(r.done)
	}
}

// run makes it list, and returns when its handler was told all.
func (r *relisting) run(m meter) {
	last := r.source.wire.entries[len(r.source.wire.entries)-1].key
	r.last.Store(&last)
	m.Start()
	changed := r.source.change()
	<-r.done
	m.Stop()
	m.Report(float64(r.told), "told")
	m.Report(float64(r.told)/float64(changed), "told/changed")
}

func relistTime(m meter, r *relisting) {
	r.run(m)
	m.Report(float64(time.Since(r.source.listBegan()).Nanoseconds()), "relist-ns")
}

func relistPeak(m meter, r *relisting) {
	before := heapInUse()
	live := before - r.empty
	// Garbage is to be 5 % of what the informer holds at most, whatever else there is.
	defer debug.SetGCPercent(debug.SetGCPercent(max(1, int(5*live/before))))
	runtime.GC()
	over, peaks := make(chan struct{}), make(chan [2]float64)
	go sampleHeap(over, peaks)
	r.run(m)
	close(over)
	peak := <-peaks
	m.Report(live/1e6, "live-MB")
	m.Report((peak[0]-r.empty)/live, "heap/live")
	m.Report((peak[1]-r.empty)/live, "reachable/live")
}

// sampleHeap notes the most bytes in the heap, garbage included, and the most that a collection found reachable, until over.
func sampleHeap(over <-chan struct{}, peaks chan<- [2]float64) {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}}
	var peak [2]float64
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		metrics.Read(samples)
		for i := range peak {
			peak[i] = max(peak[i], float64(samples[i].Value.Uint64()))
		}
		select {
		case <-tick.C:
		case <-over:
			peaks <- peak
			return
		}
	}
}
