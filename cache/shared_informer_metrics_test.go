package cache

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/apitest"
)

// meters is a provider of all metrics, which notes what they are told.
type meters struct {
	mu     sync.Mutex // guards values
	values map[string][]float64
}

func newMeters() *meters { return &meters{values: map[string][]float64{}} }

type meter struct {
	of   *meters
	name string
}

func (m meter) note(v float64) {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	m.of.values[m.name] = append(m.of.values[m.name], v)
}

func (m meter) Inc()              { m.note(1) }
func (m meter) Set(v float64)     { m.note(v) }
func (m meter) Observe(v float64) { m.note(v) }

func (m *meters) get(name string) []float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]float64{}, m.values[name]...)
}

func (m *meters) last(name string) float64 {
	values := m.get(name)
	if len(values) == 0 {
		return -1
	}
	return values[len(values)-1]
}

func (m *meters) names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.values))
}

func (m *meters) NewQueuedItemMetric(InformerNameAndResource) GaugeMetric { return meter{m, "queued"} }
func (m *meters) NewProcessingLatencyMetric(InformerNameAndResource) HistogramMetric {
	return meter{m, "latency"}
}
func (m *meters) NewStoreResourceVersionMetric(InformerNameAndResource) GaugeMetric {
	return meter{m, "store"}
}

func (m *meters) NewListsMetric(string) CounterMetric             { return meter{m, "lists"} }
func (m *meters) NewListDurationMetric(string) SummaryMetric      { return meter{m, "list seconds"} }
func (m *meters) NewItemsInListMetric(string) SummaryMetric       { return meter{m, "items in list"} }
func (m *meters) NewWatchesMetric(string) CounterMetric           { return meter{m, "watches"} }
func (m *meters) NewShortWatchesMetric(string) CounterMetric      { return meter{m, "short watches"} }
func (m *meters) NewWatchDurationMetric(string) SummaryMetric     { return meter{m, "watch seconds"} }
func (m *meters) NewItemsInWatchMetric(string) SummaryMetric      { return meter{m, "items in watch"} }
func (m *meters) NewLastResourceVersionMetric(string) GaugeMetric { return meter{m, "received"} }

// identity reserves a name for metrics until the test ends.
func identity(t *testing.T) InformerNameAndResource {
	t.Helper()
	name, err := NewInformerName(t.Name())
	succeed(t, err)
	t.Cleanup(name.Release)
	return name.WithResource(podsResource)
}

func resourceVersionNumber(t *testing.T, s *podServer) float64 {
	t.Helper()
	var n float64
	if _, err := fmt.Sscan(s.ResourceVersion(), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSharedInformerFeedsItsMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := newPodServer(t), newMeters()
		s.create("a", "1")
		s.create("b", "1")
		inf := NewSharedIndexInformerWithOptions(s.listerWatcher(), &corev1.Pod{}, SharedIndexInformerOptions{
			Identifier: identity(t), InformerMetricsProvider: m,
		})
		release := make(chan struct{})
		addHandler(t, inf, &callLog{before: func(string) { <-release }})
		addHandler(t, inf, &callLog{})
		start(t, inf.RunWithContext)
		synctest.Wait()
		s.create("c", "1")
		synctest.Wait()
		check(t, "waiting behind the call of the slow handler", 2.0, m.last("queued"))
		check(t, "calls of the other handler measured", 3, len(m.get("latency")))
		check(t, "resource version of the store", resourceVersionNumber(t, s), m.last("store"))

		time.Sleep(5 * time.Second)
		close(release)
		synctest.Wait()
		check(t, "not yet told in the end", 0.0, m.last("queued"))
		check(t, "the slow call", true, slices.Contains(m.get("latency"), 5.0))

		_, err := apitest.Create(s.Server, &corev1.Node{ObjectMeta: podOf("n", "").ObjectMeta})
		if err == nil {
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			check(t, "resource version after a bookmark", resourceVersionNumber(t, s), m.last("store"))
		}
	})
}

func TestInformerFeedsItsMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := newPodServer(t), newMeters()
		s.create("a", "1")
		_, c := NewInformerWithOptions(InformerOptions{
			ListerWatcher: s.listerWatcher(), ObjectType: &corev1.Pod{}, Handler: &callLog{},
			Identifier: identity(t), InformerMetricsProvider: m,
		})
		start(t, c.RunWithContext)
		synctest.Wait()
		check(t, "metrics", []string{"latency", "queued", "store"}, m.names())
		check(t, "queued in the end", 0.0, m.last("queued"))
		check(t, "resource version of the store", resourceVersionNumber(t, s), m.last("store"))
	})
}

func TestMetricsAreOnlyOfReservedNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, m := newPodServer(t), newMeters()
		s.create("a", "1")
		name, err := NewInformerName("a test's")
		succeed(t, err)
		first := name.WithResource(podsResource)
		newInformer := func(id InformerNameAndResource) SharedIndexInformer {
			return NewSharedIndexInformerWithOptions(s.listerWatcher(), &corev1.Pod{}, SharedIndexInformerOptions{
				Identifier: id, InformerMetricsProvider: m,
			})
		}
		unnamed, second, named := newInformer(InformerNameAndResource{}), newInformer(name.WithResource(podsResource)), newInformer(first)
		for _, inf := range []SharedIndexInformer{unnamed, second} {
			addHandler(t, inf, &callLog{})
			start(t, inf.RunWithContext)
			synctest.Wait()
		}
		check(t, "metrics of one without a name and of the second of a name", 0, len(m.names()))
		addHandler(t, named, &callLog{})
		start(t, named.RunWithContext)
		synctest.Wait()
		check(t, "metrics of the first of a name", []string{"latency", "queued", "store"}, m.names())
		name.Release()
		before := len(m.get("latency"))
		s.update("a", "2")
		synctest.Wait()
		check(t, "measured after the release", before, len(m.get("latency")))
	})
}

func TestReflectorFeedsItsMetrics(t *testing.T) {
	for name, lw := range map[string]func(*podServer) ListerWatcher{
		"streaming": (*podServer).listerWatcher,
		"paged":     (*podServer).pagedListerWatcher,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMeters()
			setReflectorMetrics(t, m)
			synctest.Test(t, func(t *testing.T) {
				s := newPodServer(t)
				for _, name := range []string{"a", "b", "c"} {
					s.create(name, "1")
				}
				r := NewReflector(lw(s), &corev1.Pod{}, newStoreLog(), 0)
				r.WatchListPageSize = 2
				start(t, r.RunWithContext)
				synctest.Wait()
				check(t, "lists", 1, len(m.get("lists")))
				check(t, "items in lists", []float64{3}, m.get("items in list"))
				check(t, "list durations", 1, len(m.get("list seconds")))
				check(t, "watches", 1, len(m.get("watches")))
				check(t, "watches that ended", 0, len(m.get("watch seconds")))
				s.create("d", "1")
				time.Sleep(20 * time.Second)
				check(t, "version received", resourceVersionNumber(t, s), m.last("received"))
				s.CloseWatches("pods", nil)
				synctest.Wait()
				check(t, "watches in the end", 2, len(m.get("watches")))
				check(t, "watch durations", []float64{20}, m.get("watch seconds"))
				check(t, "items in watches", []float64{1}, m.get("items in watch"))
				check(t, "short watches", 0, len(m.get("short watches")))
				s.CloseWatches("pods", nil)
				synctest.Wait()
				check(t, "short watches in the end", 1, len(m.get("short watches")))
			})
		})
	}
}

func TestSharedInformerFeedsTheMetricsOfReflectors(t *testing.T) {
	m := newMeters()
	setReflectorMetrics(t, m)
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		start(t, newPodInformer(s).RunWithContext)
		synctest.Wait()
		check(t, "items in lists", []float64{1}, m.get("items in list"))
	})
}

// setReflectorMetrics makes m the provider while the test runs.
func setReflectorMetrics(t *testing.T, m MetricsProvider) {
	before := reflectorMetricsProvider.Swap(nil)
	SetReflectorMetricsProvider(m)
	SetReflectorMetricsProvider(newMeters()) // not the first: without effect
	t.Cleanup(func() { reflectorMetricsProvider.Store(before) })
}
