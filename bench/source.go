package bench

import (
	"context"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// watchBuffer is how many events a watch's channel holds, so that handing over the next one is not what is measured.
const watchBuffer = 1024

// source is what whole informers follow: a list that shares its pods with whoever asks, and a watch. It has the methods that
// client-go's informers and ours ask of a lister-watcher.
type source struct {
	pods []*corev1.Pod

	mu      sync.Mutex // guards what follows
	rv      uint64
	watches map[*podWatch]struct{}
	waiting chan struct{} // closed when there is a watch
}

func newSource(pods []*corev1.Pod) *source {
	return &source{pods: pods, rv: uint64(len(pods)) + 1, watches: map[*podWatch]struct{}{}, waiting: make(chan struct{})}
}

// IsWatchListSemanticsUnSupported tells both kinds of informers that there are no streaming lists here.
func (s *source) IsWatchListSemanticsUnSupported() bool { return true }

func (s *source) List(opts metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), opts)
}

func (s *source) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), opts)
}

func (s *source) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: strconv.FormatUint(s.rv, 10)}}
	for _, pod := range s.pods {
		list.Items = append(list.Items, runtime.RawExtension{Object: pod})
	}
	return list, nil
}

func (s *source) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &podWatch{source: s, events: make(chan watch.Event, watchBuffer), stopped: make(chan struct{})}
	s.watches[w] = struct{}{}
	if len(s.watches) == 1 {
		close(s.waiting)
	}
	return w, nil
}

// states makes n new states of pods, of one after the other, as the server would send them next.
func (s *source) states(n int, of func(i int) *corev1.Pod) []*corev1.Pod {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := make([]*corev1.Pod, n)
	for i := range states {
		s.rv++
		states[i] = withState(of(i), s.rv)
	}
	return states
}

// send tells the watch that there is, or will be, of new states. Each is read before it is sent, as one that was just decoded.
func (s *source) send(states []*corev1.Pod) {
	w := s.watch()
	for _, pod := range states {
		touchPod(pod)
		select {
		case w.events <- watch.Event{Type: watch.Modified, Object: pod}:
		case <-w.stopped:
			panic("BUG: a watch ended while it was measured")
		}
	}
}

func (s *source) watch() *podWatch {
	s.mu.Lock()
	waiting := s.waiting
	s.mu.Unlock()
	<-waiting
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		return w
	}
	panic("BUG: a watch ended while it was measured")
}

type podWatch struct {
	source  *source
	events  chan watch.Event
	once    sync.Once
	stopped chan struct{}
}

func (w *podWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *podWatch) Stop() {
	w.once.Do(func() {
		close(w.stopped)
		s := w.source
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.watches, w); len(s.watches) == 0 {
			s.waiting = make(chan struct{})
		}
	})
}
