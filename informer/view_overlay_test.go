package informer_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
)

// Own writes show through a handle of any view, though the watch is late; nobody else sees them.
func TestOverlayOfAHandle(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"), cm("b", "1"))
		typed, dynamic := hold[object](w, mapScope), hold[untyped](w, mapScope)
		byValue := dynamic.AddIndex("value", func(u untyped) []string {
			return []string{u.Object["data"].(map[string]any)["v"].(string)}
		})
		own := dynamic.NewOverlay(informer.OverlayOptions{})
		w.run()
		w.settle()
		w.server.Inject(apitest.Fault{EventDelay: time.Minute})
		w.server.CloseWatches("", nil)
		synctest.Wait()

		write := func(obj object, how func(*apitest.Server, runtime.Object) (runtime.Object, error)) untyped {
			t.Helper()
			_, err := how(w.server, obj)
			w.must(err)
			u, err := apitest.Get[untyped](w.server, configmaps, "default", obj.Name)
			w.must(err)
			return u
		}
		w.must(own.Wrote(write(cm("a", "2"), apitest.Update[runtime.Object])))
		w.must(own.Wrote(write(cm("c", "2"), apitest.Create[runtime.Object])))
		b, _ := dynamic.Get("default/b")
		w.delete(cm("b", ""))
		w.must(own.Deleted(b))

		keys := slices.Sorted(maps.Keys(maps.Collect(own.All())))
		expect(t, keys, "default/a", "default/c")
		expect(t, slices.Sorted(maps.Keys(maps.Collect(own.Index(byValue, "2")))), "default/a", "default/c")
		expect(t, slices.Sorted(maps.Keys(maps.Collect(own.Index(byValue, "1")))))
		if a, _ := typed.Get("default/a"); a.Data["v"] != "1" || typed.Len() != 2 {
			t.Error("another handle sees the write before the watch brought it")
		}
		if _, ok := own.Get("default/b"); ok || own.Len() != 3 {
			t.Errorf("the deleted object is shown, or %d entries", own.Len())
		}
		w.must(own.Barrier(w.ctx, "default/c"))
		if c, ok := typed.Get("default/c"); !ok || c.Data["v"] != "2" {
			t.Error("the barrier opened too early")
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := own.Len(); n != 0 {
			t.Errorf("%d entries left", n)
		}

		w.must(own.Wrote(write(cm("a", "3"), apitest.Update[runtime.Object])))
		waiting := make(chan error)
		go func() { waiting <- own.Barrier(context.WithoutCancel(w.ctx), "default/a") }()
		synctest.Wait()
		dynamic.Release()
		<-waiting // with or without an error: the overlay is gone
		if err := own.Wrote(b); !errors.Is(err, informer.ErrReleased) {
			t.Errorf("Wrote: %v", err)
		}
		if _, ok := own.Get("default/a"); ok || own.Len() != 0 {
			t.Error("the overlay of a released handle shows objects")
		}
	})
}
