package informer

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/listwatch"
)

// plan compares what is followed with what is served. What is followed and served in the same form, or not known to be gone,
// stays. stop is what goes, start what comes; what comes in another form than it has starts when it has stopped.
func plan(
	following map[schema.GroupResource]listwatch.Resource,
	served []listwatch.Resource,
	failed map[schema.GroupVersion]error,
	wants func(listwatch.Resource) bool,
) (start []listwatch.Resource, stop []schema.GroupResource) {
	stays := map[schema.GroupResource]bool{}
	first := map[schema.GroupResource]listwatch.Resource{}
	var names []schema.GroupResource
	for _, r := range served {
		if !wants(r) {
			continue
		}
		name := r.GVR.GroupResource()
		if _, seen := first[name]; !seen {
			first[name] = r
			names = append(names, name)
		}
		if following[name] == r {
			stays[name] = true
		}
	}
	for name, r := range following {
		if _, unknown := failed[r.GVR.GroupVersion()]; !stays[name] && !unknown {
			stop = append(stop, name)
		}
	}
	slices.SortFunc(stop, func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
	for _, name := range names {
		if _, has := following[name]; !has {
			start = append(start, first[name])
		}
	}
	return start, stop
}

// schedule says when to discover.
type schedule struct {
	period   time.Duration
	last     time.Time // of the newest discovery
	settling int       // discoveries since something changed, of those that follow a change
	failures int       // in a row
}

const (
	defaultDiscovery = 10 * time.Minute
	// minDiscovery is the least time between two: many definitions often change at once.
	minDiscovery = time.Second
	maxDiscovery = 30 * time.Second // between attempts
)

// settled is how often the server is asked after a change, after waits that double: it takes a while until a new definition is
// served.
const settled = 6

// sooner is the wait when something changed.
func (s *schedule) sooner(now time.Time) time.Duration {
	s.settling = 0
	if s.last.IsZero() {
		return 0
	}
	return max(0, s.last.Add(minDiscovery).Sub(now))
}

// next is the wait after a discovery.
func (s *schedule) next(now time.Time, failed bool) time.Duration {
	s.last = now
	if failed {
		s.failures++
		return min(minDiscovery<<min(s.failures-1, 10), maxDiscovery)
	}
	s.failures = 0
	if s.settling < settled {
		s.settling++
		return min(minDiscovery<<(s.settling-1), s.period)
	}
	return s.period
}
