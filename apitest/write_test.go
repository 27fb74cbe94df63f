package apitest_test

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/apitest"
)

// served gives a server with pod ns/a, and clients for it.
func served(t *testing.T) (*apitest.Server, clientcorev1.PodInterface, *corev1.Pod) {
	t.Helper()
	s := startServer(t, apitest.Options{Resources: []apitest.Resource{widgets}})
	client := must(kubernetes.NewForConfig(s.Config()))(t).CoreV1().Pods("ns")
	p := labelled(pod("ns", "a"), map[string]string{"app": "x"})
	p.Spec.Containers = []corev1.Container{{Name: "one", Image: "i:1"}, {Name: "two", Image: "i:1"}}
	p.Status.Phase = corev1.PodRunning
	return s, client, create(t, s, p)
}

func TestRefusedWrites(t *testing.T) {
	s, client, a := served(t)
	other, uid, rv := *a.DeepCopy(), types.UID("another"), "1"
	other.UID = uid
	stale := *a.DeepCopy()
	stale.ResourceVersion = rv
	elsewhere := *a.DeepCopy()
	elsewhere.Namespace = "elsewhere"
	withRV := *pod("ns", "new")
	withRV.ResourceVersion = "5"
	ns := must(kubernetes.NewForConfig(s.Config()))(t).CoreV1().Namespaces()
	widget := must(dynamic.NewForConfig(s.Config()))(t).Resource(widgets.GVR()).Namespace("ns")
	w := newWidget("w", "red")
	must(widget.Create(ctx, w, metav1.CreateOptions{}))(t)

	before := s.ResourceVersion()
	for name, tc := range map[string]struct {
		write func() error
		want  metav1.StatusReason
	}{
		"create: no name":  {func() error { _, err := client.Create(ctx, pod("ns", ""), metav1.CreateOptions{}); return err }, "Invalid"},
		"create: bad name": {func() error { _, err := client.Create(ctx, pod("ns", "A_b"), metav1.CreateOptions{}); return err }, "Invalid"},
		"create: bad label": {func() error {
			_, err := client.Create(ctx, labelled(pod("ns", "b"), map[string]string{"a b": ""}), metav1.CreateOptions{})
			return err
		}, "Invalid"},
		"create: exists":          {func() error { _, err := client.Create(ctx, pod("ns", "a"), metav1.CreateOptions{}); return err }, "AlreadyExists"},
		"create: other namespace": {func() error { _, err := client.Create(ctx, pod("elsewhere", "b"), metav1.CreateOptions{}); return err }, "BadRequest"},
		"create: with version":    {func() error { _, err := client.Create(ctx, &withRV, metav1.CreateOptions{}); return err }, ""},
		"create: dotted namespace": {func() error {
			_, err := ns.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a.b"}}, metav1.CreateOptions{})
			return err
		}, "Invalid"},
		"update: none":                            {func() error { _, err := client.Update(ctx, pod("ns", "none"), metav1.UpdateOptions{}); return err }, "NotFound"},
		"update: old version":                     {func() error { _, err := client.Update(ctx, &stale, metav1.UpdateOptions{}); return err }, "Conflict"},
		"update: other UID":                       {func() error { _, err := client.Update(ctx, &other, metav1.UpdateOptions{}); return err }, "Conflict"},
		"update: other namespace":                 {func() error { _, err := client.Update(ctx, &elsewhere, metav1.UpdateOptions{}); return err }, "BadRequest"},
		"update: custom resource without version": {func() error { _, err := widget.Update(ctx, newWidget("w", "blue"), metav1.UpdateOptions{}); return err }, "Invalid"},
		"status: old version":                     {func() error { _, err := client.UpdateStatus(ctx, &stale, metav1.UpdateOptions{}); return err }, "Conflict"},
		"delete: none":                            {func() error { return client.Delete(ctx, "none", metav1.DeleteOptions{}) }, "NotFound"},
		"delete: other UID": {func() error {
			return client.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		}, "Conflict"},
		"delete: other version": {func() error {
			return client.Delete(ctx, "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &rv}})
		}, "Conflict"},
		"patch: not JSON": {func() error {
			_, err := client.Patch(ctx, "a", types.MergePatchType, []byte("{"), metav1.PatchOptions{})
			return err
		}, "BadRequest"},
		"patch: old version": {func() error {
			_, err := client.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"1","labels":{"b":"c"}}}`), metav1.PatchOptions{})
			return err
		}, "Conflict"},
		"patch: name": {func() error {
			_, err := client.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"name":"b"}}`), metav1.PatchOptions{})
			return err
		}, "BadRequest"},
		"patch: test fails": {func() error {
			_, err := client.Patch(ctx, "a", types.JSONPatchType, []byte(`[{"op":"test","path":"/metadata/name","value":"b"}]`), metav1.PatchOptions{})
			return err
		}, "Invalid"},
		"patch: wrong type": {func() error {
			_, err := client.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"containers":7}}`), metav1.PatchOptions{})
			return err
		}, "BadRequest"},
		"patch: strategic on a custom resource": {func() error {
			_, err := widget.Patch(ctx, "w", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
			return err
		}, "UnsupportedMediaType"},
		"patch: none": {func() error {
			_, err := client.Patch(ctx, "none", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
			return err
		}, "NotFound"},
		"subresource not served": {func() error {
			_, err := client.Patch(ctx, "a", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}, "scale")
			return err
		}, "NotFound"},
	} {
		if err := tc.write(); err == nil || apierrors.ReasonForError(err) != tc.want {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
	diff(t, "resource version after writes that were refused", before, s.ResourceVersion())
}

func newWidget(name, color string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": name, "namespace": "ns"}, "spec": map[string]any{"color": color},
	}}
}

func TestWritesThatChangeNothingAreNoWrites(t *testing.T) {
	s, client, a := served(t)
	before := s.ResourceVersion()
	got := must(client.Update(ctx, a, metav1.UpdateOptions{}))(t)
	diff(t, "update", a.ResourceVersion, got.ResourceVersion)
	got = must(client.Patch(ctx, "a", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":"x"}}}`), metav1.PatchOptions{}))(t)
	diff(t, "patch", a.ResourceVersion, got.ResourceVersion)
	diff(t, "server", before, s.ResourceVersion())
}

