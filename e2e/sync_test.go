package e2e

import (
	"maps"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/informerkit/informerkit/e2e/cluster"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

const mergePatch = types.MergePatchType

var isNotFound = apierrors.IsNotFound

// listing says how a list was made, as the server saw it.
type listing struct{ streams, pages int }

func listings(requests []cluster.Request, pageSize string) (l listing, wholeLists int) {
	for _, r := range requests {
		switch {
		case r.Streams():
			l.streams++
		case r.Lists() && r.Query.Get("limit") == pageSize:
			l.pages++
		case r.Lists():
			wholeLists++
		}
	}
	return l, wholeLists
}

func TestSameCopyByStreamingAndByPages(t *testing.T) {
	const objects = 300
	c, ns := shared(t)
	fill(t, c, ns, objects, 100)
	client := widgets(c, ns)
	for _, tc := range []struct {
		name string
		opts reflector.Options
		want listing
	}{
		{"automatic", reflector.Options{}, listing{streams: 1}},
		{"streaming", reflector.Options{Streaming: reflector.StreamingOn}, listing{streams: 1}},
		{"streaming, most recent", reflector.Options{Streaming: reflector.StreamingOn, FirstList: reflector.ListMostRecent}, listing{streams: 1}},
		{"pages", reflector.Options{Streaming: reflector.StreamingOff, PageSize: 50}, listing{pages: 6}},
		{"pages, most recent", reflector.Options{Streaming: reflector.StreamingOff, PageSize: 50, FirstList: reflector.ListMostRecent}, listing{pages: 6}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.Gate.Requests()
			inf := start(t, listwatch.For[*unstructured.Unstructured](client), informer.Options[*unstructured.Unstructured]{Reflector: tc.opts})
			waitSynced(t, inf)
			if got, whole := listings(c.Gate.Requests(), "50"); got != tc.want || whole != 0 {
				t.Errorf("listed by %+v and %d whole lists, want %+v", got, whole, tc.want)
			}
			if inf.Len() != objects {
				t.Errorf("%d objects, want %d", inf.Len(), objects)
			}
			compare(t, "the first copy", maps.Collect(inf.Snapshot().All()), onServer(t, client))
			checkCopy(t, inf, client)
			if err := client.Delete(patient(t), "mark", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestMetadataOnlyCopy(t *testing.T) {
	c, ns := shared(t)
	fill(t, c, ns, 100, 1000)
	client := metadata.NewForConfigOrDie(c.Config()).Resource(cluster.Widgets).Namespace(ns)
	for _, tc := range []struct {
		name string
		opts reflector.Options
		want listing
	}{
		{"streaming", reflector.Options{Streaming: reflector.StreamingOn}, listing{streams: 1}},
		{"pages", reflector.Options{Streaming: reflector.StreamingOff, PageSize: 25}, listing{pages: 4}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.Gate.Requests()
			inf := start(t, listwatch.For[*metav1.PartialObjectMetadata](client), informer.Options[*metav1.PartialObjectMetadata]{Reflector: tc.opts})
			waitSynced(t, inf)
			if got, whole := listings(c.Gate.Requests(), "25"); got != tc.want || whole != 0 {
				t.Errorf("listed by %+v and %d whole lists, want %+v", got, whole, tc.want)
			}
			want := onServer(t, widgets(c, ns))
			if inf.Len() != len(want) {
				t.Errorf("%d objects, want %d", inf.Len(), len(want))
			}
			for key, got := range inf.Snapshot().All() {
				if w := want[key]; w == nil || got.UID != w.GetUID() || got.ResourceVersion != w.GetResourceVersion() || !maps.Equal(got.Labels, w.GetLabels()) {
					t.Errorf("%s is %v, want the metadata of %v", key, got, w)
				}
			}
			if err := setSize(patient(t), widgets(c, ns), "w7", int64(1000+len(tc.name))); err != nil {
				t.Fatal(err)
			}
			catchUp(t, inf, widgets(c, ns))
			now := onServer(t, widgets(c, ns))[ns+"/w7"]
			if got, _ := inf.Get(ns + "/w7"); got.ResourceVersion != now.GetResourceVersion() {
				t.Errorf("w7 is at %s, want %s", got.ResourceVersion, now.GetResourceVersion())
			}
			if err := widgets(c, ns).Delete(patient(t), "mark", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSelectorsChooseOnTheServer(t *testing.T) {
	c, ns := shared(t)
	fill(t, c, ns, 30, 10)
	client := widgets(c, ns)
	all := listwatch.For[*unstructured.Unstructured](client)
	for name, source := range map[string]listwatch.Source[*unstructured.Unstructured]{
		"by label": listwatch.Narrow(all, labels.SelectorFromSet(labels.Set{"color": "red"}), nil),
		"by field": listwatch.Narrow(all, nil, fields.OneTermEqualSelector("spec.color", "red")),
	} {
		t.Run(name, func(t *testing.T) {
			inf := start(t, source, informer.Options[*unstructured.Unstructured]{})
			told := newRecorder()
			inf.AddHandler(told.handler(), informer.HandlerOptions{})
			waitSynced(t, inf)
			if inf.Len() != 10 {
				t.Errorf("%d objects, want the 10 red ones", inf.Len())
			}
			// w0 leaves the selection and comes back: for a copy that is a deletion and an addition.
			for _, color := range []string{"blue", "red"} {
				patch := []byte(`{"metadata":{"labels":{"color":"` + color + `"}},"spec":{"color":"` + color + `"}}`)
				if _, err := client.Patch(patient(t), "w0", mergePatch, patch, metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			events, err := told.wait(patient(t), func(e []informer.Event[*unstructured.Unstructured]) bool { return len(e) >= 12 })
			if err != nil {
				t.Fatal(err)
			}
			var types []informer.EventType
			for _, e := range events[10:] {
				if e.Key != ns+"/w0" {
					t.Errorf("unexpected event of %s", e.Key)
				}
				types = append(types, e.Type)
			}
			if want := []informer.EventType{informer.Deleted, informer.Added}; !slices.Equal(types, want) {
				t.Errorf("w0: %v, want %v", types, want)
			}
		})
	}
}

// A server whose watch cache is off streams lists out of etcd, pages always, and forgets history as soon as etcd is compacted.
func TestCopyWithoutTheServersWatchCache(t *testing.T) {
	c := cluster.Start(t, cluster.Options{NoWatchCache: true, Logs: *serverLogs})
	fill(t, c, "default", 120, 100)
	client := widgets(c, "default")
	for _, tc := range []struct {
		name string
		opts reflector.Options
		want listing
	}{
		{"streaming", reflector.Options{Streaming: reflector.StreamingOn}, listing{streams: 1}},
		{"pages", reflector.Options{Streaming: reflector.StreamingOff, PageSize: 50}, listing{pages: 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c.Gate.Requests()
			inf := start(t, listwatch.For[*unstructured.Unstructured](client), informer.Options[*unstructured.Unstructured]{Reflector: tc.opts})
			waitSynced(t, inf)
			if got, whole := listings(c.Gate.Requests(), "50"); got != tc.want || whole != 0 {
				t.Errorf("listed by %+v and %d whole lists, want %+v", got, whole, tc.want)
			}
			checkCopy(t, inf, client)
			if tc.want.pages > 0 {
				testHistoryGone(t, c, client, inf, func() error { return nil })
			}
		})
	}
}
