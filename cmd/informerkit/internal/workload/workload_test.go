package workload

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
)

var start = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

func list[T runtime.Object](t *testing.T, s *apitest.Server, resource schema.GroupVersionResource) []T {
	t.Helper()
	items, err := apitest.List[T](s, resource, "")
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// run makes steps of a second's tenth each.
func run(t *testing.T, opts Options, steps int, check func(Write)) *apitest.Server {
	t.Helper()
	server := apitest.NewServer(apitest.Options{Seed: opts.Seed})
	t.Cleanup(server.Close)
	w, writes, err := New(server, opts, start)
	if err != nil {
		t.Fatal(err)
	}
	for _, wr := range writes {
		check(wr)
	}
	for i := range steps {
		wr, err := w.Step(start.Add(time.Duration(i) * time.Second / 10))
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		check(wr)
	}
	return server
}

func TestEachStepIsOneWriteAndObjectsAreBounded(t *testing.T) {
	for seed := range uint64(3) {
		var last, count uint64
		var server *apitest.Server
		byResource := map[schema.GroupVersionResource]int{}
		server = run(t, Options{Seed: seed, Deployments: 8, Nodes: 3}, 1500, func(wr Write) {
			if count++; wr.ResourceVersion <= last {
				t.Fatalf("write %d has resource version %d after %d", count, wr.ResourceVersion, last)
			}
			last = wr.ResourceVersion
			byResource[wr.Resource]++
		})
		if got := server.ResourceVersion(); got != strconv.FormatUint(last, 10) {
			t.Errorf("the server is at %s, the last write told is %d", got, last)
		}
		if last != count+1 { // the server starts at 1
			t.Errorf("%d writes told, resource version %d: some were not told", count, last)
		}
		for _, r := range []schema.GroupVersionResource{Nodes, Deployments, Pods} {
			if byResource[r] < 150 {
				t.Errorf("only %d writes of %s", byResource[r], r.Resource)
			}
		}
		if n := len(list[*corev1.Node](t, server, Nodes)); n != 3 {
			t.Errorf("%d nodes", n)
		}
		deployments := list[*appsv1.Deployment](t, server, Deployments)
		if len(deployments) != 8 {
			t.Errorf("%d deployments", len(deployments))
		}
		pods := map[string]int{}
		for _, p := range list[*corev1.Pod](t, server, Pods) {
			pods[p.Namespace+"/"+p.Labels["app"]]++
		}
		for _, d := range deployments {
			key := d.Namespace + "/" + d.Name
			if n := pods[key]; n == 0 || n > maxReplicas+1 {
				t.Errorf("%s has %d pods", key, n)
			}
			delete(pods, key)
		}
		if len(pods) > 0 {
			t.Errorf("pods without deployment: %v", pods)
		}
	}
}

func TestSameSeedSameWrites(t *testing.T) {
	state := func(seed uint64) string {
		server := run(t, Options{Seed: seed}, 500, func(Write) {})
		var out []byte
		for _, p := range list[*corev1.Pod](t, server, Pods) {
			// Creation times are the server's.
			text, err := json.Marshal([]any{p.Name, p.UID, p.ResourceVersion, p.Spec, p.Status})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, text...)
		}
		return string(out)
	}
	if state(7) != state(7) {
		t.Error("the same seed made other writes")
	}
	if state(7) == state(8) {
		t.Error("another seed made the same writes")
	}
}

func TestPodsComeRunAndGo(t *testing.T) {
	server := apitest.NewServer(apitest.Options{})
	t.Cleanup(server.Close)
	w, _, err := New(server, Options{}, start)
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]bool{}
	for _, p := range list[*corev1.Pod](t, server, Pods) {
		before[p.Name] = true
	}
	for i := range 1000 {
		if _, err := w.Step(start.Add(time.Duration(i) * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	stayed, running := 0, 0
	pods := list[*corev1.Pod](t, server, Pods)
	for _, p := range pods {
		if before[p.Name] {
			stayed++
		}
		if p.Status.Phase == corev1.PodRunning && p.Spec.NodeName != "" && p.Status.PodIP != "" {
			running++
		}
	}
	if stayed == len(before) {
		t.Error("no pod ever went")
	}
	if running < len(pods)/2 {
		t.Errorf("%d of %d pods run", running, len(pods))
	}
}

func TestOptionsAreChecked(t *testing.T) {
	server := apitest.NewServer(apitest.Options{})
	t.Cleanup(server.Close)
	if _, _, err := New(server, Options{Nodes: -1}, start); err == nil {
		t.Error("no error for a negative number of nodes")
	}
}
