package apitest_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/informerkit/informerkit/apitest"
)

// podClient is what the clients under test have in common.
type podClient struct {
	name  string
	list  func(metav1.ListOptions) (runtime.Object, error)
	watch func(metav1.ListOptions) (watch.Interface, error)
}

// podClients are all ways to pods in namespace ns.
func podClients(t *testing.T, s *apitest.Server) []podClient {
	t.Helper()
	typed := func(contentType string) podClient {
		cfg := rest.CopyConfig(s.Config())
		cfg.ContentType = contentType
		cs := must(kubernetes.NewForConfig(cfg))(t)
		return podClient{
			name:  "typed " + contentType,
			list:  func(o metav1.ListOptions) (runtime.Object, error) { return cs.CoreV1().Pods("ns").List(ctx, o) },
			watch: func(o metav1.ListOptions) (watch.Interface, error) { return cs.CoreV1().Pods("ns").Watch(ctx, o) },
		}
	}
	dyn := must(dynamic.NewForConfig(s.Config()))(t).Resource(pods).Namespace("ns")
	meta := must(metadata.NewForConfig(s.Config()))(t).Resource(pods).Namespace("ns")
	lw := s.ListerWatcher(pods, "ns")
	return []podClient{
		typed("application/json"),
		typed("application/vnd.kubernetes.protobuf"),
		{"dynamic",
			func(o metav1.ListOptions) (runtime.Object, error) { return dyn.List(ctx, o) },
			func(o metav1.ListOptions) (watch.Interface, error) { return dyn.Watch(ctx, o) }},
		{"metadata",
			func(o metav1.ListOptions) (runtime.Object, error) { return meta.List(ctx, o) },
			func(o metav1.ListOptions) (watch.Interface, error) { return meta.Watch(ctx, o) }},
		{"in process", lw.List, lw.Watch},
	}
}

func TestTypedClientWritesAndReads(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(contentType, func(t *testing.T) {
			s := startServer(t, apitest.Options{})
			cfg := s.Config()
			cfg.ContentType = contentType
			client := must(kubernetes.NewForConfig(cfg))(t).CoreV1().Pods("ns")

			p := labelled(onNode(pod("", "a"), "n1"), map[string]string{"app": "x"})
			p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
			created := must(client.Create(ctx, p, metav1.CreateOptions{}))(t)
			if created.UID == "" || created.ResourceVersion == "" || created.CreationTimestamp.IsZero() || created.Namespace != "ns" {
				t.Errorf("created without identity: %+v", created.ObjectMeta)
			}
			got := must(client.Get(ctx, "a", metav1.GetOptions{}))(t)
			if d := cmp.Diff(created, got); d != "" {
				t.Errorf("get differs from create (-created +got):\n%s", d)
			}
			got.Spec.NodeName = "n2"
			updated := must(client.Update(ctx, got, metav1.UpdateOptions{}))(t)
			if updated.Spec.NodeName != "n2" || updated.ResourceVersion == created.ResourceVersion {
				t.Errorf("not updated: %+v", updated)
			}
			if _, err := client.Update(ctx, created, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
				t.Errorf("update of an old version: got %v, want a conflict", err)
			}
			if _, err := client.Create(ctx, p, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
				t.Errorf("second create: got %v, want AlreadyExists", err)
			}
			if err := client.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
			if _, err := client.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("get of a deleted pod: got %v, want NotFound", err)
			}
		})
	}
}

func TestDiscoveryAndRESTMapperFindResources(t *testing.T) {
	s := startServer(t, apitest.Options{Resources: []apitest.Resource{widgets}})
	client := must(discovery.NewDiscoveryClientForConfig(s.Config()))(t)
	legacy := must(discovery.NewDiscoveryClientForConfig(s.Config()))(t)
	legacy.UseLegacyDiscovery = true
	for name, client := range map[string]*discovery.DiscoveryClient{"aggregated": client, "legacy": legacy} {
		t.Run(name, func(t *testing.T) {
			groups := must(restmapper.GetAPIGroupResources(client))(t)
			mapper := restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), client, nil)
			for input, want := range map[string]schema.GroupVersionResource{
				"po":      pods,
				"pod":     pods,
				"deploy":  {Group: "apps", Version: "v1", Resource: "deployments"},
				"wd":      widgets.GVR(),
				"widgets": widgets.GVR(),
			} {
				got, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: input})
				if err != nil || got != want {
					t.Errorf("%s: got %v, %v; want %v", input, got, err, want)
				}
			}
			mapping := must(mapper.RESTMapping(schema.GroupKind{Kind: "Node"}, "v1"))(t)
			if mapping.Scope.Name() != "root" {
				t.Errorf("nodes are %s scoped", mapping.Scope.Name())
			}
			lists, err := client.ServerPreferredResources()
			if err != nil || !slices.ContainsFunc(lists, func(l *metav1.APIResourceList) bool { return l.GroupVersion == "example.com/v1" }) {
				t.Errorf("preferred resources: %v, %v", lists, err)
			}
		})
	}
	if v := must(client.ServerVersion())(t); v.Major != "1" {
		t.Errorf("version %v", v)
	}
}

