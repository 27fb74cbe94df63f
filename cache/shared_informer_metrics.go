package cache

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

// informerMetricsFeed feeds the metrics of a shared informer. It has no queue: what waits is what handlers have not been
// told yet, in all of them together, and processing is a handler's call.
type informerMetricsFeed struct {
	queue   queueMetrics
	store   *threadSafeMap
	backlog func() int
}

func (m informerMetricsFeed) enabled() bool { return m.queue.latency != nil }

// handler is tell with its calls measured.
func (m informerMetricsFeed) handler(tell func(informer.Event[any])) func(informer.Event[any]) {
	if !m.enabled() {
		return tell
	}
	return func(e informer.Event[any]) {
		began := time.Now()
		defer func() {
			m.queue.observe(time.Since(began).Seconds())
			m.queue.queued.set(float64(m.backlog()))
		}()
		tell(e)
	}
}

// source is s that publishes what has become of what it gave before: it is asked for more when that is in the store.
func (m informerMetricsFeed) source(s listwatch.Source[any]) listwatch.Source[any] {
	if !m.enabled() {
		return s
	}
	return progressSource{s, m.progressed}
}

func (m informerMetricsFeed) progressed() {
	m.store.publishRevision()
	m.queue.queued.set(float64(m.backlog()))
}

type progressSource struct {
	listwatch.Source[any]
	progressed func()
}

func (s progressSource) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[any], error) {
	s.progressed()
	stream, err := s.Source.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	return progressStream{stream, s.progressed}, nil
}

type progressStream struct {
	listwatch.Stream[any]
	progressed func()
}

func (s progressStream) Next(ctx context.Context) ([]listwatch.Event[any], error) {
	s.progressed()
	return s.Stream.Next(ctx)
}

// publishRevision publishes what was committed past this store's own methods.
func (m *threadSafeMap) publishRevision() {
	m.writeMu.Lock()
	defer m.writeMu.Unlock()
	m.publishLocked(m.store.Revision())
}
