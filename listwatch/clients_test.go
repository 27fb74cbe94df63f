package listwatch_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/listwatch"
)

var (
	configMapKind = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	configMaps    = corev1.SchemeGroupVersion.WithResource("configmaps")
	gadgetKind    = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}
	gadgets       = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gadgets"}
)

// clientsOf serves ConfigMaps and Gadgets, one of each in two namespaces, by HTTP.
func clientsOf(t *testing.T) (*apitest.Server, *listwatch.Clients) {
	t.Helper()
	server := apitest.NewServer(apitest.Options{Resources: []apitest.Resource{{Kind: gadgetKind}}})
	t.Cleanup(server.Close)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	for _, namespace := range []string{"a", "b"} {
		mustCreate(t, server, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "x"}, Data: map[string]string{"v": "1"}})
		gadget := &unstructured.Unstructured{}
		gadget.SetGroupVersionKind(gadgetKind)
		gadget.SetNamespace(namespace)
		gadget.SetName("x")
		mustCreate(t, server, gadget)
	}
	clients, err := listwatch.NewClients(server.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return server, clients
}

func mustCreate[T runtime.Object](t *testing.T, server *apitest.Server, obj T) {
	t.Helper()
	if _, err := apitest.Create(server, obj); err != nil {
		t.Fatal(err)
	}
}