func TestDynamicClientOnCustomResource(t *testing.T) {
	s := startServer(t, apitest.Options{Resources: []apitest.Resource{widgets}})
	client := must(dynamic.NewForConfig(s.Config()))(t).Resource(widgets.GVR()).Namespace("ns")
	w := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"},
		"spec": map[string]any{"color": "red"}, "status": map[string]any{"ready": true},
	}}
	created := must(client.Create(ctx, w, metav1.CreateOptions{}))(t)
	if created.Object["status"] != nil {
		t.Error("create kept the status of a resource with a status subresource")
	}
	if err := unstructured.SetNestedField(created.Object, true, "status", "ready"); err != nil {
		t.Fatal(err)
	}
	updated := must(client.UpdateStatus(ctx, created, metav1.UpdateOptions{}))(t)
	if ready, _, _ := unstructured.NestedBool(updated.Object, "status", "ready"); !ready || updated.GetGeneration() != 1 {
		t.Errorf("status not updated, or generation moved: %v", updated.Object)
	}
	red := must(client.List(ctx, metav1.ListOptions{FieldSelector: "spec.color=red"}))(t)
	blue := must(client.List(ctx, metav1.ListOptions{FieldSelector: "spec.color=blue"}))(t)
	if len(red.Items) != 1 || len(blue.Items) != 0 || red.Items[0].GetKind() != "Widget" {
		t.Errorf("red %v, blue %v", red.Items, blue.Items)
	}
	meta := must(metadata.NewForConfig(s.Config()))(t).Resource(widgets.GVR()).Namespace("ns")
	if got := must(meta.Get(ctx, "w", metav1.GetOptions{}))(t); got.Name != "w" || got.UID != created.GetUID() {
		t.Errorf("metadata client got %+v", got)
	}
}

func TestEveryClientListsAndWatchesTheSame(t *testing.T) {
	s := startServer(t, apitest.Options{})
	create(t, s, pod("ns", "a"))
	create(t, s, pod("other", "x"))
	clients := podClients(t, s)

	type seen struct{ Type, Key, RV string }
	var lists [][]seen
	var watches []watch.Interface
	for _, c := range clients {
		list := must(c.list(metav1.ListOptions{}))(t)
		lists = append(lists, nil)
		for _, item := range items(t, list) {
			m := metaOf(t, item)
			lists[len(lists)-1] = append(lists[len(lists)-1], seen{"", m.GetNamespace() + "/" + m.GetName(), m.GetResourceVersion()})
		}
		watches = append(watches, must(c.watch(metav1.ListOptions{ResourceVersion: listMetaOf(t, list).GetResourceVersion()}))(t))
	}
	want := []seen{{"", "ns/a", "2"}}
	for i, c := range clients {
		if d := cmp.Diff(want, lists[i]); d != "" {
			t.Errorf("%s list (-want +got):\n%s", c.name, d)
		}
	}

	create(t, s, pod("ns", "b"))               // 4
	update(t, s, onNode(pod("ns", "a"), "n1")) // 5
	create(t, s, pod("other", "y"))            // 6
	remove(t, s, pod("ns", "b"))               // 7
	wantEvents := []seen{{"ADDED", "ns/b", "4"}, {"MODIFIED", "ns/a", "5"}, {"DELETED", "ns/b", "7"}}
	for i, c := range clients {
		var got []seen
		for range wantEvents {
			ev := <-watches[i].ResultChan()
			m := metaOf(t, ev.Object)
			got = append(got, seen{string(ev.Type), m.GetNamespace() + "/" + m.GetName(), m.GetResourceVersion()})
		}
		watches[i].Stop()
		if d := cmp.Diff(wantEvents, got); d != "" {
			t.Errorf("%s events (-want +got):\n%s", c.name, d)
		}
	}
}

func TestEveryClientGetsAStreamingList(t *testing.T) {
	s := startServer(t, apitest.Options{})
	create(t, s, pod("ns", "a"))
	create(t, s, pod("ns", "b"))
	for _, c := range podClients(t, s) {
		t.Run(c.name, func(t *testing.T) {
			w := must(c.watch(metav1.ListOptions{
				SendInitialEvents: ptr(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
			}))(t)
			defer w.Stop()
			var got []string
			for range 3 {
				ev := <-w.ResultChan()
				m := metaOf(t, ev.Object)
				got = append(got, string(ev.Type)+" "+m.GetName()+" "+m.GetAnnotations()[metav1.InitialEventsAnnotationKey])
			}
			if d := cmp.Diff([]string{"ADDED a ", "ADDED b ", "BOOKMARK  true"}, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
