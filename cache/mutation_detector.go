package cache

import (
	"fmt"
	"os"
	"reflect"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/diff"
)

// mutationDetectorEnv is the environment variable that turns mutation detectors on, if it is a true by
// strconv.ParseBool when they are made.
const mutationDetectorEnv = "KUBE_CACHE_MUTATION_DETECTOR"

const (
	mutationCheckPeriod = time.Second
	// mutationWatchTime is for how long an object is compared with its copy.
	mutationWatchTime = 2 * time.Minute
)

// MutationDetector notices that cached objects, which are everybody's, are changed in place.
type MutationDetector interface {
	// AddObject has obj watched for a while. What is no runtime.Object is not.
	AddObject(obj any)
	// Run compares the objects with what they were, each second and a last time at its end, until stopCh closes. It
	// panics when one was changed, and says which and how.
	Run(stopCh <-chan struct{})
}

// NewCacheMutationDetector returns a detector whose reports carry name. Unless the environment says
// KUBE_CACHE_MUTATION_DETECTOR=true, it detects nothing and costs nothing. Otherwise it holds a deep copy of each
// object added in the last two minutes: it is for tests.
func NewCacheMutationDetector(name string) MutationDetector {
	if enabled, err := strconv.ParseBool(os.Getenv(mutationDetectorEnv)); err != nil || !enabled {
		return noMutationDetector{}
	}
	return newMutationDetector(name, func(report string) { panic(report) })
}

// noMutationDetector is the detector that is turned off.
type noMutationDetector struct{}

func (noMutationDetector) AddObject(any) {}

func (noMutationDetector) Run(stopCh <-chan struct{}) { <-stopCh }

type mutationDetector struct {
	name string
	// report is called with each mutation found, once per object added, with no lock held.
	report func(string)

	mu      sync.Mutex // guards watched
	watched []watchedObject
}

type watchedObject struct {
	obj, copy runtime.Object
	until     time.Time
}

func newMutationDetector(name string, report func(string)) *mutationDetector {
	return &mutationDetector{name: name, report: report}
}

func (d *mutationDetector) AddObject(obj any) {
	object, ok := obj.(runtime.Object)
	if !ok {
		return
	}
	watched := watchedObject{obj: object, copy: object.DeepCopyObject(), until: time.Now().Add(mutationWatchTime)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.watched = append(d.watched, watched)
}

func (d *mutationDetector) Run(stopCh <-chan struct{}) {
	ticker := time.NewTicker(mutationCheckPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-stopCh:
			d.compare(time.Now())
			return
		case now := <-ticker.C:
			d.compare(now)
		}
	}
}

// compare reports what has changed, and forgets that and what was watched for long enough.
func (d *mutationDetector) compare(now time.Time) {
	d.mu.Lock()
	watched := d.watched
	d.watched = nil
	d.mu.Unlock()

	kept := watched[:0]
	for _, w := range watched {
		if !reflect.DeepEqual(w.obj, w.copy) {
			d.report(w.describe(d.name))
		} else if now.Before(w.until) {
			kept = append(kept, w)
		}
	}
	clear(watched[len(kept):])

	d.mu.Lock()
	defer d.mu.Unlock()
	d.watched = append(kept, d.watched...)
}

func (w watchedObject) describe(detector string) string {
	key, err := MetaNamespaceKeyFunc(w.copy)
	if err != nil {
		key = "without metadata"
	}
	return fmt.Sprintf("cache %q: %T %s was changed in place (- as cached, + as it is):\n%s",
		detector, w.obj, key, diff.Diff(w.copy, w.obj))
}
