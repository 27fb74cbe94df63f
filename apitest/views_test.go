package apitest_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/openapi3"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/listwatch"
)

// Widget is a custom resource's Go type, as users have them.
type Widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              WidgetSpec `json:"spec"`
}

type WidgetSpec struct {
	Color string `json:"color"`
}

func (w *Widget) DeepCopyObject() runtime.Object {
	out := *w
	w.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func TestTypedCustomResources(t *testing.T) {
	sch := runtime.NewScheme()
	sch.AddKnownTypeWithName(widgetKind, &Widget{})
	s := newServer(t, apitest.Options{Resources: []apitest.Resource{widgets}, Scheme: sch})
	red := create(t, s, &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w"}, Spec: WidgetSpec{Color: "red"}})
	red.Spec.Color = "blue"
	blue := update(t, s, red)
	if blue.Spec.Color != "blue" || blue.Generation != 2 {
		t.Errorf("updated to %+v", blue)
	}
	page := must(apitest.Source[*Widget](s, widgets.GVR(), "").List(ctx, metav1.ListOptions{}))(t)
	diff(t, "through a source", blue, must(page.Items[0].Object())(t))
	u := must(apitest.Get[*unstructured.Unstructured](s, widgets.GVR(), "ns", "w"))(t)
	if color, _, _ := unstructured.NestedString(u.Object, "spec", "color"); color != "blue" {
		t.Errorf("unstructured: %v", u.Object)
	}
}

func TestKindsThatAreNotKnownOrNotServed(t *testing.T) {
	s := newServer(t, apitest.Options{})
	w := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w"}}
	if _, err := apitest.Create(s, w); err == nil || !strings.Contains(err.Error(), "not known") {
		t.Errorf("no kind: %v", err)
	}
	w.SetGroupVersionKind(widgetKind)
	if _, err := apitest.Create(s, w); err == nil || !strings.Contains(err.Error(), "no resource of kind") {
		t.Errorf("not served: %v", err)
	}
	if _, err := apitest.List[runtime.Object](s, widgets.GVR(), ""); !apierrors.IsNotFound(err) {
		t.Errorf("list: %v", err)
	}
	if _, err := apitest.Get[runtime.Object](s, widgets.GVR(), "ns", "w"); !apierrors.IsNotFound(err) {
		t.Errorf("get: %v", err)
	}
}

func TestUnstructuredBuiltins(t *testing.T) {
	s := newServer(t, apitest.Options{})
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "ns", "name": "a"},
		"spec": map[string]any{"nodeName": "n1"},
	}}
	out := create(t, s, u)
	if out.GetKind() != "Pod" || out.GetAPIVersion() != "v1" || out.GetResourceVersion() != "2" {
		t.Errorf("created %v", out.Object)
	}
	diff(t, "typed", "n1", must(apitest.Get[*corev1.Pod](s, pods, "ns", "a"))(t).Spec.NodeName)
	u.Object["spec"] = "wrong"
	if _, err := apitest.Update(s, u); !apierrors.IsBadRequest(err) {
		t.Errorf("what is no pod: %v", err)
	}
}

func TestObjectsThatAreNoTAreBadItems(t *testing.T) {
	s := newServer(t, apitest.Options{})
	create(t, s, pod("ns", "a"))
	page := must(apitest.Source[*corev1.Node](s, pods, "").List(ctx, metav1.ListOptions{}))(t)
	_, err := page.Items[0].Object()
	if wrong := (*listwatch.WrongTypeError)(nil); !errors.As(err, &wrong) || page.Items[0].Key != "ns/a" {
		t.Errorf("item %q: %v", page.Items[0].Key, err)
	}
	if _, err := apitest.Get[*corev1.Node](s, pods, "ns", "a"); err == nil {
		t.Error("got a pod as a node")
	}
	if _, err := apitest.List[*corev1.Node](s, pods, ""); err == nil {
		t.Error("listed pods as nodes")
	}
}

func TestFieldSelectorsOfBuiltins(t *testing.T) {
	s := newServer(t, apitest.Options{})
	create(t, s, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Spec: corev1.NodeSpec{Unschedulable: true}})
	create(t, s, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "x"}, Status: corev1.NamespaceStatus{Phase: "Active"}})
	create(t, s, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}, Type: "Opaque"})
	create(t, s, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}, Spec: corev1.ServiceSpec{Type: "ClusterIP"}})
	create(t, s, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}, Reason: "Failed", InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "a"}})
	create(t, s, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x"}, Status: batchv1.JobStatus{Succeeded: 3}})
	p := pod("ns", "x")
	p.Status.Phase = corev1.PodRunning
	create(t, s, p)
	for _, tc := range []struct {
		gvr      schema.GroupVersionResource
		yes, not string
	}{
		{nodes, "spec.unschedulable=true", "spec.unschedulable=false"},
		{corev1.SchemeGroupVersion.WithResource("namespaces"), "status.phase=Active", "status.phase=Terminating"},
		{corev1.SchemeGroupVersion.WithResource("secrets"), "type=Opaque", "type=other"},
		{corev1.SchemeGroupVersion.WithResource("services"), "spec.type=ClusterIP", "spec.type=NodePort"},
		{corev1.SchemeGroupVersion.WithResource("events"), "involvedObject.kind=Pod,reason=Failed", "involvedObject.name=b"},
		{batchv1.SchemeGroupVersion.WithResource("jobs"), "status.successful=3", "status.successful!=3"},
		{pods, "status.phase=Running,metadata.name=x", "status.phase!=Running"},
	} {
		lw := s.ListerWatcher(tc.gvr, "")
		yes := len(items(t, must(lw.List(metav1.ListOptions{FieldSelector: tc.yes}))(t)))
		not := len(items(t, must(lw.List(metav1.ListOptions{FieldSelector: tc.not}))(t)))
		if yes != 1 || not != 0 {
			t.Errorf("%s: %q selects %d, %q selects %d", tc.gvr.Resource, tc.yes, yes, tc.not, not)
		}
	}
	if _, err := s.ListerWatcher(nodes, "").List(metav1.ListOptions{FieldSelector: "metadata.namespace=x"}); !apierrors.IsBadRequest(err) {
		t.Errorf("namespace of a cluster-scoped resource: %v", err)
	}
}