func TestMainAndStatusAreWrittenApart(t *testing.T) {
	_, client, a := served(t)
	main := a.DeepCopy()
	main.Spec.NodeName, main.Status.Phase = "n1", corev1.PodFailed
	got := must(client.Update(ctx, main, metav1.UpdateOptions{}))(t)
	if got.Spec.NodeName != "n1" || got.Status.Phase != corev1.PodRunning || got.Generation != 2 {
		t.Errorf("update gave node %s, phase %s, generation %d", got.Spec.NodeName, got.Status.Phase, got.Generation)
	}
	status := got.DeepCopy()
	status.Spec.NodeName, status.Status.Phase, status.Labels = "n2", corev1.PodFailed, nil
	got = must(client.UpdateStatus(ctx, status, metav1.UpdateOptions{}))(t)
	if got.Spec.NodeName != "n1" || got.Status.Phase != corev1.PodFailed || got.Generation != 2 || got.Labels["app"] != "x" {
		t.Errorf("status update gave node %s, phase %s, generation %d, labels %v", got.Spec.NodeName, got.Status.Phase, got.Generation, got.Labels)
	}
	got = must(client.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"nodeName":"n3"},"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status"))(t)
	if got.Spec.NodeName != "n1" || got.Status.Phase != corev1.PodSucceeded {
		t.Errorf("status patch gave node %s, phase %s", got.Spec.NodeName, got.Status.Phase)
	}
	created := pod("ns", "b")
	created.Status.Phase = corev1.PodRunning
	if got := must(client.Create(ctx, created, metav1.CreateOptions{}))(t); got.Status.Phase != "" {
		t.Errorf("create gave phase %s", got.Status.Phase)
	}
}

