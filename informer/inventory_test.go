package informer_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/informer"
)

// The inventory lists each informer with what it holds, for whom and in which state.
func TestInventory(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		for n := range 10 {
			w.create(cm(string(rune('a'+n)), "1"))
		}
		s := hold[object](w, mapScope)
		hold[metadata](w, mapScope)
		hold[*corev1.Secret](w, secretScope)
		follow(s, informer.HandlerOptions{Name: "mine"})
		if h := w.group.Inventory(); len(h) != 2 || h[0].Bytes != 0 || h[0].Status.Running {
			t.Errorf("before the start: %+v", h)
		}
		w.run()
		w.settle()
		h := w.group.Inventory()
		if len(h) != 2 || h[0].Scope != mapScope || h[1].Scope != secretScope {
			t.Fatalf("inventory %+v", h)
		}
		maps := h[0]
		if maps.Refs != 2 || maps.Objects != 10 || maps.View != informer.TypedView || !maps.Status.Synced || !maps.Status.Running ||
			len(maps.Status.Handlers) != 1 || maps.Status.Handlers[0].Name != "mine" {
			t.Errorf("configmaps: %+v", maps)
		}
		if per := maps.Bytes / 10; per < 500 || per > 5000 {
			t.Errorf("%d bytes per ConfigMap", per)
		}
		if h[1].Objects != 0 || h[1].Bytes != 0 {
			t.Errorf("secrets: %+v", h[1])
		}
	})
}
