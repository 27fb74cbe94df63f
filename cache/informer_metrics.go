package cache

import (
	"sync/atomic"
	"time"
)

// GaugeMetric is a number that goes up and down.
type GaugeMetric interface {
	Set(float64)
}

// HistogramMetric counts observations in buckets.
type HistogramMetric interface {
	Observe(float64)
}

// InformerMetricsProvider makes the metrics of informers' queues and stores. They are updated on every change of a
// queue or store, one at a time for each, so they must be quick; and only while the identity is Reserved.
type InformerMetricsProvider interface {
	// NewQueuedItemMetric: items waiting in the queue now. For a [DeltaFIFO] keys, for a [RealFIFO] single deltas.
	NewQueuedItemMetric(id InformerNameAndResource) GaugeMetric
	// NewProcessingLatencyMetric: seconds from popping an item (or batch) to the end of its processing.
	NewProcessingLatencyMetric(id InformerNameAndResource) HistogramMetric
	// NewStoreResourceVersionMetric: the resource version of the store, if it is a number.
	NewStoreResourceVersionMetric(id InformerNameAndResource) GaugeMetric
}

// informerMetrics is the provider for all who are not given one. The first call to set it wins.
var informerMetrics atomic.Pointer[InformerMetricsProvider]

// SetInformerMetricsProvider sets the provider for what is made from now on without one of its own. Only the first
// call has an effect.
func SetInformerMetricsProvider(metricsProvider InformerMetricsProvider) {
	informerMetrics.CompareAndSwap(nil, &metricsProvider)
}

// providerFor returns who makes the metrics of id: nil if nobody does.
func providerFor(id InformerNameAndResource, own InformerMetricsProvider) InformerMetricsProvider {
	if !id.Reserved() {
		return nil
	}
	if own != nil {
		return own
	}
	if process := informerMetrics.Load(); process != nil {
		return *process
	}
	return nil
}

// reservedGauge is a gauge that falls silent when its identity is released. The zero value is silent always.
type reservedGauge struct {
	id    InformerNameAndResource
	gauge GaugeMetric
}

func (g reservedGauge) set(v float64) {
	if g.gauge != nil && g.id.Reserved() {
		g.gauge.Set(v)
	}
}

// queueMetrics are a queue's. The zero value publishes nothing.
type queueMetrics struct {
	queued  reservedGauge
	latency HistogramMetric
}

func newQueueMetrics(id InformerNameAndResource, own InformerMetricsProvider) queueMetrics {
	provider := providerFor(id, own)
	if provider == nil {
		return queueMetrics{}
	}
	return queueMetrics{
		queued:  reservedGauge{id, provider.NewQueuedItemMetric(id)},
		latency: provider.NewProcessingLatencyMetric(id),
	}
}

func newStoreMetric(id InformerNameAndResource, own InformerMetricsProvider) reservedGauge {
	provider := providerFor(id, own)
	if provider == nil {
		return reservedGauge{}
	}
	return reservedGauge{id, provider.NewStoreResourceVersionMetric(id)}
}

// observe adds a time of processing.
func (m queueMetrics) observe(seconds float64) {
	if m.latency != nil && m.queued.id.Reserved() {
		m.latency.Observe(seconds)
	}
}

// start returns what processed takes.
func (m queueMetrics) start() (start time.Time) {
	if m.latency != nil {
		start = time.Now()
	}
	return start
}

// processed observes the time since start.
func (m queueMetrics) processed(start time.Time) {
	if m.latency != nil {
		m.observe(time.Since(start).Seconds())
	}
}
