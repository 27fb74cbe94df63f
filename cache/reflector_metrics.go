package cache

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/informerkit/informerkit/listwatch"
)

// CounterMetric is a number that only goes up.
type CounterMetric interface {
	Inc()
}

// SummaryMetric takes single observations.
type SummaryMetric interface {
	Observe(float64)
}

// MetricsProvider makes the metrics of reflectors. name is a reflector's, or that of an informer.
type MetricsProvider interface {
	// NewListsMetric: lists asked for in pages, several of which are one, and streaming lists opened.
	NewListsMetric(name string) CounterMetric
	// NewListDurationMetric: seconds from a list's beginning to the last object of it, decoded.
	NewListDurationMetric(name string) SummaryMetric
	// NewItemsInListMetric: objects of a complete list.
	NewItemsInListMetric(name string) SummaryMetric

	// NewWatchesMetric: watches opened. A streaming list goes on as one.
	NewWatchesMetric(name string) CounterMetric
	// NewShortWatchesMetric: watches that ended within a second and without an event.
	NewShortWatchesMetric(name string) CounterMetric
	// NewWatchDurationMetric: seconds a watch lasted.
	NewWatchDurationMetric(name string) SummaryMetric
	// NewItemsInWatchMetric: events of a watch, bookmarks included.
	NewItemsInWatchMetric(name string) SummaryMetric

	// NewLastResourceVersionMetric: the resource version received last, if it is a number.
	NewLastResourceVersionMetric(name string) GaugeMetric
}

// reflectorMetricsProvider makes the metrics of reflectors and informers; nil: nobody does.
var reflectorMetricsProvider atomic.Pointer[MetricsProvider]

// SetReflectorMetricsProvider sets the provider for the reflectors that run from now on. Only the first call has an
// effect.
func SetReflectorMetricsProvider(metricsProvider MetricsProvider) {
	reflectorMetricsProvider.CompareAndSwap(nil, &metricsProvider)
}

// shortWatch is up to when a watch is a short one.
const shortWatch = time.Second

// metered is source with the metrics of its reflector fed, from when there is a provider on.
func metered(source listwatch.Source[any], name string, c clock.PassiveClock) listwatch.Source[any] {
	return &meteredSource{Source: source, name: name, clock: c}
}

type reflectorMetrics struct {
	lists                     CounterMetric
	listDuration, itemsInList SummaryMetric

	watches, shortWatches       CounterMetric
	watchDuration, itemsInWatch SummaryMetric

	lastResourceVersion GaugeMetric
}

func newReflectorMetrics(p MetricsProvider, name string) *reflectorMetrics {
	return &reflectorMetrics{
		lists:        p.NewListsMetric(name),
		listDuration: p.NewListDurationMetric(name),
		itemsInList:  p.NewItemsInListMetric(name),

		watches:       p.NewWatchesMetric(name),
		shortWatches:  p.NewShortWatchesMetric(name),
		watchDuration: p.NewWatchDurationMetric(name),
		itemsInWatch:  p.NewItemsInWatchMetric(name),

		lastResourceVersion: p.NewLastResourceVersionMetric(name),
	}
}

// meteredSource is of one reflector, which does one thing at a time.
type meteredSource struct {
	listwatch.Source[any]
	name  string
	clock clock.PassiveClock

	*reflectorMetrics // nil while there is no provider

	// The paged list under way.
	began time.Time
	items int
}

// metering reports whether there is a provider.
func (s *meteredSource) metering() bool {
	if s.reflectorMetrics == nil {
		if provider := reflectorMetricsProvider.Load(); provider != nil {
			s.reflectorMetrics = newReflectorMetrics(*provider, s.name)
		}
	}
	return s.reflectorMetrics != nil
}

func (s *meteredSource) List(ctx context.Context, opts metav1.ListOptions) (listwatch.Page[any], error) {
	if opts.Continue == "" && s.metering() {
		s.lists.Inc()
		s.began, s.items = s.clock.Now(), 0
	}
	page, err := s.Source.List(ctx, opts)
	if err != nil || s.reflectorMetrics == nil {
		return page, err
	}
	s.items += len(page.Items)
	if page.Continue == "" {
		s.listed(s.began, s.items, page.ResourceVersion)
	}
	return page, nil
}

func (s *meteredSource) listed(began time.Time, items int, rv string) {
	s.listDuration.Observe(s.clock.Since(began).Seconds())
	s.itemsInList.Observe(float64(items))
	s.saw(rv)
}

func (s *meteredSource) saw(rv string) {
	if n, err := strconv.ParseUint(rv, 10, 64); err == nil {
		s.lastResourceVersion.Set(float64(n))
	}
}

func (s *meteredSource) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[any], error) {
	if !s.metering() {
		return s.Source.Watch(ctx, opts)
	}
	list := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	began := s.clock.Now()
	stream, err := s.Source.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	if list {
		s.lists.Inc()
	} else {
		s.watches.Inc()
	}
	return &meteredStream{Stream: stream, source: s, list: list, began: began}, nil
}

type meteredStream struct {
	listwatch.Stream[any]
	source *meteredSource

	list   bool // before the end mark of a streaming list
	began  time.Time
	events int
	ended  bool
}

func (s *meteredStream) Next(ctx context.Context) ([]listwatch.Event[any], error) {
	events, err := s.Stream.Next(ctx)
	for i := range events {
		ev := &events[i]
		switch {
		case !s.list:
			s.events++
			s.source.saw(ev.Item.ResourceVersion)
		case ev.InitialEventsEnd:
			s.source.listed(s.began, s.events, ev.Item.ResourceVersion)
			s.source.watches.Inc()
			s.list, s.began, s.events = false, s.source.clock.Now(), 0
		case ev.Type != listwatch.Bookmark:
			s.events++
		}
	}
	if err != nil {
		s.end()
	}
	return events, err
}

func (s *meteredStream) Stop() {
	s.end()
	s.Stream.Stop()
}

// end is called where the stream ends, by the goroutine that reads it.
func (s *meteredStream) end() {
	if s.ended || s.list {
		return
	}
	s.ended = true
	lasted := s.source.clock.Since(s.began)
	s.source.watchDuration.Observe(lasted.Seconds())
	s.source.itemsInWatch.Observe(float64(s.events))
	if lasted < shortWatch && s.events == 0 {
		s.source.shortWatches.Inc()
	}
}
