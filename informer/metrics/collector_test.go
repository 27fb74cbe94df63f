package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/informer/metrics"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	goleak.VerifyTestMain(m)
}

func newInformer(t testing.TB, server *apitest.Server, name string) *informer.Informer[*corev1.ConfigMap] {
	t.Helper()
	source := apitest.Source[*corev1.ConfigMap](server, corev1.SchemeGroupVersion.WithResource("configmaps"), "")
	i, err := informer.New(source, informer.Options[*corev1.ConfigMap]{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestStatusIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apitest.NewServer(apitest.Options{})
		defer server.Close()
		i := newInformer(t, server, "maps")
		block := make(chan struct{})
		i.AddHandler(informer.Handler[*corev1.ConfigMap]{Added: func(*corev1.ConfigMap) { <-block }}, informer.HandlerOptions{Name: "slow"})
		i.AddHandler(informer.Handler[*corev1.ConfigMap]{Added: func(*corev1.ConfigMap) { panic("on purpose") }}, informer.HandlerOptions{Name: "panics"})
		for n := range 3 {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprint(n)}}
			if _, err := apitest.Create(server, obj); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- i.Run(ctx) }()
		synctest.Wait()

		var c metrics.Collector
		if _, err := c.Add(i); err != nil {
			t.Fatal(err)
		}
		want := `
# HELP informerkit_handler_backlog_changes Changes, or objects, that the handler has not been told yet.
# TYPE informerkit_handler_backlog_changes gauge
informerkit_handler_backlog_changes{handler="panics",informer="maps"} 0
informerkit_handler_backlog_changes{handler="slow",informer="maps"} 2
# HELP informerkit_handler_panics_total Calls that panicked.
# TYPE informerkit_handler_panics_total counter
informerkit_handler_panics_total{handler="panics",informer="maps"} 3
informerkit_handler_panics_total{handler="slow",informer="maps"} 0
# HELP informerkit_handler_synced 1 once everything of the first list was handled.
# TYPE informerkit_handler_synced gauge
informerkit_handler_synced{handler="panics",informer="maps"} 1
informerkit_handler_synced{handler="slow",informer="maps"} 0
# HELP informerkit_informer_lists_total Complete lists.
# TYPE informerkit_informer_lists_total counter
informerkit_informer_lists_total{informer="maps"} 1
# HELP informerkit_informer_objects Objects in the store.
# TYPE informerkit_informer_objects gauge
informerkit_informer_objects{informer="maps"} 3
# HELP informerkit_informer_synced 1 once the first list is stored.
# TYPE informerkit_informer_synced gauge
informerkit_informer_synced{informer="maps"} 1
`
		names := []string{
			"informerkit_handler_backlog_changes", "informerkit_handler_panics_total", "informerkit_handler_synced",
			"informerkit_informer_lists_total", "informerkit_informer_objects", "informerkit_informer_synced",
		}
		if err := testutil.CollectAndCompare(&c, strings.NewReader(want), names...); err != nil {
			t.Error(err)
		}
		if problems, err := testutil.CollectAndLint(&c); err != nil || len(problems) != 0 {
			t.Errorf("lint: %v, %v", problems, err)
		}
		close(block)
		cancel()
		<-done
	})
}

// Informers that were taken out leave no series behind.
func TestSeriesEndWithTheirInformer(t *testing.T) {
	server := apitest.NewServer(apitest.Options{})
	defer server.Close()
	var c metrics.Collector
	registry := prometheus.NewRegistry()
	registry.MustRegister(&c)
	count := func() int {
		n, err := testutil.GatherAndCount(registry)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := c.Add(newInformer(t, server, "stays")); err != nil {
		t.Fatal(err)
	}
	base := count()
	if base == 0 {
		t.Fatal("nothing is published")
	}
	var removes []func()
	for n := range 1000 {
		i := newInformer(t, server, fmt.Sprint("passing-", n))
		remove, err := c.Add(i)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := i.Run(ctx); err != nil {
			t.Fatal(err)
		}
		removes = append(removes, remove)
	}
	if n := count(); n != 1001*base {
		t.Errorf("%d series with 1,001 informers, want %d", n, 1001*base)
	}
	for _, remove := range removes {
		remove()
		remove() // again is fine
	}
	if n := count(); n != base {
		t.Errorf("%d series at the end, %d at the start", n, base)
	}
}

func TestNamesAreUnique(t *testing.T) {
	server := apitest.NewServer(apitest.Options{})
	defer server.Close()
	var c metrics.Collector
	remove, err := c.Add(newInformer(t, server, "maps"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Add(newInformer(t, server, "maps")); !errors.Is(err, metrics.ErrNameTaken) || !strings.Contains(err.Error(), "maps") {
		t.Errorf("error is %v", err)
	}
	remove()
	if _, err := c.Add(newInformer(t, server, "maps")); err != nil {
		t.Error(err)
	}
	remove() // of the former one
	if n := testutil.CollectAndCount(&c); n == 0 {
		t.Error("removing the former informer removed its successor")
	}
}

func ExampleCollector() {
	server := apitest.NewServer(apitest.Options{})
	defer server.Close()
	source := apitest.Source[*corev1.Pod](server, corev1.SchemeGroupVersion.WithResource("pods"), "")
	pods, err := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods"})
	if err != nil {
		panic(err)
	}
	var collector metrics.Collector
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector)
	remove, err := collector.Add(pods)
	if err != nil {
		panic(err)
	}
	defer remove()
	families, err := registry.Gather()
	if err != nil {
		panic(err)
	}
	fmt.Println(len(families), "metrics, the first is", families[0].GetName())
	// Output: 7 metrics, the first is informerkit_informer_confirmed_timestamp_seconds
}
