package bench

import (
	"runtime"
	"runtime/metrics"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The backlog that is measured: this many objects changed, this many changes each.
const (
	backlogObjects = 1000
	backlogChanges = 200
)

var backlogWorkloads = []workload{
	backlog("latest", "shared", followerOptions{latest: true}),
	backlog("latest", "received", followerOptions{latest: true}),
	backlog("every", "shared", followerOptions{}),
}

// backlog is a workload of a handler that lags. states says what a new state of an object is: "received" means decoded, all of it
// memory of its own; "shared" means that it shares with its predecessor all but what changed, so that it is the backlog's own needs
// that are seen.
func backlog(delivery, states string, opts followerOptions) workload {
	return workload{
		group: "Backlog", params: "delivery=" + delivery + "/states=" + states, by: following, metric: "heap-MB", n: 1, rounds: 3,
		about: "heap growth while a handler lags 200,000 changes of 1,000 objects behind, their states " + states,
		prepare: func(s *scope, contender string) (trial, error) {
			return func(m meter) { lag(m, contender, opts, states == "shared", s.short) }, nil
		},
	}
}

// lag lets a handler lag, behind objects that nobody else holds.
func lag(m meter, contender string, opts followerOptions, shared, short bool) {
	changes := backlogChanges
	if short {
		changes = 5
	}
	rv := backlogObjects
	received := func(i int) *corev1.Pod {
		rv++
		pod := newPod(i, backlogObjects, "team-000-production", "ip-10-0-0-1")
		pod.ResourceVersion = strconv.Itoa(rv)
		return decoded(pod)
	}
	pods := make([]*corev1.Pod, backlogObjects)
	for i := range pods {
		pods[i] = received(i)
	}
	src := newSource(pods)
	src.rv = uint64(rv)
	f, err := newFollowers[contender](src, typedSource(src), opts)
	must(err)
	defer f.stop()
	next := received
	if shared {
		next = func(i int) *corev1.Pod {
			rv++
			return withState(pods[i], uint64(rv))
		}
	} else {
		src.pods, pods = nil, nil // the informer has them
	}

	blocked := make(chan struct{})
	entered := make(chan struct{})
	last := make(chan struct{})
	first := true
	final := ""
	synced, _ := f.handle(told{updated: func(pod *corev1.Pod) {
		if first {
			first = false
			close(entered)
			<-blocked
		}
		if pod.ResourceVersion == final {
			close(last)
		}
	}})
	<-synced
	before := heapInUse()
	m.Start()
	src.send([]*corev1.Pod{next(0)})
	<-entered
	one := make([]*corev1.Pod, 1)
	key := ""
	for range changes {
		for i := range backlogObjects {
			one[0] = next(i)
			src.send(one)
		}
	}
	key, final = keyOf(one[0]), one[0].ResourceVersion
	one[0] = nil
	for f.get(key).ResourceVersion != final {
		time.Sleep(time.Millisecond)
	}
	m.Stop()
	m.Report((heapInUse()-before)/1e6, "heap-MB")
	close(blocked)
	<-last
}

// heapInUse is the bytes of reachable objects.
func heapInUse() float64 {
	runtime.GC()
	runtime.GC() // what finalizers and pools let go of in the first
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64())
}
