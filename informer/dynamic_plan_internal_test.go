package informer

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/listwatch"
)

func TestPlanOfWhatToFollow(t *testing.T) {
	in := func(version, kind string) listwatch.Resource {
		gv := schema.GroupVersion{Group: "g", Version: version}
		return listwatch.Resource{GVR: gv.WithResource("rs"), Kind: gv.WithKind(kind), Namespaced: true}
	}
	other := listwatch.Resource{GVR: schema.GroupVersionResource{Group: "h", Version: "v1", Resource: "others"}}
	v1, v2 := in("v1", "R"), in("v2", "R")
	type resources = []listwatch.Resource
	for name, test := range map[string]struct {
		following, served resources
		failed            []schema.GroupVersion
		unwanted          listwatch.Resource
		start             resources
		stop              []string
	}{
		"nothing":                            {},
		"new ones start":                     {served: resources{v1, other}, start: resources{v1, other}},
		"the preferred version starts":       {served: resources{v2, v1}, start: resources{v2}},
		"served ones stay":                   {following: resources{v1, other}, served: resources{other, v1}},
		"the version followed stays":         {following: resources{v1}, served: resources{v2, v1}},
		"a version that is gone stops first": {following: resources{v1}, served: resources{v2}, stop: []string{"rs.g"}},
		"another kind stops first":           {following: resources{v1}, served: resources{in("v1", "Q")}, stop: []string{"rs.g"}},
		"those that are gone stop":           {following: resources{v1, other}, served: resources{other}, stop: []string{"rs.g"}},
		"not known to be gone":               {following: resources{v1, other}, failed: []schema.GroupVersion{v1.GVR.GroupVersion()}, stop: []string{"others.h"}},
		"another version is served, the followed one not known to be gone": {
			following: resources{v1}, served: resources{v2}, failed: []schema.GroupVersion{v1.GVR.GroupVersion()},
		},
		"unwanted ones don't start":          {served: resources{v1, other}, unwanted: v1, start: resources{other}},
		"the next version if unwanted":       {served: resources{v2, v1}, unwanted: v2, start: resources{v1}},
		"those that are wanted no more stop": {following: resources{v1}, served: resources{v1}, unwanted: v1, stop: []string{"rs.g"}},
	} {
		t.Run(name, func(t *testing.T) {
			following := map[schema.GroupResource]listwatch.Resource{}
			for _, r := range test.following {
				following[r.GVR.GroupResource()] = r
			}
			failed := map[schema.GroupVersion]error{}
			for _, gv := range test.failed {
				failed[gv] = errors.New("down")
			}
			start, stop := plan(following, test.served, failed, func(r listwatch.Resource) bool { return r != test.unwanted })
			var stopped []string
			for _, name := range stop {
				stopped = append(stopped, name.String())
			}
			if !reflect.DeepEqual(start, test.start) || !reflect.DeepEqual(stopped, test.stop) {
				t.Errorf("start %v, stop %v; want %v, %v", start, stopped, test.start, test.stop)
			}
		})
	}
}

func TestScheduleOfDiscovery(t *testing.T) {
	const s = time.Second
	when := schedule{period: 10 * time.Minute}
	now := time.Now()
	waits := func(failed bool, want ...time.Duration) {
		t.Helper()
		for n, w := range want {
			got := when.next(now, failed)
			if got != w {
				t.Errorf("wait %d: %s, want %s", n, got, w)
			}
			now = now.Add(got)
		}
	}
	if w := when.sooner(now); w != 0 {
		t.Errorf("before the first discovery: %s", w)
	}
	waits(false, s, 2*s, 4*s, 8*s, 16*s, 32*s, 10*time.Minute, 10*time.Minute) // the beginning is a change
	now = now.Add(-10*time.Minute + 300*time.Millisecond)
	if w := when.sooner(now); w != 700*time.Millisecond {
		t.Errorf("a change just after a discovery: %s", w)
	}
	now = now.Add(time.Hour)
	if w := when.sooner(now); w != 0 {
		t.Errorf("a change long after a discovery: %s", w)
	}
	waits(false, s, 2*s)
	waits(true, s, 2*s, 4*s, 8*s, 16*s, 30*s, 30*s)
	for range 100 {
		when.next(now, true)
	}
	waits(true, 30*s)
	waits(false, 4*s, 8*s)
}
