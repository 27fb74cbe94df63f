package informer_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

func TestMain(m *testing.M) {
	klog.SetLogger(logr.Discard())
	goleak.VerifyTestMain(m)
}

// The tests watch ConfigMaps: small objects with room for a value.
type (
	object  = *corev1.ConfigMap
	event   = informer.Event[object]
	options = informer.Options[object]
	handler = informer.Handler[object]
)

var configmaps = corev1.SchemeGroupVersion.WithResource("configmaps")

func cm(name, value string) object {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Data:       map[string]string{"v": value},
	}
}

// world is a server and an informer that follows it.
type world struct {
	*testing.T
	server *apitest.Server
	inf    *informer.Informer[object]
	ctx    context.Context // ends with the test
	cancel context.CancelFunc
	runs   sync.WaitGroup
}

// inWorld runs a test in a bubble, and checks at its end that Run returned well and left no goroutine.
func inWorld(t *testing.T, opts options, test func(w *world)) {
	t.Helper()
	inServer(t, apitest.Options{}, inProcess, opts, test)
}

func inProcess(s *apitest.Server) listwatch.Source[object] {
	return apitest.Source[object](s, configmaps, "")
}

func inServer(t *testing.T, serve apitest.Options, from func(*apitest.Server) listwatch.Source[object], opts options, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := apitest.NewServer(serve)
		defer server.Close()
		inf, err := informer.New(from(server), opts)
		if err != nil {
			t.Fatal(err)
		}
		w := &world{T: t, server: server, inf: inf}
		w.ctx, w.cancel = context.WithCancel(t.Context())
		defer w.runs.Wait()
		defer w.cancel()
		test(w)
	})
}

// run starts the informer and returns how to stop it.
func (w *world) run() (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	w.runs.Go(func() {
		defer close(done)
		if err := w.inf.Run(ctx); err != nil {
			w.Errorf("Run: %v", err)
		}
	})
	return func() {
		cancel()
		<-done
	}
}

// synced starts the informer and waits for its first list.
func (w *world) synced() (stop func()) {
	w.Helper()
	stop = w.run()
	w.must(w.inf.WaitSynced(w.ctx))
	return stop
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) create(objs ...object) {
	w.Helper()
	for _, obj := range objs {
		_, err := apitest.Create(w.server, obj)
		w.must(err)
	}
}

func (w *world) update(name, value string) object {
	w.Helper()
	obj, err := apitest.Update(w.server, cm(name, value))
	w.must(err)
	return obj
}

func (w *world) delete(names ...string) {
	w.Helper()
	for _, name := range names {
		_, err := apitest.Delete(w.server, cm(name, ""))
		w.must(err)
	}
}

// settle waits until the informer has seen what the server has, and every handler is idle.
func (w *world) settle() {
	w.Helper()
	w.must(w.inf.WaitFor(w.ctx, w.server.ResourceVersion()))
	synctest.Wait()
}

// content is the server's, by key: value@resourceVersion.
func (w *world) content() map[string]string {
	w.Helper()
	objs, err := apitest.List[object](w.server, configmaps, "")
	w.must(err)
	m := map[string]string{}
	for _, obj := range objs {
		m[obj.Namespace+"/"+obj.Name] = describe(obj)
	}
	return m
}

// equalsServer checks that the informer's copy is the server's.
func (w *world) equalsServer() {
	w.Helper()
	got := map[string]string{}
	for key, obj := range w.inf.Snapshot().All() {
		got[key] = describe(obj)
	}
	if want := w.content(); !maps.Equal(got, want) {
		w.Errorf("store holds %v, server %v", got, want)
	}
}

func describe(obj object) string {
	if obj == nil {
		return "-"
	}
	return obj.Data["v"] + "@" + obj.ResourceVersion
}

// recorder notes what a handler is told.
type recorder struct {
	mu     sync.Mutex
	events []event
}

func (r *recorder) handler() handler {
	return handler{Event: func(e event) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.events = append(r.events, e)
	}}
}

// take returns the events so far, in words, and forgets them.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var words []string
	for _, e := range r.events {
		words = append(words, inWords(e))
	}
	r.events = nil
	return words
}

// inWords is "Added a=1", "Updated a=1>2", "Deleted a=2" with the marks initial, replay, lost and moved.
func inWords(e event) string {
	value := func(obj object) string {
		if obj == nil {
			return "-"
		}
		return obj.Data["v"]
	}
	name := strings.TrimPrefix(e.Key, "default/")
	s := fmt.Sprintf("%s %s=", e.Type, name)
	switch e.Type {
	case informer.Updated:
		s += value(e.Old) + ">" + value(e.New)
	default:
		s += value(e.Object())
	}
	if e.Initial {
		s += " initial"
	}
	if e.Replay {
		s += " replay"
	}
	if e.Type == informer.Deleted && !e.Final {
		s += " lost"
	}
	if e.Moved {
		s += " moved"
	}
	return s
}

func expect(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
