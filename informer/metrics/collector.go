package metrics

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/informerkit/informerkit/informer"
)

// Informer is what is published: every [informer.Informer] is one.
type Informer interface {
	Name() string
	Status() informer.Status
}

// ErrNameTaken is returned by Add for a second informer of one name: their series could not be told apart.
var ErrNameTaken = errors.New("an informer of that name is published already")

// Collector is a prometheus.Collector of informers. The zero value is empty and ready; register it once. Safe for concurrent use.
type Collector struct {
	mu        sync.Mutex // guards informers
	informers map[string]Informer
}

var _ prometheus.Collector = (*Collector)(nil)

// Add publishes i until remove is called, which may be repeated. The error is [ErrNameTaken].
func (c *Collector) Add(i Informer) (remove func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := i.Name()
	if _, taken := c.informers[name]; taken {
		return nil, fmt.Errorf("metrics: %w: %s", ErrNameTaken, name)
	}
	if c.informers == nil {
		c.informers = map[string]Informer{}
	}
	c.informers[name] = i
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.informers[name] == i {
			delete(c.informers, name)
		}
	}, nil
}

// metric is one series of an informer, or of each of its handlers.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*informer.Status) float64
	of    func(*informer.HandlerStatus) float64 // in place of value
}

const namespace = "informerkit"

func ofInformer(name, help string, value func(*informer.Status) float64) metric {
	return metric{
		desc:  prometheus.NewDesc(prometheus.BuildFQName(namespace, "informer", name), help, []string{"informer"}, nil),
		kind:  kindOf(name),
		value: value,
	}
}

func ofHandler(name, help string, value func(*informer.HandlerStatus) float64) metric {
	return metric{
		desc: prometheus.NewDesc(prometheus.BuildFQName(namespace, "handler", name), help, []string{"informer", "handler"}, nil),
		kind: kindOf(name),
		of:   value,
	}
}

// kindOf goes by Prometheus's naming rules.
func kindOf(name string) prometheus.ValueType {
	if strings.HasSuffix(name, "_total") {
		return prometheus.CounterValue
	}
	return prometheus.GaugeValue
}

// metrics are all that is published. Names and labels are stable.
var metrics = []metric{
	ofInformer("running", "1 while Run runs.", func(s *informer.Status) float64 { return truth(s.Running) }),
	ofInformer("synced", "1 once the first list is stored.", func(s *informer.Status) float64 { return truth(s.Synced) }),
	ofInformer("objects", "Objects in the store.", func(s *informer.Status) float64 { return float64(s.Objects) }),
	ofInformer("quarantined_objects", "Objects that could not be taken in.", func(s *informer.Status) float64 { return float64(len(s.Quarantined)) }),
	ofInformer("lists_total", "Complete lists.", func(s *informer.Status) float64 {
		n := 0
		for _, source := range s.Sources {
			n += source.Reflector.Lists
		}
		return float64(n)
	}),
	ofInformer("failures_in_a_row", "List and watch failures since the last success.", func(s *informer.Status) float64 { return float64(s.Reflector.Attempts) }),
	ofInformer("confirmed_timestamp_seconds", "When the server last confirmed the copy by event, bookmark or list, as Unix time; 0 before the first list.", func(s *informer.Status) float64 {
		if s.Version.Confirmed.IsZero() {
			return 0
		}
		return float64(s.Version.Confirmed.UnixMilli()) / 1000
	}),
	ofHandler("synced", "1 once everything of the first list was handled.", func(h *informer.HandlerStatus) float64 { return truth(h.Synced) }),
	ofHandler("backlog_changes", "Changes, or objects, that the handler has not been told yet.", func(h *informer.HandlerStatus) float64 { return float64(h.Backlog.Changes) }),
	ofHandler("backlog_age_seconds", "How long the oldest of them has waited.", func(h *informer.HandlerStatus) float64 { return h.Backlog.Age.Seconds() }),
	ofHandler("panics_total", "Calls that panicked.", func(h *informer.HandlerStatus) float64 { return float64(h.Panics) }),
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe tells Prometheus what there can be.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, m := range metrics {
		descs <- m.desc
	}
}

// Collect reads the status of every informer. Handlers without a name of their own are published under their number.
func (c *Collector) Collect(samples chan<- prometheus.Metric) {
	c.mu.Lock()
	published := maps.Clone(c.informers)
	c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(published)) {
		status := published[name].Status()
		for _, m := range metrics {
			if m.value != nil {
				samples <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&status), name)
				continue
			}
			told := map[string]bool{} // of handlers with one name, the first
			for n := range status.Handlers {
				if h := &status.Handlers[n]; !told[h.Name] {
					told[h.Name] = true
					samples <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(h), name, h.Name)
				}
			}
		}
	}
}