// Sources of every form, built-in or custom, in one namespace or all, list and watch objects of that form.
func TestClientsMakeSourcesOfEveryForm(t *testing.T) {
	server, clients := clientsOf(t)
	is := func(want runtime.Object) func(runtime.Object) bool {
		return func(got runtime.Object) bool { return typeOf(got) == typeOf(want) }
	}
	typed := func(resource schema.GroupVersionResource, namespace string) (listwatch.Source[runtime.Object], error) {
		return clients.Typed(resource, configMapKind, namespace)
	}
	for name, test := range map[string]struct {
		make     func(schema.GroupVersionResource, string) (listwatch.Source[runtime.Object], error)
		resource schema.GroupVersionResource
		form     func(runtime.Object) bool
	}{
		"typed":                   {typed, configMaps, is(&corev1.ConfigMap{})},
		"unstructured":            {clients.Unstructured, configMaps, is(&unstructured.Unstructured{})},
		"metadata":                {clients.Metadata, configMaps, is(&metav1.PartialObjectMetadata{})},
		"unstructured, custom":    {clients.Unstructured, gadgets, is(&unstructured.Unstructured{})},
		"metadata only of custom": {clients.Metadata, gadgets, is(&metav1.PartialObjectMetadata{})},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			for namespace, want := range map[string][]string{"": {"a/x", "b/x"}, "b": {"b/x"}} {
				source, err := test.make(test.resource, namespace)
				if err != nil {
					t.Fatal(err)
				}
				page, err := source.List(ctx, metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				var keys []string
				for n := range page.Items {
					keys = append(keys, page.Items[n].Key)
					if obj, err := page.Items[n].Object(); err != nil || !test.form(obj) {
						t.Errorf("%s: %T, %v", page.Items[n].Key, obj, err)
					}
				}
				if !slices.Equal(keys, want) || page.ResourceVersion != server.ResourceVersion() || page.Remaining != 0 {
					t.Errorf("in %q: listed %q at %s, %d remain", namespace, keys, page.ResourceVersion, page.Remaining)
				}
				stream, err := source.Watch(ctx, metav1.ListOptions{SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
				if err != nil {
					t.Fatal(err)
				}
				watched, ended := 0, false
				for !ended {
					events, err := stream.Next(ctx)
					if err != nil {
						t.Fatal(err)
					}
					for n := range events {
						if ended = events[n].InitialEventsEnd; ended {
							break
						}
						if obj, err := events[n].Item.Object(); err != nil || !test.form(obj) {
							t.Errorf("watched %T, %v", obj, err)
						}
						watched++
					}
				}
				if watched != len(want) {
					t.Errorf("in %q: watched %d", namespace, watched)
				}
				stream.Stop()
				if _, err := stream.Next(ctx); !errors.Is(err, io.EOF) {
					t.Errorf("after Stop: %v", err)
				}
			}
		})
	}
}

func typeOf(obj runtime.Object) reflect.Type { return reflect.TypeOf(obj) }

func TestClientsTypedNeedAKnownKind(t *testing.T) {
	_, clients := clientsOf(t)
	if _, err := clients.Typed(gadgets, gadgetKind, ""); err == nil || !runtime.IsNotRegisteredError(errors.Unwrap(err)) {
		t.Errorf("error is %v", err)
	}
}

// Errors of the server arrive as such, whatever the form.
func TestClientsGiveTheServersErrors(t *testing.T) {
	server, clients := clientsOf(t)
	source, err := clients.Typed(configMaps, configMapKind, "")
	if err != nil {
		t.Fatal(err)
	}
	server.Inject(apitest.Fault{Error: apierrors.NewForbidden(configMaps.GroupResource(), "", errors.New("no role"))})
	if _, err := source.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list: %v", err)
	}
	missing, err := clients.Unstructured(gadgets.GroupVersion().WithResource("nothings"), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := missing.Watch(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
		t.Errorf("watch: %v", err)
	}
}

// One object that can't be decoded fails alone, also where objects are runtime.Objects.
func TestClientsSetAsideWhatCannotBeDecoded(t *testing.T) {
	server, clients := clientsOf(t)
	server.Inject(apitest.Fault{Undecodable: []string{"a/x"}})
	source, err := clients.Typed(configMaps, configMapKind, "")
	if err != nil {
		t.Fatal(err)
	}
	page, err := source.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var good, bad int
	for n := range page.Items {
		obj, err := page.Items[n].Object()
		var undecodable *listwatch.DecodeError
		switch {
		case err == nil && obj != nil && page.Items[n].Key == "b/x":
			good++
		case errors.As(err, &undecodable) && obj == nil:
			bad++
		}
	}
	if good != 1 || bad != 1 {
		t.Errorf("%d good, %d set aside", good, bad)
	}
}

func TestDiscoverFindsWhatCanBeFollowed(t *testing.T) {
	server, clients := clientsOf(t)
	find := func(gr schema.GroupResource) (versions []string, found listwatch.Resource) {
		t.Helper()
		all, err := clients.Discover(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			if strings.Contains(r.GVR.Resource, "/") {
				t.Errorf("%v is no resource of its own", r.GVR)
			}
			if r.GVR.GroupResource() == gr {
				versions, found = append(versions, r.GVR.Version), r
			}
		}
		return versions, found
	}
	if versions, r := find(gadgets.GroupResource()); !slices.Equal(versions, []string{"v1"}) || r.Kind != gadgetKind || !r.Namespaced {
		t.Errorf("gadgets: %v %+v", versions, r)
	}
	if _, r := find(schema.GroupResource{Resource: "nodes"}); r.Kind != corev1.SchemeGroupVersion.WithKind("Node") || r.Namespaced {
		t.Errorf("nodes: %+v", r)
	}
	server.RemoveResource(gadgets.GroupResource())
	if versions, _ := find(gadgets.GroupResource()); versions != nil {
		t.Errorf("gadgets are gone, found %v", versions)
	}
	for _, version := range []string{"v1alpha1", "v1", "v1beta1"} {
		if err := server.AddResource(apitest.Resource{Kind: gadgetKind.GroupKind().WithVersion(version)}); err != nil {
			t.Fatal(err)
		}
	}
	if versions, _ := find(gadgets.GroupResource()); !slices.Equal(versions, []string{"v1", "v1beta1", "v1alpha1"}) {
		t.Errorf("gadgets come in %v", versions)
	}
	server.Close()
	if _, err := clients.Discover(t.Context()); err == nil {
		t.Error("discovered a server that is down")
	}
}
