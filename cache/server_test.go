package cache

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/apitest"
)

// These helpers let an informer, reflector or controller follow an in-memory API server, in a synctest bubble.

// podServer is a server of pods, named by letters; their "content" tells states apart.
type podServer struct {
	t testing.TB
	*apitest.Server
}

func newPodServer(t testing.TB) *podServer {
	t.Helper()
	s := &podServer{t, apitest.NewServer(apitest.Options{Seed: 1})}
	t.Cleanup(s.Close)
	return s
}

func (s *podServer) listerWatcher() ListerWatcher { return s.ListerWatcher(podsResource, "") }

func podOf(name, content string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
		Spec:       corev1.PodSpec{NodeName: content, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func (s *podServer) create(name, content string) *corev1.Pod {
	s.t.Helper()
	pod, err := apitest.Create(s.Server, podOf(name, content))
	succeed(s.t, err)
	return pod
}

func (s *podServer) update(name, content string) *corev1.Pod {
	s.t.Helper()
	pod, err := apitest.Update(s.Server, podOf(name, content))
	succeed(s.t, err)
	return pod
}

func (s *podServer) delete(name string) *corev1.Pod {
	s.t.Helper()
	pod, err := apitest.Delete(s.Server, podOf(name, ""))
	succeed(s.t, err)
	return pod
}

// content writes pods as "name:content", and the rest as it comes.
func content(obj any) string {
	switch obj := obj.(type) {
	case nil:
		return "nil"
	case *corev1.Pod:
		return obj.Name + ":" + obj.Spec.NodeName
	case DeletedFinalStateUnknown:
		return fmt.Sprintf("lost(%s, %s)", obj.Key, content(obj.Obj))
	}
	return fmt.Sprintf("%v", obj)
}

func contents(objs []any) []string {
	all := []string{}
	for _, obj := range objs {
		all = append(all, content(obj))
	}
	slices.Sort(all)
	return all
}

// callLog is a handler that writes down what it is told.
type callLog struct {
	// before, if set, is called at the beginning of each call, with what is about to be written down.
	before func(call string)

	mu    sync.Mutex // guards calls
	calls []string
}

func (r *callLog) record(call string) {
	if r.before != nil {
		r.before(call)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, call)
}

func (r *callLog) OnAdd(obj any, isInInitialList bool) {
	if isInInitialList {
		r.record("initial " + content(obj))
	} else {
		r.record("add " + content(obj))
	}
}

func (r *callLog) OnUpdate(oldObj, newObj any) {
	if oldObj == newObj {
		r.record("resync " + content(newObj))
	} else {
		r.record("update " + content(oldObj) + " " + content(newObj))
	}
}

func (r *callLog) OnDelete(obj any) { r.record("delete " + content(obj)) }

// take returns what was written down since the last time.
func (r *callLog) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := append([]string{}, r.calls...)
	r.calls = nil
	return calls
}

// told checks what was written down since the last time, when everybody has come to rest.
func (r *callLog) told(t testing.TB, what string, want ...string) {
	t.Helper()
	synctest.Wait()
	check(t, what, append([]string{}, want...), r.take())
}

// toldInAnyOrder is told for calls about different objects.
func (r *callLog) toldInAnyOrder(t testing.TB, what string, want ...string) {
	t.Helper()
	synctest.Wait()
	got := r.take()
	slices.Sort(got)
	slices.Sort(want)
	check(t, what, want, got)
}

// running is something that runs in a goroutine until it is stopped.
type running struct {
	t      testing.TB
	cancel context.CancelFunc
	done   chan struct{}
}

// start runs f until the test ends, or stop is called.
func start(t testing.TB, f func(ctx context.Context)) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		f(ctx)
	}()
	t.Cleanup(r.stop)
	return r
}

// stop returns when f has.
func (r *running) stop() {
	r.cancel()
	<-r.done
}

func (r *running) ended() bool {
	synctest.Wait()
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// settle lets everything that has to do with listing again happen.
func settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

// apitestFault answers requests of a verb with an error; times as in [apitest.Fault].
func apitestFault(verb string, err error, times int) apitest.Fault {
	return apitest.Fault{Verb: verb, Error: err, Times: times}
}