// watchLines opens a raw JSON watch.
func watchLines(t *testing.T, url, accept string) func() map[string]any {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), "GET", url, nil))(t)
	req.Header.Set("Accept", accept)
	resp := must(http.DefaultClient.Do(req))(t)
	t.Cleanup(func() {
		resp.Body.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	lines := bufio.NewScanner(resp.Body)
	return func() map[string]any {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the watch ended: %v", lines.Err())
		}
		var ev map[string]any
		if err := json.Unmarshal(lines.Bytes(), &ev); err != nil {
			t.Fatal(err)
		}
		return ev
	}
}

func TestWatchOfTables(t *testing.T) {
	s := startServer(t, apitest.Options{})
	create(t, s, pod("ns", "a"))
	create(t, s, pod("ns", "b"))
	next := watchLines(t, s.Config().Host+"/api/v1/pods?watch=1&allowWatchBookmarks=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan",
		"application/json;as=Table;v=v1;g=meta.k8s.io")
	for _, want := range []struct {
		event   string
		columns int
	}{{"ADDED", 2}, {"ADDED", 0}, {"BOOKMARK", 0}} {
		ev := next()
		table := ev["object"].(map[string]any)
		columns, _ := table["columnDefinitions"].([]any)
		if ev["type"] != want.event || table["kind"] != "Table" || len(columns) != want.columns || len(table["rows"].([]any)) != 1 {
			t.Errorf("got %v, want %+v", ev, want)
		}
	}
}

func TestWatchOfOneObjectByItsPath(t *testing.T) {
	s := startServer(t, apitest.Options{})
	create(t, s, pod("ns", "a"))
	create(t, s, pod("ns", "b"))
	next := watchLines(t, s.Config().Host+"/api/v1/namespaces/ns/pods/b?watch=1", "application/json")
	if ev := next(); ev["object"].(map[string]any)["metadata"].(map[string]any)["name"] != "b" {
		t.Errorf("got %v", ev)
	}
	diff(t, "watches", 1, s.CountRequests("watch", "pods"))
}

func TestDamagedMetadataAndCustomResources(t *testing.T) {
	s := startServer(t, apitest.Options{Resources: []apitest.Resource{widgets}})
	for _, name := range []string{"bad", "good"} {
		create(t, s, newWidget(name, "red"))
		create(t, s, pod("ns", name))
	}
	s.Inject(apitest.Fault{Undecodable: []string{"ns/bad"}})
	client := must(metadata.NewForConfig(s.Config()))(t)
	for _, gvr := range []schema.GroupVersionResource{widgets.GVR(), pods} {
		if _, err := client.Resource(gvr).List(ctx, metav1.ListOptions{}); err == nil {
			t.Errorf("%s: the list was decoded", gvr.Resource)
		}
		if list := must(client.Resource(gvr).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=good"}))(t); len(list.Items) != 1 {
			t.Errorf("%s: %d items", gvr.Resource, len(list.Items))
		}
	}
	page := must(apitest.Source[*metav1.PartialObjectMetadata](s, widgets.GVR(), "").List(ctx, metav1.ListOptions{}))(t)
	_, bad := page.Items[0].Object()
	good, err := page.Items[1].Object()
	if bad == nil || err != nil || good.Name != "good" {
		t.Errorf("in the process: %v; %v, %v", bad, good, err)
	}
}

func TestYAMLIsTakenAndGiven(t *testing.T) {
	s := startServer(t, apitest.Options{})
	body := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n"
	req := must(http.NewRequestWithContext(ctx, "POST", s.Config().Host+"/api/v1/namespaces/ns/configmaps", strings.NewReader(body)))(t)
	req.Header.Set("Content-Type", "application/yaml")
	req.Header.Set("Accept", "application/yaml")
	resp := must(http.DefaultClient.Do(req))(t)
	defer http.DefaultClient.CloseIdleConnections()
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated || resp.Header.Get("Content-Type") != "application/yaml" {
		t.Errorf("status %d, %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	diff(t, "data", map[string]string{"a": "b"}, must(apitest.Get[*corev1.ConfigMap](s, configMaps, "ns", "c"))(t).Data)
}

func TestOneGroupAndOpenAPI(t *testing.T) {
	s := startServer(t, apitest.Options{})
	client := must(discovery.NewDiscoveryClientForConfig(s.Config()))(t)
	group := &metav1.APIGroup{}
	if err := client.RESTClient().Get().AbsPath("/apis/apps").Do(ctx).Into(group); err != nil || group.PreferredVersion.GroupVersion != "apps/v1" {
		t.Errorf("%v, %v", group, err)
	}
	if err := client.RESTClient().Get().AbsPath("/apis/none").Do(ctx).Error(); !apierrors.IsNotFound(err) {
		t.Errorf("no group: %v", err)
	}
	root := openapi3.NewRoot(client.OpenAPIV3())
	doc := must(root.GVSpec(schema.GroupVersion{Group: "apps", Version: "v1"}))(t)
	if doc.Paths.Paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"].Patch == nil {
		t.Errorf("no patch operation in %v", doc.Paths)
	}
}
