package informer_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// While only metadata is asked for, only metadata is held. When more is asked for, the informer changes over: handlers of the
// metadata notice nothing, those of whole objects get all of them.
func TestMetadataGivesWayToWholeObjects(t *testing.T) {
	for name, streaming := range map[string]reflector.Streaming{"streaming": reflector.StreamingAuto, "paged": reflector.StreamingOff} {
		t.Run(name, func(t *testing.T) {
			opts := informer.GroupOptions{Informer: func(informer.Scope) informer.ScopeOptions {
				return informer.ScopeOptions{Reflector: reflector.Options{Streaming: streaming, OnError: func(_ context.Context, err error) {
					t.Errorf("reported: %v", err)
				}}}
			}}
			inGroup(t, opts, func(w *groupWorld) {
				w.create(cm("a", "1"), cm("b", "1"), cm("c", "1"))
				meta := hold[metadata](w, mapScope)
				slim, _ := follow(meta, informer.HandlerOptions{})
				w.run()
				w.settle()
				w.wantRequests("configmaps", 1, 1)
				if h := w.group.Inventory()[0]; h.View != informer.MetadataView {
					t.Errorf("held %v", h.View)
				}
				if n := len(slim.take()); n != 3 {
					t.Errorf("%d objects told", n)
				}

				typed := hold[object](w, mapScope)
				byValue := typed.AddIndex("value", func(obj object) []string { return []string{obj.Data["v"]} })
				whole, h := follow(typed, informer.HandlerOptions{})
				select {
				case <-typed.Synced():
					t.Error("synced with nothing but metadata")
				default:
				}
				if _, ok := typed.Get("default/a"); ok || len(whole.take()) > 0 {
					t.Error("metadata shown as a whole object")
				}
				w.must(h.WaitSynced(w.ctx))
				w.must(typed.WaitSynced(w.ctx))
				if got := whole.take(); len(got) != 3 || !strings.HasSuffix(got[0], "initial") {
					t.Errorf("handler of whole objects was told %q", got)
				}
				synctest.Wait()
				expect(t, slim.take()) // nothing changed but the form
				if obj, ok := typed.Get("default/a"); !ok || obj.Data["v"] != "1" {
					t.Errorf("whole object is %v", obj)
				}
				if n := byValue.Count(typed.Snapshot(), "1"); n != 3 {
					t.Errorf("index finds %d", n)
				}
				w.wantRequests("configmaps", 2, 2) // the first watch has ended
				if md, ok := meta.Get("default/a"); !ok || md.Kind != "ConfigMap" {
					t.Errorf("metadata is %v", md)
				}
				if s := typed.Status(); len(s.Quarantined) > 0 || s.Reflector.LastError != nil {
					t.Errorf("status: %+v", s)
				}

				w.update(cm("a", "2"))
				w.delete(cm("b", ""))
				synctest.Wait()
				if a, b := slim.take(), whole.take(); len(a) != 2 || !slices.Equal(a, b) {
					t.Errorf("told %q and %q", a, b)
				}
				w.wantRequests("configmaps", 2, 2)
			})
		})
	}
}

// Before the group runs, nothing has been asked for: then it costs nothing to ask for more.
func TestWholeObjectsWantedBeforeTheStart(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		meta := hold[metadata](w, mapScope)
		slim, _ := follow(meta, informer.HandlerOptions{})
		typed := hold[object](w, mapScope)
		whole, _ := follow(typed, informer.HandlerOptions{})
		w.run()
		w.settle()
		w.wantRequests("configmaps", 1, 1)
		if a, b := slim.take(), whole.take(); len(a) != 1 || !slices.Equal(a, b) {
			t.Errorf("told %q and %q", a, b)
		}
	})
}

// Whole objects are wanted at any moment of a list or watch of metadata: in the end there are whole objects only, and every
// handler has been told a story that leads there.
func TestMetadataGivesWayAtAnyMoment(t *testing.T) {
	for _, streaming := range []reflector.Streaming{reflector.StreamingAuto, reflector.StreamingOff} {
		for delay := range 30 {
			opts := informer.GroupOptions{Informer: func(informer.Scope) informer.ScopeOptions {
				return informer.ScopeOptions{Reflector: reflector.Options{Streaming: streaming, PageSize: 3}}
			}}
			inGroup(t, opts, func(w *groupWorld) {
				w.server.Inject(apitest.Fault{Latency: 100 * time.Millisecond, EventDelay: 20 * time.Millisecond})
				for n := range 10 {
					w.create(cm(string(rune('a'+n)), "1"))
				}
				meta := hold[metadata](w, mapScope)
				slim, _ := follow(meta, informer.HandlerOptions{})
				w.run()
				time.Sleep(time.Duration(delay) * 30 * time.Millisecond)
				w.update(cm("a", "2"))
				typed := hold[object](w, mapScope)
				whole, _ := follow(typed, informer.HandlerOptions{})
				w.delete(cm("b", ""))
				w.must(typed.WaitFor(w.ctx, w.server.ResourceVersion()))
				synctest.Wait()
				if n := typed.Len(); n != 9 || len(maps.Collect(typed.All())) != n {
					t.Errorf("%d objects, whole ones: %d", n, len(maps.Collect(typed.All())))
				}
				if a, b := standing(t, slim.take()), standing(t, whole.take()); len(a) != 9 || !maps.Equal(a, b) {
					t.Errorf("handlers believe in %v and %v", a, b)
				}
			})
		}
	}
}

// standing is what a handler believes to be there: versions by key. It checks that the story is consistent.
func standing(t *testing.T, words []string) map[string]string {
	t.Helper()
	there := map[string]string{}
	for _, word := range words {
		f := strings.FieldsFunc(word, func(r rune) bool { return r == ' ' || r == '@' })
		_, had := there[f[1]]
		if had == (f[0] == "Added") {
			t.Errorf("%q: had it before: %v, in %q", word, had, words)
		}
		if f[0] == "Deleted" {
			delete(there, f[1])
		} else {
			if there[f[1]] == f[2] {
				t.Errorf("%q told twice", word)
			}
			there[f[1]] = f[2]
		}
	}
	return there
}
