package apitest_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