func TestPatches(t *testing.T) {
	for name, tc := range map[string]struct {
		typ   types.PatchType
		patch string
		check func(*corev1.Pod) bool
	}{
		"merge replaces lists": {types.MergePatchType, `{"spec":{"containers":[{"name":"one","image":"i:2"}]},"metadata":{"labels":{"app":null,"new":"1"}}}`,
			func(p *corev1.Pod) bool {
				return len(p.Spec.Containers) == 1 && len(p.Labels) == 1 && p.Labels["new"] == "1"
			}},
		"strategic merges by key": {types.StrategicMergePatchType, `{"spec":{"containers":[{"name":"one","image":"i:2"}]}}`,
			func(p *corev1.Pod) bool {
				return len(p.Spec.Containers) == 2 && p.Spec.Containers[0].Image == "i:2" && p.Spec.Containers[1].Image == "i:1"
			}},
		"JSON patch": {types.JSONPatchType, `[{"op":"replace","path":"/spec/containers/1/image","value":"i:3"}]`,
			func(p *corev1.Pod) bool { return p.Spec.Containers[1].Image == "i:3" }},
		"apply": {types.ApplyPatchType, "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: two\n    image: i:4\n",
			func(p *corev1.Pod) bool { return len(p.Spec.Containers) == 2 && p.Spec.Containers[1].Image == "i:4" }},
	} {
		t.Run(name, func(t *testing.T) {
			_, client, _ := served(t)
			if got := must(client.Patch(ctx, "a", tc.typ, []byte(tc.patch), metav1.PatchOptions{FieldManager: "test"}))(t); !tc.check(got) {
				t.Errorf("got %v, labels %v", got.Spec.Containers, got.Labels)
			}
		})
	}
}

func TestApplyCreatesWhatIsNotThere(t *testing.T) {
	s, client, _ := served(t)
	config := []byte(`{"apiVersion":"v1","kind":"Pod","spec":{"nodeName":"n1"}}`)
	got := must(client.Patch(ctx, "new", types.ApplyPatchType, config, metav1.PatchOptions{FieldManager: "test"}))(t)
	if got.Name != "new" || got.Namespace != "ns" || got.Spec.NodeName != "n1" || got.UID == "" {
		t.Errorf("created %+v", got)
	}
	widget := must(dynamic.NewForConfig(s.Config()))(t).Resource(widgets.GVR()).Namespace("ns")
	w := must(widget.Apply(ctx, "w", newWidget("w", "red"), metav1.ApplyOptions{FieldManager: "test"}))(t)
	w2 := must(widget.Apply(ctx, "w", newWidget("w", "blue"), metav1.ApplyOptions{FieldManager: "test"}))(t)
	if w.GetUID() != w2.GetUID() || w2.GetGeneration() != 2 {
		t.Errorf("applied twice: UIDs %s and %s, generation %d", w.GetUID(), w2.GetUID(), w2.GetGeneration())
	}
}

