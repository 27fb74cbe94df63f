package apitest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/apitest"
)

var (
	pods       = corev1.SchemeGroupVersion.WithResource("pods")
	nodes      = corev1.SchemeGroupVersion.WithResource("nodes")
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

	widgetKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	widgets    = apitest.Resource{Kind: widgetKind, ShortNames: []string{"wd"}, Status: true, SelectableFields: []string{".spec.color"}}
)

func newServer(t *testing.T, opts apitest.Options) *apitest.Server {
	t.Helper()
	s := apitest.NewServer(opts)
	t.Cleanup(s.Close)
	return s
}

func startServer(t *testing.T, opts apitest.Options) *apitest.Server {
	t.Helper()
	s := newServer(t, opts)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

func pod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func labelled(p *corev1.Pod, labels map[string]string) *corev1.Pod {
	p.Labels = labels
	return p
}

func onNode(p *corev1.Pod, node string) *corev1.Pod {
	p.Spec.NodeName = node
	return p
}

func create[T runtime.Object](t *testing.T, s *apitest.Server, obj T) T {
	t.Helper()
	out, err := apitest.Create(s, obj)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return out
}

func update[T runtime.Object](t *testing.T, s *apitest.Server, obj T) T {
	t.Helper()
	out, err := apitest.Update(s, obj)
	if err != nil {
		t.Fatalf("update: %v", err)
	}
	return out
}

func remove[T runtime.Object](t *testing.T, s *apitest.Server, obj T) T {
	t.Helper()
	out, err := apitest.Delete(s, obj)
	if err != nil {
		t.Fatalf("delete: %v", err)
	}
	return out
}

func ptr[T any](v T) *T { return &v }

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

var ctx = context.Background()

func items(t *testing.T, list runtime.Object) []runtime.Object {
	t.Helper()
	return must(meta.ExtractList(list))(t)
}

func metaOf(t *testing.T, obj runtime.Object) metav1.Object {
	t.Helper()
	m, err := meta.Accessor(obj)
	if err != nil {
		t.Fatalf("%T %v: %v", obj, obj, err)
	}
	return m
}

func listMetaOf(t *testing.T, list runtime.Object) metav1.ListInterface {
	t.Helper()
	return must(meta.ListAccessor(list))(t)
}

// overBoth runs a test on pods of all namespaces in the process and over HTTP.
func overBoth(t *testing.T, opts apitest.Options, test func(*testing.T, *apitest.Server, podClient)) {
	t.Run("in process", func(t *testing.T) {
		s := newServer(t, opts)
		lw := s.ListerWatcher(pods, "")
		test(t, s, podClient{"in process", lw.List, lw.Watch})
	})
	t.Run("HTTP", func(t *testing.T) {
		s := startServer(t, opts)
		client := must(kubernetes.NewForConfig(s.Config()))(t).CoreV1().Pods("")
		test(t, s, podClient{"HTTP",
			func(o metav1.ListOptions) (runtime.Object, error) { return client.List(ctx, o) },
			func(o metav1.ListOptions) (watch.Interface, error) { return client.Watch(ctx, o) },
		})
	})
}

// describe is an object in short: its key at its resource version.
func describe(t *testing.T, obj runtime.Object) string {
	t.Helper()
	m := metaOf(t, obj)
	return strings.TrimPrefix(m.GetNamespace()+"/"+m.GetName(), "/") + "@" + m.GetResourceVersion()
}

func describeList(t *testing.T, list runtime.Object) []string {
	t.Helper()
	out := []string{}
	for _, obj := range items(t, list) {
		out = append(out, describe(t, obj))
	}
	return out
}

// describeEvent is an event in short.
func describeEvent(t *testing.T, ev watch.Event) string {
	t.Helper()
	switch obj := ev.Object.(type) {
	case *metav1.Status:
		return fmt.Sprintf("%s %d %s", ev.Type, obj.Code, obj.Reason)
	default:
		m := metaOf(t, obj)
		if ev.Type != watch.Bookmark {
			return string(ev.Type) + " " + describe(t, obj)
		}
		s := "BOOKMARK @" + m.GetResourceVersion()
		if m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			s += " end"
		}
		return s
	}
}

// take reads n events, or all until the watch ends if n is -1.
func take(t *testing.T, w watch.Interface, n int) []string {
	t.Helper()
	out := []string{}
	for len(out) != n {
		ev, ok := <-w.ResultChan()
		if !ok {
			if n >= 0 {
				t.Fatalf("the watch ended after %v, want %d events", out, n)
			}
			break
		}
		out = append(out, describeEvent(t, ev))
	}
	return out
}

func diff(t *testing.T, what string, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

// reasonOf is the reason of an API status error, with TooLarge for the cause that has no reason; "" if err is nil.
func reasonOf(err error) string {
	if err == nil {
		return ""
	}
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return "TooLarge"
	}
	return string(apierrors.ReasonForError(err))
}
