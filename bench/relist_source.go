package bench

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/listwatch"
)

// wire is pods as a server sends them: encoded, and not in this process' heap but in a file.
type wire struct {
	file    *os.File
	entries []wireEntry
}

type wireEntry struct {
	offset        int64
	size          int
	key, uid      string
	firstRevision string
}

// newWire encodes pods.
func newWire(p *population) (*wire, error) {
	file, err := os.CreateTemp("", "pods")
	if err != nil {
		return nil, err
	}
	w := &wire{file: file}
	offset := int64(0)
	for i, pod := range p.pods {
		raw := encode(pod)
		if _, err := file.WriteAt(raw, offset); err != nil {
			w.close()
			return nil, fmt.Errorf("encoding pods: %w", err)
		}
		w.entries = append(w.entries, wireEntry{offset, len(raw), p.keys[i], string(pod.UID), pod.ResourceVersion})
		offset += int64(len(raw))
	}
	return w, nil
}

func (w *wire) close() {
	w.file.Close()
	os.Remove(w.file.Name())
}

// read gives the bytes of the pods from one to another, as one response has them: in memory of its own.
func (w *wire) read(from, to int) (page []byte, err error) {
	last := w.entries[to-1]
	page = make([]byte, last.offset+int64(last.size)-w.entries[from].offset)
	_, err = w.file.ReadAt(page, w.entries[from].offset)
	return page, err
}

// relistSource is a server of these pods, whose watch can be ended so that all is listed again. It serves client-go's kind of
// informers with lists, and the typed one with items, which are decoded when asked for.
type relistSource struct {
	wire *wire

	mu      sync.Mutex // guards what follows
	rvs     []string   // of the pods by now
	rv      int
	expire  chan struct{} // closed to end the watch that is open
	began   time.Time     // of the first list since expire was made; zero: there is none yet
	watched chan struct{} // closed when there is a watch
}

func newRelistSource(w *wire) *relistSource {
	s := &relistSource{wire: w, rv: len(w.entries), expire: make(chan struct{}), watched: make(chan struct{})}
	for _, e := range w.entries {
		s.rvs = append(s.rvs, e.firstRevision)
	}
	return s
}

// change gives 1 % of the pods, the last one among them, a new state, and ends the watch with 410.
func (s *relistSource) change() (changed int) {
	s.mu.Lock()
	watched := s.watched
	s.mu.Unlock()
	<-watched
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.rvs) - 1; i >= 0; i -= 100 {
		s.rv++
		s.rvs[i] = strconv.Itoa(s.rv)
		changed++
	}
	s.began = time.Time{}
	s.watched = make(chan struct{})
	close(s.expire)
	s.expire = make(chan struct{})
	return changed
}

// listBegan is when the first list after change was asked for.
func (s *relistSource) listBegan() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began
}

// page is what one response has.
type page struct {
	from, to int
	raw      []byte
	rvs      []string
	rv, next string
	left     int
}

// page answers a list.
func (s *relistSource) page(opts metav1.ListOptions) (page, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := page{to: len(s.rvs), rv: strconv.Itoa(s.rv)}
	if opts.Continue != "" {
		from, err := strconv.Atoi(opts.Continue)
		if err != nil {
			return page{}, apierrors.NewBadRequest("continue: " + err.Error())
		}
		p.from = from
	} else if s.began.IsZero() {
		s.began = time.Now()
	}
	if limit := int(opts.Limit); limit > 0 && p.from+limit < p.to {
		p.to = p.from + limit
		p.next = strconv.Itoa(p.to)
		p.left = len(s.rvs) - p.to
	}
	p.rvs = append(p.rvs, s.rvs[p.from:p.to]...)
	raw, err := s.wire.read(p.from, p.to)
	if err != nil {
		return page{}, apierrors.NewInternalError(err)
	}
	p.raw = raw
	return p, nil
}

// decode decodes the i-th pod of a page.
func (s *relistSource) decode(p *page, i int, pod *corev1.Pod) error {
	e := s.wire.entries[p.from+i]
	start := e.offset - s.wire.entries[p.from].offset
	if err := pod.Unmarshal(p.raw[start : start+int64(e.size)]); err != nil {
		return err
	}
	pod.ResourceVersion = p.rvs[i]
	return nil
}

// watching gives what ends the watch that is opened now.
func (s *relistSource) watching() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.watched:
	default:
		close(s.watched)
	}
	return s.expire
}

func errExpired() *apierrors.StatusError { return apierrors.NewResourceExpired("the watch is over") }

// For informers in client-go's manner.

func (s *relistSource) IsWatchListSemanticsUnSupported() bool { return true }

func (s *relistSource) List(opts metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), opts)
}

func (s *relistSource) Watch(opts metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), opts)
}

func (s *relistSource) ListWithContext(_ context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	p, err := s.page(opts)
	if err != nil {
		return nil, err
	}
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: p.rv, Continue: p.next}, Items: make([]corev1.Pod, p.to-p.from)}
	for i := range list.Items {
		if err := s.decode(&p, i, &list.Items[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (s *relistSource) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	w := &expiringWatch{events: make(chan watch.Event, 1), stopped: make(chan struct{})}
	expire := s.watching()
	go func() {
		select {
		case <-expire:
			w.events <- watch.Event{Type: watch.Error, Object: &errExpired().ErrStatus}
		case <-w.stopped:
		}
	}()
	return w, nil
}

// expiringWatch is a watch of which nothing comes but its end.
type expiringWatch struct {
	events  chan watch.Event
	once    sync.Once
	stopped chan struct{}
}

func (w *expiringWatch) ResultChan() <-chan watch.Event { return w.events }

func (w *expiringWatch) Stop() { w.once.Do(func() { close(w.stopped) }) }

// relistItems is a relistSource for the typed informer.
type relistItems struct{ *relistSource }

func (s relistItems) List(_ context.Context, opts metav1.ListOptions) (listwatch.Page[*corev1.Pod], error) {
	p, err := s.page(opts)
	if err != nil {
		return listwatch.Page[*corev1.Pod]{}, err
	}
	items := make([]listwatch.Item[*corev1.Pod], p.to-p.from)
	for i := range items {
		e := &s.wire.entries[p.from+i]
		items[i] = listwatch.LazyItem(e.key, e.uid, p.rvs[i], func() (*corev1.Pod, error) {
			pod := &corev1.Pod{}
			return pod, s.decode(&p, i, pod)
		})
	}
	return listwatch.Page[*corev1.Pod]{Items: items, ResourceVersion: p.rv, Continue: p.next, Remaining: int64(p.left)}, nil
}

func (s relistItems) Watch(_ context.Context, opts metav1.ListOptions) (listwatch.Stream[*corev1.Pod], error) {
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		return nil, listwatch.ErrStreamingUnsupported
	}
	return relistStream{s.watching()}, nil
}

type relistStream struct{ expire <-chan struct{} }

func (s relistStream) Next(ctx context.Context) ([]listwatch.Event[*corev1.Pod], error) {
	select {
	case <-s.expire:
		return nil, errExpired()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (relistStream) Stop() {}
