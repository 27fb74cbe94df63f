package informer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

type (
	metadata = *metav1.PartialObjectMetadata
	untyped  = *unstructured.Unstructured
)

var (
	mapScope    = informer.Scope{Resource: configmaps}
	secretScope = informer.Scope{Resource: corev1.SchemeGroupVersion.WithResource("secrets")}
	podScope    = informer.Scope{Resource: corev1.SchemeGroupVersion.WithResource("pods")}
)

// sourcesOf makes a group's sources over a server in the process.
func sourcesOf(server *apitest.Server) informer.SourceFunc {
	return func(scope informer.Scope, view informer.View, _ schema.GroupVersionKind) (listwatch.Source[runtime.Object], error) {
		var source listwatch.Source[runtime.Object]
		switch view {
		case informer.MetadataView:
			source = listwatch.Objects(apitest.Source[metadata](server, scope.Resource, scope.Namespace))
		case informer.UnstructuredView:
			source = listwatch.Objects(apitest.Source[untyped](server, scope.Resource, scope.Namespace))
		default:
			source = apitest.Source[runtime.Object](server, scope.Resource, scope.Namespace)
		}
		return informer.NarrowTo(source, scope)
	}
}

// groupWorld is a server and a group.
type groupWorld struct {
	*testing.T
	server *apitest.Server
	group  *informer.Group
	ctx    context.Context // ends with the test
	runs   sync.WaitGroup
}

// inGroup runs a test in a bubble, and checks at its end that the group left no goroutine.
func inGroup(t *testing.T, opts informer.GroupOptions, test func(w *groupWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := apitest.NewServer(apitest.Options{})
		defer server.Close()
		if opts.Source == nil {
			opts.Source = sourcesOf(server)
		}
		group, err := informer.NewGroup(opts)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		w := &groupWorld{T: t, server: server, group: group, ctx: ctx}
		defer w.runs.Wait()
		defer cancel()
		test(w)
	})
}

// run starts the group and returns how to stop it.
func (w *groupWorld) run() (stop func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	done := make(chan struct{})
	w.runs.Go(func() {
		defer close(done)
		if err := w.group.Run(ctx); err != nil {
			w.Errorf("Run: %v", err)
		}
	})
	return func() {
		cancel()
		<-done
	}
}

func (w *groupWorld) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *groupWorld) create(objs ...runtime.Object) {
	w.Helper()
	for _, obj := range objs {
		_, err := apitest.Create(w.server, obj)
		w.must(err)
	}
}

func (w *groupWorld) update(objs ...runtime.Object) {
	w.Helper()
	for _, obj := range objs {
		_, err := apitest.Update(w.server, obj)
		w.must(err)
	}
}

func (w *groupWorld) delete(objs ...runtime.Object) {
	w.Helper()
	for _, obj := range objs {
		_, err := apitest.Delete(w.server, obj)
		w.must(err)
	}
}

// settle waits until everything that can happen now has.
func (w *groupWorld) settle() {
	w.Helper()
	w.must(w.group.WaitSynced(w.ctx))
	synctest.Wait()
}

func hold[T runtime.Object](w *groupWorld, scope informer.Scope) *informer.Shared[T] {
	w.Helper()
	s, err := informer.Acquire[T](w.group, scope)
	w.must(err)
	return s
}

// requests counts lists and watches of a resource.
func (w *groupWorld) requests(resource string) (lists, watches int) {
	streams := 0
	for _, r := range w.server.Requests() {
		if r.Resource.Resource != resource {
			continue
		}
		switch {
		case r.Verb == "list":
			lists++
		case r.Options.SendInitialEvents != nil && *r.Options.SendInitialEvents:
			streams++
		default:
			watches++
		}
	}
	// A streaming list is a list that goes on as a watch.
	return lists + streams, watches + streams
}

func (w *groupWorld) wantRequests(resource string, lists, watches int) {
	w.Helper()
	if l, wa := w.requests(resource); l != lists || wa != watches {
		w.Errorf("%s: %d lists and %d watches, want %d and %d", resource, l, wa, lists, watches)
	}
}

// tale notes what a handler is told, in words.
type tale struct {
	mu    sync.Mutex
	words []string
}

func follow[T interface {
	runtime.Object
	metav1.Object
}](s *informer.Shared[T], opts informer.HandlerOptions) (*tale, *informer.SharedRegistration) {
	t := &tale{}
	return t, s.AddHandler(informer.Handler[T]{Event: func(e informer.Event[T]) {
		word := fmt.Sprintf("%s %s@%s", e.Type, e.Key, e.Object().GetResourceVersion())
		if e.Initial {
			word += " initial"
		}
		if e.Type == informer.Deleted && !e.Final {
			word += " lost"
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.words = append(t.words, word)
	}}, opts)
}

func (t *tale) take() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	words := t.words
	t.words = nil
	return words
}
