package informer_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

// overHTTP is a group over a server that is reached by HTTP.
func overHTTP(t *testing.T) (*groupWorld, *listwatch.Clients) {
	t.Helper()
	server := apitest.NewServer(apitest.Options{})
	t.Cleanup(server.Close)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	clients, err := listwatch.NewClients(server.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	group, err := informer.NewGroup(informer.GroupOptions{Source: informer.ClientSource(clients)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	w := &groupWorld{T: t, server: server, group: group, ctx: ctx}
	t.Cleanup(func() {
		cancel()
		w.runs.Wait()
	})
	return w, clients
}

// Over HTTP, too, metadata gives way to whole objects, and all views share one list and one watch.
func TestViewsOverHTTP(t *testing.T) {
	w, _ := overHTTP(t)
	w.create(cm("a", "1"), cm("b", "1"))
	scope := informer.Scope{Resource: configmaps, Fields: "metadata.name=a"}
	meta := hold[metadata](w, scope)
	w.run()
	w.must(meta.WaitSynced(w.ctx))
	md, ok := meta.Get("default/a")
	if !ok || md.Kind != "ConfigMap" || meta.Len() != 1 {
		t.Errorf("metadata %v of %d", md, meta.Len())
	}
	typed, dynamic := hold[object](w, scope), hold[untyped](w, scope)
	w.must(typed.WaitSynced(w.ctx))
	w.update(cm("a", "2"))
	w.must(typed.WaitFor(w.ctx, w.server.ResourceVersion()))
	obj, _ := typed.Get("default/a")
	un, _ := dynamic.Get("default/a")
	if obj == nil || obj.Data["v"] != "2" || un == nil || un.GetResourceVersion() != obj.ResourceVersion || un.GetKind() != "ConfigMap" {
		t.Errorf("typed %v, unstructured %v", obj, un)
	}
	w.wantRequests("configmaps", 2, 2)
	for _, s := range []interface {
		Release()
		Done() <-chan struct{}
	}{meta, typed, dynamic} {
		s.Release()
		<-s.Done()
	}
}

// Over HTTP, what is served is discovered: definitions come, go and come again with another kind.
func TestFollowerOverHTTP(t *testing.T) {
	w, clients := overHTTP(t)
	told := make(chan string, 100)
	f, err := informer.FollowAll(w.group, informer.FollowOptions[untyped]{
		Discover: clients.Discover,
		Want:     func(r listwatch.Resource) bool { return r.GVR.Group == "example.com" || r.GVR == configmaps },
		Handler: func(r listwatch.Resource) informer.Handler[untyped] {
			return informer.Handler[untyped]{Event: func(e informer.Event[untyped]) {
				told <- fmt.Sprintf("%s %s %s", r.Kind.Kind, e.Type, e.Key)
			}}
		},
		Gone: func(r listwatch.Resource) { told <- r.Kind.Kind + " gone" },
	})
	w.must(err)
	next := func(want ...string) {
		t.Helper()
		for _, word := range want {
			select {
			case got := <-told:
				if got != word {
					t.Fatalf("told %q, want %q", got, word)
				}
			case <-w.ctx.Done():
				t.Fatalf("not told %q; %+v", word, f.Status())
			}
		}
	}
	w.create(cm("a", "1"))
	w.run()
	w.runs.Go(func() { _ = f.Run(w.ctx) })
	w.must(f.WaitSynced(w.ctx))
	next("ConfigMap Added default/a")
	w.create(crd("Gizmo", "v1"), gizmo("Gizmo", "v1", "a"))
	next("Gizmo Added default/a")
	w.delete(crd("Gizmo", "v1"))
	next("Gizmo Deleted default/a", "Gizmo gone")
	w.create(crd("Gadget", "v2"), gizmo("Gadget", "v2", "b"))
	next("Gadget Added default/b")
	if n := len(f.Status().Resources); n != 2 {
		t.Errorf("follows %d resources", n)
	}
}
