package cache

import (
	"bytes"
	"flag"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

var podsGroupResource = schema.GroupResource{Group: "example.org", Resource: "pods"}

func newLabelledPod(key, app string) *corev1.Pod {
	pod := newPod(key, "1")
	pod.Labels = map[string]string{"app": app}
	return pod
}

// podIndexers have the same pods, with and without the namespace index.
func podIndexers(t *testing.T) map[string]Indexer {
	indexers := map[string]Indexer{
		"with the index":    NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc}),
		"without the index": NewIndexer(MetaNamespaceKeyFunc, nil),
	}
	for _, indexer := range indexers {
		succeed(t, indexer.Replace([]any{
			newLabelledPod("n/a", "web"), newLabelledPod("n/b", "db"), newLabelledPod("m/a", "web"), newLabelledPod("cluster", "web"),
		}, "1"))
	}
	return indexers
}

func appSelector(app string) labels.Selector { return labels.SelectorFromSet(labels.Set{"app": app}) }

func TestListBySelectorAndNamespace(t *testing.T) {
	for name, indexer := range podIndexers(t) {
		for _, test := range []struct {
			namespace string
			selector  labels.Selector
			want      []string
		}{
			{"", labels.Everything(), []string{"cluster@1", "m/a@1", "n/a@1", "n/b@1"}},
			{"", nil, []string{"cluster@1", "m/a@1", "n/a@1", "n/b@1"}},
			{"", appSelector("web"), []string{"cluster@1", "m/a@1", "n/a@1"}},
			{"", labels.Nothing(), []string{}},
			{"n", labels.Everything(), []string{"n/a@1", "n/b@1"}},
			{"n", nil, []string{"n/a@1", "n/b@1"}},
			{"n", appSelector("web"), []string{"n/a@1"}},
			{"n", labels.Nothing(), []string{}},
			{"none", labels.Everything(), []string{}},
		} {
			var got []any
			succeed(t, ListAllByNamespace(indexer, test.namespace, test.selector, func(obj any) { got = append(got, obj) }))
			check(t, name, test.want, sortedStatesOrEmpty(got))
			if test.namespace == "" {
				got = nil
				succeed(t, ListAll(indexer, test.selector, func(obj any) { got = append(got, obj) }))
				check(t, "ListAll", test.want, sortedStatesOrEmpty(got))
			}
		}
	}
}

// unlabelled is an object whose labels nobody may ask for.
type unlabelled struct {
	corev1.Pod
	t *testing.T
}

func (u *unlabelled) GetLabels() map[string]string {
	u.t.Error("labels are evaluated")
	return nil
}

func TestAnEmptySelectorEvaluatesNoLabels(t *testing.T) {
	indexer := NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc})
	succeed(t, indexer.Add(&unlabelled{Pod: *newPod("n/a", "1"), t: t}))
	n := 0
	count := func(any) { n++ }
	succeed(t,
		ListAll(indexer, labels.Everything(), count),
		ListAll(indexer, labels.NewSelector(), count),
		ListAllByNamespace(indexer, "n", labels.Everything(), count),
		ListAllByNamespace(indexer, "", nil, count))
	check(t, "listed", 4, n)
}

func TestWithoutTheNamespaceIndexNothingIsLogged(t *testing.T) {
	var log bytes.Buffer
	restore := captureLog(t, &log)
	defer restore()
	for range 10 {
		succeed(t, ListAllByNamespace(podIndexers(t)["without the index"], "n", appSelector("web"), func(any) {}))
	}
	klog.Flush()
	check(t, "log", "", log.String())
}

// captureLog has klog write to w, in all verbosity.
func captureLog(t *testing.T, w io.Writer) (restore func()) {
	state := klog.CaptureState()
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	succeed(t, flags.Set("logtostderr", "false"), flags.Set("alsologtostderr", "false"), flags.Set("v", "9"))
	klog.SetOutput(w)
	return func() {
		klog.Flush()
		state.Restore()
	}
}

func TestObjectsWithoutMetadataAreAnErrorOnlyIfTheyHaveToBeLookedAt(t *testing.T) {
	for name, indexers := range map[string]Indexers{"with the index": {NamespaceIndex: MetaNamespaceIndexFunc}, "without": nil} {
		indexer := NewIndexer(MetaNamespaceKeyFunc, indexers)
		succeed(t, indexer.Add(ExplicitKey("odd")))
		ignore := func(any) {}
		succeed(t, ListAll(indexer, labels.Everything(), ignore))
		if err := ListAll(indexer, appSelector("web"), ignore); err == nil {
			t.Errorf("%s: selected by labels it does not have", name)
		}
		if err := ListAllByNamespace(indexer, "n", labels.Everything(), ignore); (err != nil) != (name == "without") {
			t.Errorf("%s: by namespace: %v", name, err)
		}
	}
}

func TestGenericLister(t *testing.T) {
	for name, indexer := range podIndexers(t) {
		t.Run(name, func(t *testing.T) {
			lister := NewGenericLister(indexer, podsGroupResource)
			objs, err := lister.List(appSelector("web"))
			succeed(t, err)
			check(t, "list", []string{"cluster@1", "m/a@1", "n/a@1"}, sortedStates(objs))
			objs, err = lister.ByNamespace("n").List(labels.Everything())
			succeed(t, err)
			check(t, "list of a namespace", []string{"n/a@1", "n/b@1"}, sortedStates(objs))
			obj, err := lister.Get("cluster")
			succeed(t, err)
			check(t, "get", "cluster@1", state(obj))
			obj, err = lister.ByNamespace("m").Get("a")
			succeed(t, err)
			check(t, "get in a namespace", "m/a@1", state(obj))

			_, err1 := lister.Get("a")
			_, err2 := lister.ByNamespace("m").Get("b")
			for _, err := range []error{err1, err2} {
				if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "pods.example.org") {
					t.Errorf("got %v, want a NotFound with the resource's name", err)
				}
			}
		})
	}
}

func TestGenericListerOfWhatIsNoObject(t *testing.T) {
	indexer := NewIndexer(MetaNamespaceKeyFunc, nil)
	succeed(t, indexer.Add(ExplicitKey("odd")))
	lister := NewGenericLister(indexer, podsGroupResource)
	if objs, err := lister.List(labels.Everything()); err == nil {
		t.Errorf("lists %v", objs)
	}
	if obj, err := lister.Get("odd"); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("gets %v, %v", obj, err)
	}
}
