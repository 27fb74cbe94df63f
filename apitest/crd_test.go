package apitest_test

import (
	"encoding/json"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/informerkit/informerkit/apitest"
)

const gadgetCRD = `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gadgets.example.com"},
	"spec": {
		"group": "example.com", "scope": "Cluster", "names": {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gd"]},
		"versions": [
			{"name": "v1beta1", "served": true, "storage": false},
			{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "selectableFields": [{"jsonPath": ".spec.size"}]},
			{"name": "v1alpha1", "served": false, "storage": false}
		]
	}
}`

var (
	crds     = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	gadgets  = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
	gadgets1 = schema.GroupVersionResource{Group: "example.com", Version: "v1beta1", Resource: "gadgets"}
)

func unstructuredOf(t *testing.T, data string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(data), u); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCreatedDefinitionIsServedUntilItIsDeleted(t *testing.T) {
	s := startServer(t, apitest.Options{})
	client := must(dynamic.NewForConfig(s.Config()))(t)
	if _, err := client.Resource(gadgets).List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("before: %v", err)
	}
	crd := must(client.Resource(crds).Create(ctx, unstructuredOf(t, gadgetCRD), metav1.CreateOptions{}))(t)
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	if len(conditions) != 2 {
		t.Errorf("conditions %v", conditions)
	}

	g := unstructuredOf(t, `{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{"name":"g"},"spec":{"size":3},"status":{"ok":true}}`)
	g = must(client.Resource(gadgets).Create(ctx, g, metav1.CreateOptions{}))(t)
	if g.Object["status"] != nil {
		t.Error("the status subresource is not there")
	}
	beta := must(client.Resource(gadgets1).Get(ctx, "g", metav1.GetOptions{}))(t)
	if beta.GetAPIVersion() != "example.com/v1beta1" || beta.GetUID() != g.GetUID() {
		t.Errorf("in the other version: %v", beta.Object)
	}
	beta.SetLabels(map[string]string{"a": "b"})
	must(client.Resource(gadgets1).Update(ctx, beta, metav1.UpdateOptions{}))(t)
	list := must(client.Resource(gadgets).List(ctx, metav1.ListOptions{LabelSelector: "a=b", FieldSelector: "spec.size=3"}))(t)
	if len(list.Items) != 1 || list.Items[0].GetAPIVersion() != "example.com/v1" {
		t.Errorf("list after an update in the other version: %v", list.Items)
	}

	disco := must(discovery.NewDiscoveryClientForConfig(s.Config()))(t)
	for _, gv := range []string{"example.com/v1", "example.com/v1beta1"} {
		must(disco.ServerResourcesForGroupVersion(gv))(t)
	}
	if _, err := disco.ServerResourcesForGroupVersion("example.com/v1alpha1"); !apierrors.IsNotFound(err) {
		t.Errorf("a version that is not served: %v", err)
	}
	groups := must(disco.ServerGroups())(t)
	for _, group := range groups.Groups {
		if group.Name == "example.com" {
			diff(t, "preferred version", "v1", group.PreferredVersion.Version)
		}
	}

	w := must(client.Resource(gadgets).Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}))(t)
	if err := client.Resource(crds).Delete(ctx, crd.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	diff(t, "events", []string{"DELETED g@5"}, take(t, w, -1))
	for _, gvr := range []schema.GroupVersionResource{gadgets, gadgets1} {
		if _, err := client.Resource(gvr).List(ctx, metav1.ListOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("after: %v", err)
		}
	}
	must(client.Resource(crds).Create(ctx, unstructuredOf(t, gadgetCRD), metav1.CreateOptions{}))(t)
	if list := must(client.Resource(gadgets).List(ctx, metav1.ListOptions{}))(t); len(list.Items) != 0 {
		t.Errorf("defined again, it has %v", list.Items)
	}
}

func TestBadDefinitionsAreInvalid(t *testing.T) {
	s := newServer(t, apitest.Options{})
	for name, change := range map[string]func(*unstructured.Unstructured){
		"name":        func(u *unstructured.Unstructured) { u.SetName("other.example.com") },
		"no group":    func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "spec", "group") },
		"no versions": func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "spec", "versions") },
		"already built in": func(u *unstructured.Unstructured) {
			u.SetName("deployments.apps")
			u.Object["spec"].(map[string]any)["group"] = "apps"
			u.Object["spec"].(map[string]any)["names"] = map[string]any{"plural": "deployments", "kind": "Deployment"}
		},
	} {
		u := unstructuredOf(t, gadgetCRD)
		change(u)
		if _, err := apitest.Create(s, u); !apierrors.IsInvalid(err) {
			t.Errorf("%s: %v, want Invalid", name, err)
		}
	}
	create(t, s, unstructuredOf(t, gadgetCRD))
}

func TestBadResourcesAreRefused(t *testing.T) {
	s := newServer(t, apitest.Options{Resources: []apitest.Resource{widgets}})
	for name, r := range map[string]apitest.Resource{"no kind": {}, "twice": widgets, "built in": {Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}}} {
		if err := s.AddResource(r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("NewServer took a resource without kind")
		}
	}()
	apitest.NewServer(apitest.Options{Resources: []apitest.Resource{{}}})
}
