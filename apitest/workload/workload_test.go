package workload_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/apitest/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, opts workload.Options) (*apitest.Server, *workload.Workload) {
	t.Helper()
	s := apitest.NewServer(apitest.Options{Seed: 1})
	t.Cleanup(s.Close)
	w, err := workload.New(s, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s, w
}

func step(t *testing.T, w *workload.Workload) {
	t.Helper()
	if err := w.Step(); err != nil {
		t.Fatal(err)
	}
}

func list(t *testing.T, s *apitest.Server) []*corev1.Pod {
	t.Helper()
	all, err := apitest.List[*corev1.Pod](s, workload.Pods, "")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestSameSeedMakesTheSameWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for the same clock
		run := func(seed uint64) []*corev1.Pod {
			s, w := start(t, workload.Options{Seed: seed})
			for range 500 {
				step(t, w)
			}
			return list(t, s)
		}
		first := run(7)
		if d := cmp.Diff(first, run(7)); d != "" {
			t.Errorf("two runs of one seed differ:\n%s", d)
		}
		if cmp.Equal(first, run(8)) {
			t.Error("another seed made the same")
		}
	})
}

func TestEachStepIsOneWriteWithinBounds(t *testing.T) {
	opts := workload.Options{Nodes: 2, Deployments: 3, Namespaces: 2, MaxReplicas: 4}
	s, w := start(t, opts)
	started, scheduled, running, gone := map[string]bool{}, 0, 0, 0
	for i := range 2000 {
		step(t, w)
		if i%5 != 0 {
			continue
		}
		now := list(t, s)
		if len(now) > opts.Deployments*opts.MaxReplicas {
			t.Fatalf("%d pods", len(now))
		}
		scheduled, running = 0, 0
		here := map[string]bool{}
		for _, p := range now {
			here[p.Name] = true
			started[p.Name] = true
			if p.Spec.NodeName != "" {
				scheduled++
			}
			if p.Status.Phase == corev1.PodRunning {
				running++
			}
			if len(p.OwnerReferences) != 1 || p.Labels["app"] != p.OwnerReferences[0].Name {
				t.Fatalf("pod without owner or label: %+v", p.ObjectMeta)
			}
		}
		gone = len(started) - len(here)
	}
	if scheduled == 0 || running == 0 || gone == 0 {
		t.Errorf("scheduled %d, running %d, gone %d: each must happen", scheduled, running, gone)
	}
	if got := s.ResourceVersion(); got != "2008" { // 1, then 2 namespaces, 2 nodes, 3 deployments, 2000 steps
		t.Errorf("resource version %s, want one write per step: 2008", got)
	}
}

func TestOthersMayDelete(t *testing.T) {
	s, w := start(t, workload.Options{Seed: 3})
	for i := range 1000 {
		step(t, w)
		if all := list(t, s); i%10 == 0 && len(all) > 0 {
			if _, err := apitest.Delete(s, all[i%len(all)]); err != nil {
				t.Fatal(err)
			}
		}
	}
	ds, err := apitest.List[*appsv1.Deployment](s, workload.Deployments, "")
	if err != nil || len(ds) != 6 {
		t.Fatalf("%d deployments, %v", len(ds), err)
	}
	ns, err := apitest.List[*corev1.Node](s, workload.Nodes, "")
	if err != nil || len(ns) != 5 {
		t.Fatalf("%d nodes, %v", len(ns), err)
	}
}

func TestRunKeepsItsRateUntilCancelled(t *testing.T) {
	for rate, seconds := range map[float64]int{2: 10, 100: 5, 2500: 1} {
		synctest.Test(t, func(t *testing.T) {
			s, w := start(t, workload.Options{})
			stop := errors.New("enough")
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Duration(seconds)*time.Second+time.Millisecond, stop)
			defer cancel()
			if err := w.Run(ctx, rate); !errors.Is(err, stop) {
				t.Errorf("Run returned %v, want the context's cause", err)
			}
			want := 15 + int(float64(seconds)*rate) // 1, then 3 namespaces, 5 nodes, 6 deployments, the steps
			if got := s.ResourceVersion(); got != strconv.Itoa(want) {
				t.Errorf("rate %v: resource version %s, want %d", rate, got, want)
			}
		})
	}
}

func TestRunNeedsARate(t *testing.T) {
	_, w := start(t, workload.Options{})
	if err := w.Run(t.Context(), 0); err == nil {
		t.Error("no error")
	}
}

func TestEveryWriteIsTold(t *testing.T) {
	var last int
	told := map[string]int{}
	ready, rolledOut := false, false
	s, w := start(t, workload.Options{Seed: 2, Running: true, Wrote: func(resource schema.GroupVersionResource, obj metav1.Object) {
		rv, err := strconv.Atoi(obj.GetResourceVersion())
		if err != nil || last > 0 && rv != last+1 {
			t.Fatalf("%s at %q told after %d", obj.GetName(), obj.GetResourceVersion(), last)
		}
		last = rv
		told[resource.Resource]++
		if d, ok := obj.(*appsv1.Deployment); ok {
			ready = ready || d.Status.ReadyReplicas > 0 && d.Status.ObservedGeneration == d.Generation
			rolledOut = rolledOut || !strings.HasSuffix(d.Spec.Template.Spec.Containers[0].Image, ":1")
		}
	}})
	first := list(t, s)
	if len(first) < 6 || told["pods"] != len(first) {
		t.Errorf("%d pods at the start, %d told", len(first), told["pods"])
	}
	for _, p := range first {
		if p.Spec.NodeName == "" || p.Status.Phase != corev1.PodRunning {
			t.Errorf("%s does not run at the start", p.Name)
		}
	}
	for range 1000 {
		step(t, w)
	}
	if got := s.ResourceVersion(); got != strconv.Itoa(last) {
		t.Errorf("resource version %s, told up to %d", got, last)
	}
	for _, resource := range []string{"nodes", "deployments", "pods"} {
		if told[resource] < 50 {
			t.Errorf("only %d writes of %s", told[resource], resource)
		}
	}
	if !ready || !rolledOut {
		t.Errorf("a status was reported: %v, an image rolled out: %v", ready, rolledOut)
	}
	outdated := 0
	for _, p := range list(t, s) {
		d, err := apitest.Get[*appsv1.Deployment](s, workload.Deployments, p.Namespace, p.Labels["app"])
		if err != nil {
			t.Fatal(err)
		}
		if p.Spec.Containers[0].Image != d.Spec.Template.Spec.Containers[0].Image {
			outdated++
		}
	}
	if all := len(list(t, s)); outdated > all/2 {
		t.Errorf("%d of %d pods have an old image", outdated, all)
	}
}
