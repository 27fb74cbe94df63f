package cache

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var podsResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// recordedMetrics is a provider of metrics that are remembered.
type recordedMetrics struct {
	queued, latency, version []float64
}

type recorder struct{ values *[]float64 }

func (r recorder) Set(v float64)     { *r.values = append(*r.values, v) }
func (r recorder) Observe(v float64) { *r.values = append(*r.values, v) }

func (m *recordedMetrics) NewQueuedItemMetric(InformerNameAndResource) GaugeMetric {
	return recorder{&m.queued}
}
func (m *recordedMetrics) NewProcessingLatencyMetric(InformerNameAndResource) HistogramMetric {
	return recorder{&m.latency}
}
func (m *recordedMetrics) NewStoreResourceVersionMetric(InformerNameAndResource) GaugeMetric {
	return recorder{&m.version}
}

func TestInformerNamesAreUniqueWhileTheyAreInUse(t *testing.T) {
	if _, err := NewInformerName(""); err == nil {
		t.Error("an empty name is none")
	}
	name, err := NewInformerName(t.Name())
	succeed(t, err)
	check(t, "name", t.Name(), name.Name())
	if _, err := NewInformerName(t.Name()); err == nil {
		t.Error("a name is taken twice")
	}
	name.Release()
	second, err := NewInformerName(t.Name())
	succeed(t, err)
	name.Release() // no matter how often: it is not its own any more
	if _, err := NewInformerName(t.Name()); err == nil {
		t.Error("a name is released by who had it before")
	}
	ResetInformerNamesForTesting()
	third, err := NewInformerName(t.Name())
	succeed(t, err)
	second.Release()
	if _, err := NewInformerName(t.Name()); err == nil {
		t.Error("a name is released by who had it before it was forgotten")
	}
	third.Release()
}

func TestOnlyTheFirstOfANameAndResourceIsReserved(t *testing.T) {
	name, err := NewInformerName(t.Name())
	succeed(t, err)
	first, second := name.WithResource(podsResource), name.WithResource(podsResource)
	check(t, "first", true, first.Reserved())
	check(t, "second", false, second.Reserved())
	check(t, "name", t.Name(), second.Name())
	check(t, "resource", podsResource, second.GroupVersionResource())
	check(t, "another resource", true, name.WithResource(schema.GroupVersionResource{Resource: "nodes"}).Reserved())
	name.Release()
	check(t, "released", false, first.Reserved())
}

func TestNoInformerName(t *testing.T) {
	var none *InformerName
	none.Release()
	check(t, "name", "", none.Name())
	check(t, "reserved", false, none.WithResource(podsResource).Reserved())
	check(t, "zero", false, InformerNameAndResource{}.Reserved())
	check(t, "zero name", "", InformerNameAndResource{}.Name())
}

func TestMetricsOnlyForAReservedIdentity(t *testing.T) {
	metrics := &recordedMetrics{}
	store := NewStore(MetaNamespaceKeyFunc, WithStoreMetrics(InformerNameAndResource{}, metrics))
	succeed(t, store.Add(newPod("a", "1")))
	check(t, "published", 0, len(metrics.version))
}

func TestSetInformerMetricsProviderIsForThoseWithoutTheirOwn(t *testing.T) {
	before := informerMetrics.Swap(nil)
	defer informerMetrics.Store(before)
	process, late, own := &recordedMetrics{}, &recordedMetrics{}, &recordedMetrics{}
	SetInformerMetricsProvider(process)
	SetInformerMetricsProvider(late) // only the first call has an effect
	name, err := NewInformerName(t.Name())
	succeed(t, err)
	defer name.Release()
	succeed(t, NewStore(MetaNamespaceKeyFunc, WithStoreMetrics(name.WithResource(podsResource), nil)).Add(newPod("a", "5")))
	nodes := name.WithResource(schema.GroupVersionResource{Resource: "nodes"})
	succeed(t, NewStore(MetaNamespaceKeyFunc, WithStoreMetrics(nodes, own)).Add(newPod("a", "6")))
	check(t, "of the process", []float64{5}, process.version)
	check(t, "late", 0, len(late.version))
	check(t, "own", []float64{6}, own.version)
}