func TestFinalizersHoldADeletedObject(t *testing.T) {
	s, client, a := served(t)
	a.Finalizers = []string{"example.com/wait"}
	a = must(client.Update(ctx, a, metav1.UpdateOptions{}))(t)
	w := must(client.Watch(ctx, metav1.ListOptions{ResourceVersion: a.ResourceVersion}))(t)
	defer w.Stop()
	for range 2 { // the second changes nothing
		if err := client.Delete(ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	a = must(client.Get(ctx, "a", metav1.GetOptions{}))(t)
	if a.DeletionTimestamp == nil {
		t.Fatal("no deletion timestamp")
	}
	a.Finalizers = nil
	must(client.Update(ctx, a, metav1.UpdateOptions{}))(t)
	if _, err := client.Get(ctx, "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after the last finalizer: %v", err)
	}
	diff(t, "events", []string{"MODIFIED ns/a@4", "DELETED ns/a@5"}, take(t, w, 2))
	diff(t, "resource version", "5", s.ResourceVersion())
}

func TestGeneratedNamesAreNewAndRepeatable(t *testing.T) {
	names := func(seed uint64) []string {
		s := newServer(t, apitest.Options{Seed: seed})
		var out []string
		for range 50 {
			p := create(t, s, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", GenerateName: "p-"}})
			out = append(out, p.Name+" "+string(p.UID))
		}
		return out
	}
	first := names(1)
	seen := map[string]bool{}
	for _, n := range first {
		if seen[n] || len(n) != len("p-12345 ")+36 {
			t.Errorf("name and UID %q", n)
		}
		seen[n] = true
	}
	diff(t, "the same seed", first, names(1))
	if other := names(2); other[0] == first[0] {
		t.Errorf("another seed gave %s too", other[0])
	}
}

func TestDeleteCollectionDeletesWhatIsSelected(t *testing.T) {
	s, client, _ := served(t)
	create(t, s, pod("ns", "b"))
	create(t, s, labelled(pod("other", "c"), map[string]string{"app": "x"}))
	if err := client.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=x"}); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, p := range must(apitest.List[*corev1.Pod](s, pods, ""))(t) {
		left = append(left, p.Namespace+"/"+p.Name)
	}
	diff(t, "left", []string{"ns/b", "other/c"}, left)
}

func TestDryRunWritesNothing(t *testing.T) {
	s, client, a := served(t)
	before := s.ResourceVersion()
	dry := []string{metav1.DryRunAll}
	if got := must(client.Create(ctx, pod("ns", "new"), metav1.CreateOptions{DryRun: dry}))(t); got.UID == "" {
		t.Error("create answers without UID")
	}
	a.Spec.NodeName = "n9"
	if got := must(client.Update(ctx, a, metav1.UpdateOptions{DryRun: dry}))(t); got.Spec.NodeName != "n9" {
		t.Error("update answers without the change")
	}
	must(client.Patch(ctx, "a", types.MergePatchType, []byte(`{"spec":{"nodeName":"n8"}}`), metav1.PatchOptions{DryRun: dry}))(t)
	if err := client.Delete(ctx, "a", metav1.DeleteOptions{DryRun: dry}); err != nil {
		t.Error(err)
	}
	if err := client.DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dry}, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	diff(t, "resource version", before, s.ResourceVersion())
	if got := must(client.Get(ctx, "a", metav1.GetOptions{}))(t); got.Spec.NodeName != "" {
		t.Errorf("node %s", got.Spec.NodeName)
	}
}

func TestCallersCannotChangeWhatIsStored(t *testing.T) {
	s := newServer(t, apitest.Options{Resources: []apitest.Resource{widgets}})
	spoil := func(obj runtime.Object) {
		m := metaOf(t, obj)
		if labels := m.GetLabels(); labels != nil {
			labels["app"] = "spoilt"
			m.SetLabels(labels)
		}
		switch obj := obj.(type) {
		case *corev1.Pod:
			obj.Spec.Containers[0].Image = "spoilt"
		case *unstructured.Unstructured:
			if spec, ok := obj.Object["spec"].(map[string]any); ok {
				spec["color"] = "spoilt"
			}
		}
	}
	p := labelled(pod("ns", "a"), map[string]string{"app": "x"})
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	w := newWidget("w", "red")
	w.SetLabels(map[string]string{"app": "x"})
	spoil(create(t, s, p))
	spoil(p)
	spoil(create(t, s, w))
	spoil(w)
	gvr := widgets.GVR()
	for range 2 { // the first round hands out and spoils, the second finds that nothing came of it
		for _, obj := range []runtime.Object{
			must(apitest.Get[*corev1.Pod](s, pods, "ns", "a"))(t),
			must(apitest.Get[*unstructured.Unstructured](s, pods, "ns", "a"))(t),
			must(apitest.Get[*metav1.PartialObjectMetadata](s, pods, "ns", "a"))(t),
			must(apitest.Get[*unstructured.Unstructured](s, gvr, "ns", "w"))(t),
			must(apitest.Get[*metav1.PartialObjectMetadata](s, gvr, "ns", "w"))(t),
			must(apitest.List[runtime.Object](s, pods, ""))(t)[0],
			items(t, must(s.ListerWatcher(pods, "").List(metav1.ListOptions{}))(t))[0],
			items(t, must(s.ListerWatcher(gvr, "").List(metav1.ListOptions{}))(t))[0],
			must(must(apitest.Source[*corev1.Pod](s, pods, "").List(ctx, metav1.ListOptions{}))(t).Items[0].Object())(t),
		} {
			if got := metaOf(t, obj).GetLabels()["app"]; got != "x" {
				t.Errorf("%T has label %q", obj, got)
			}
			switch obj := obj.(type) {
			case *corev1.Pod:
				diff(t, "image", "i", obj.Spec.Containers[0].Image)
			case *unstructured.Unstructured:
				if color, found, _ := unstructured.NestedString(obj.Object, "spec", "color"); found {
					diff(t, "color", "red", color)
				}
			}
			spoil(obj)
		}
		watch := must(s.ListerWatcher(pods, "").Watch(metav1.ListOptions{}))(t)
		spoil((<-watch.ResultChan()).Object)
		watch.Stop()
	}
}

