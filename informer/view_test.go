package informer_test

import (
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer"
)

// Typed, unstructured and metadata handles of one resource share one list, one watch and one copy.
func TestViewsOfOneResourceShareOneListAndOneWatch(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		typed, dynamic, meta := hold[object](w, mapScope), hold[untyped](w, mapScope), hold[metadata](w, mapScope)
		native := hold[runtime.Object](w, mapScope)
		w.run()
		w.settle()
		w.update(cm("a", "2"))
		synctest.Wait()
		w.wantRequests("configmaps", 1, 1)

		obj, _ := typed.Get("default/a")
		un, _ := dynamic.Get("default/a")
		md, _ := meta.Get("default/a")
		if obj == nil || un == nil || md == nil {
			t.Fatalf("typed %v, unstructured %v, metadata %v", obj, un, md)
		}
		rv := w.server.ResourceVersion()
		if obj.ResourceVersion != rv || un.GetResourceVersion() != rv || md.ResourceVersion != rv {
			t.Errorf("versions %s, %s, %s; want %s", obj.ResourceVersion, un.GetResourceVersion(), md.ResourceVersion, rv)
		}
		if obj.Data["v"] != "2" || un.Object["data"].(map[string]any)["v"] != "2" {
			t.Errorf("data %v, %v", obj.Data, un.Object["data"])
		}
		if un.GetKind() != "ConfigMap" || un.GetAPIVersion() != "v1" || md.Kind != "ConfigMap" {
			t.Errorf("kinds %s %s, %s", un.GetAPIVersion(), un.GetKind(), md.Kind)
		}
		if held, _ := native.Get("default/a"); held != runtime.Object(obj) {
			t.Error("the typed view is not the object that is held")
		}
		if h := w.group.Inventory(); len(h) != 1 || h[0].Refs != 4 || h[0].Objects != 1 || h[0].View != informer.TypedView {
			t.Errorf("inventory %+v", h)
		}
	})
}

// What the scheme does not know is held unstructured, and shown as a Go type all the same.
func TestUnknownTypesAreHeldUnstructured(t *testing.T) {
	inGroup(t, informer.GroupOptions{Scheme: runtime.NewScheme()}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		typed, meta := hold[object](w, mapScope), hold[metadata](w, mapScope)
		told, _ := follow(typed, informer.HandlerOptions{})
		w.run()
		w.settle()
		w.wantRequests("configmaps", 1, 1)
		obj, ok := typed.Get("default/a")
		if !ok || obj.Data["v"] != "1" || obj.Kind != "" {
			t.Errorf("typed: %v", obj)
		}
		if md, ok := meta.Get("default/a"); !ok || md.UID != obj.UID || md.Kind != "ConfigMap" {
			t.Errorf("metadata: %v", md)
		}
		if h := w.group.Inventory(); h[0].View != informer.UnstructuredView {
			t.Errorf("held %v", h[0].View)
		}
		expect(t, told.take(), "Added default/a@"+obj.ResourceVersion+" initial")
	})
}

func TestTypesThatAreNoViewOfTheResource(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		if _, err := informer.Acquire[*corev1.Pod](w.group, mapScope); err == nil || !strings.Contains(err.Error(), "Pod") {
			t.Errorf("pods of configmaps: %v", err)
		}
		if _, err := informer.Acquire[object](w.group, informer.Scope{Resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "configmaps"}}); err == nil {
			t.Error("another group's type was accepted")
		}
		for name, scope := range map[string]informer.Scope{
			"resource": {},
			"labels":   {Resource: configmaps, Labels: "a=(b"},
			"fields":   {Resource: configmaps, Fields: "a"},
		} {
			if _, err := informer.Acquire[object](w.group, scope); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("scope with bad %s: %v", name, err)
			}
		}
		if n := len(w.group.Inventory()); n != 0 {
			t.Errorf("%d informers are left", n)
		}
	})
}
