package informer_test

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
)

// typedGizmo is a Go type that no scheme knows.
type typedGizmo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size int64 `json:"size"`
	} `json:"spec"`
}

func (g *typedGizmo) DeepCopyObject() runtime.Object {
	c := *g
	g.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func sized(name string, size any) untyped {
	u := gizmo("Gizmo", "v1", name)
	u.Object["spec"] = map[string]any{"size": size}
	return u
}

// An object that can't be converted into a handle's type is not there for that handle, and listed with the reason; all others
// have it. When it can be converted again, it comes.
func TestObjectThatCannotBeShown(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.must(w.server.AddResource(apitest.Resource{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gizmo"}}))
		w.create(sized("a", int64(1)), sized("b", "huge"))
		scope := informer.Scope{Resource: gizmos}
		typed, dynamic := hold[*typedGizmo](w, scope), hold[untyped](w, scope)
		bySize := typed.AddIndex("size", func(g *typedGizmo) []string {
			if g.Spec.Size > 1 {
				return []string{"big"}
			}
			return []string{"small"}
		})
		told, _ := follow(typed, informer.HandlerOptions{})
		all, _ := follow(dynamic, informer.HandlerOptions{})
		w.run()
		w.settle()

		if _, ok := typed.Get("default/b"); ok || typed.Len() != 2 || dynamic.Len() != 2 {
			t.Error("what can't be shown was shown, or is not stored")
		}
		if keys := slices.Collect(maps.Keys(maps.Collect(typed.All()))); !slices.Equal(keys, []string{"default/a"}) {
			t.Errorf("shows %q", keys)
		}
		quarantined := func(want ...string) {
			t.Helper()
			var got []string
			for _, q := range typed.Status().Quarantined {
				if q.Err == nil {
					t.Errorf("%s: no error", q.Key)
				}
				got = append(got, q.Key+" "+string(q.Reason)+" "+q.Index)
			}
			slices.Sort(got)
			expect(t, got, want...)
		}
		quarantined("default/b index size", "default/b view ")
		if n := len(told.take()); n != 1 {
			t.Errorf("%d objects told", n)
		}
		if n := len(all.take()); n != 2 {
			t.Errorf("%d objects told to the other", n)
		}

		w.update(sized("b", int64(2)))
		synctest.Wait()
		rv := w.server.ResourceVersion()
		expect(t, told.take(), "Added default/b@"+rv)
		expect(t, all.take(), "Updated default/b@"+rv)
		quarantined()
		if n := bySize.Count(typed.Snapshot(), "big"); n != 1 {
			t.Errorf("index finds %d", n)
		}

		w.update(sized("b", "huge"))
		synctest.Wait()
		expect(t, told.take(), "Deleted default/b@"+rv+" lost")
		quarantined("default/b index size", "default/b view ")
		w.delete(sized("b", ""))
		synctest.Wait()
		expect(t, told.take())
		quarantined()
		if values := slices.Collect(bySize.Values(typed.Snapshot())); !slices.Equal(values, []string{"small"}) {
			t.Errorf("index has %q", values)
		}
	})
}

// Every view tells updates, deletes and replays as the informer does.
func TestViewsTellTheSameStory(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"), cm("b", "1"))
		typed, dynamic, meta := hold[object](w, mapScope), hold[untyped](w, mapScope), hold[metadata](w, mapScope)
		one, r := follow(typed, informer.HandlerOptions{})
		two, _ := follow(dynamic, informer.HandlerOptions{})
		three, _ := follow(meta, informer.HandlerOptions{})
		w.run()
		w.settle()
		w.update(cm("a", "2"))
		w.delete(cm("a", ""))
		w.create(cm("a", "3"))
		w.server.LoseEvents(func() {
			w.delete(cm("a", ""))
			w.create(cm("a", "4"))
			w.delete(cm("b", ""))
		})
		w.server.CloseWatches("", nil)
		w.server.Compact()
		w.create(cm("c", "1"))
		w.must(typed.WaitFor(w.ctx, w.server.ResourceVersion()))
		synctest.Wait()
		words := one.take()
		if len(words) < 8 {
			t.Errorf("told only %q", words)
		}
		expect(t, two.take(), words...)
		expect(t, three.take(), words...)

		r.Replay()
		synctest.Wait()
		if got := one.take(); len(got) != 2 {
			t.Errorf("replay: %q", got)
		}
		var pulled []string
		for e := range meta.Events(w.ctx) {
			if pulled = append(pulled, e.Key); len(pulled) == 2 {
				break
			}
		}
		slices.Sort(pulled)
		expect(t, pulled, "default/a", "default/c")
	})
}