func TestDirectWritesAreNoRequestsAndMeetNoFaults(t *testing.T) {
	s := newServer(t, apitest.Options{})
	s.Inject(apitest.Fault{Error: apierrors.NewUnauthorized("")})
	a := create(t, s, pod("ns", "a"))
	a.Status.Phase = corev1.PodRunning
	b := update(t, s, a)
	if b.Status.Phase != corev1.PodRunning {
		t.Error("a direct update left the status out")
	}
	if _, err := apitest.Update(s, a); !apierrors.IsConflict(err) {
		t.Errorf("update of an old version: %v", err)
	}
	wrong := pod("ns", "a")
	wrong.UID = "other"
	if _, err := apitest.Delete(s, wrong); !apierrors.IsConflict(err) {
		t.Errorf("delete of another UID: %v", err)
	}
	gone := remove(t, s, pod("ns", "a"))
	diff(t, "last state", "4", gone.ResourceVersion)
	if _, err := apitest.Delete(s, a); !apierrors.IsNotFound(err) {
		t.Errorf("second delete: %v", err)
	}
	if again := create(t, s, a); again.UID == a.UID || again.ResourceVersion != "5" {
		t.Errorf("created again with UID %s (was %s) at %s", again.UID, a.UID, again.ResourceVersion)
	}
	diff(t, "requests", 0, len(s.Requests()))
}

func TestRawRequestsThatMakeNoSense(t *testing.T) {
	s, _, _ := served(t)
	client := must(rest.HTTPClientFor(s.Config()))(t)
	for request, want := range map[string]int{
		"GET /":                                              404,
		"GET /api/v1/hats":                                   404,
		"GET /apis/hats.example.com/v1":                      404,
		"GET /api/v1/pods/a":                                 404, // a namespaced object without namespace
		"GET /api/v1/namespaces/ns/nodes":                    404, // a cluster-scoped one with
		"POST /api/v1/namespaces/ns/pods/a":                  405,
		"PUT /api/v1/namespaces/ns/pods":                     405,
		"GET /api/v1/namespaces/ns/pods?limit=x":             400,
		"GET /api/v1/namespaces/ns/pods/a/b/c":               404,
		"POST /api/v1/namespaces/ns/pods":                    400, // no body
		"GET /healthz":                                       200,
		"GET /openapi/v3":                                    200,
		"HEAD /api/v1/namespaces/ns/pods":                    200,
		"DELETE /api/v1/namespaces/ns/configmaps?dryRun=All": 200,
	} {
		method, path, _ := strings.Cut(request, " ")
		req := must(http.NewRequestWithContext(ctx, method, s.Config().Host+path, nil))(t)
		resp := must(client.Do(req))(t)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", request, resp.StatusCode, want)
		}
	}
	req := must(http.NewRequestWithContext(ctx, "GET", s.Config().Host+"/api/v1/pods", nil))(t)
	req.Header.Set("Accept", "text/html")
	resp := must(client.Do(req))(t)
	resp.Body.Close()
	diff(t, "status for text/html", 406, resp.StatusCode)
}
