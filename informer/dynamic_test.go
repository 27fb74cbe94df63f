package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

var (
	crdKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	crds    = crdKind.GroupVersion().WithResource("customresourcedefinitions")
	gizmos  = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gizmos"}
)

// crd defines gizmos, in versions of which the first is stored.
func crd(kind string, versions ...string) untyped {
	var list []any
	for n, v := range versions {
		list = append(list, map[string]any{"name": v, "served": true, "storage": n == 0})
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group":    "example.com",
		"scope":    "Namespaced",
		"names":    map[string]any{"plural": "gizmos", "singular": "gizmo", "kind": kind},
		"versions": list,
	}}}
	u.SetGroupVersionKind(crdKind)
	u.SetName("gizmos.example.com")
	return u
}

func gizmo(kind, version, name string) untyped {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: version, Kind: kind})
	u.SetNamespace("default")
	u.SetName(name)
	return u
}

// followWorld is a group with a follower whose handlers note what they are told: "gizmos Added default/a".
type followWorld struct {
	*groupWorld
	follower *informer.Follower[untyped]
	cancel   context.CancelFunc // ends the follower
	failed   map[schema.GroupVersion]error
	down     error
	asked    int
	finds    bool // handlers look for the resource they are told of

	mu    sync.Mutex
	words []string
}

func inFollower(t *testing.T, group informer.GroupOptions, opts informer.FollowOptions[untyped], test func(w *followWorld)) {
	t.Helper()
	inGroup(t, group, func(g *groupWorld) {
		w := &followWorld{groupWorld: g}
		opts.Discover = w.discover
		opts.Handler = func(r listwatch.Resource) informer.Handler[untyped] {
			return informer.Handler[untyped]{Event: func(e informer.Event[untyped]) {
				if e.Object().GroupVersionKind() != r.Kind {
					t.Errorf("object of kind %v among %v", e.Object().GroupVersionKind(), r.Kind)
				}
				if w.finds && e.Type == informer.Added && r.GVR == gizmos {
					if s, ok := w.follower.Shared(r.GVR); !ok || s.Len() != 1 {
						t.Error("told of a gizmo, and gizmos are not followed")
					}
				}
				w.say("%s/%s %s %s", r.GVR.Version, r.GVR.Resource, e.Type, e.Key)
			}}
		}
		opts.Gone = func(r listwatch.Resource) { w.say("%s/%s gone", r.GVR.Version, r.GVR.Resource) }
		var err error
		w.follower, err = informer.FollowAll(g.group, opts)
		w.must(err)
		g.run()
		ctx, cancel := context.WithCancel(g.ctx)
		w.cancel = cancel
		done := make(chan struct{})
		g.runs.Go(func() {
			defer close(done)
			if err := w.follower.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		test(w)
		cancel()
		<-done
		for _, h := range g.group.Inventory() {
			if strings.Contains(h.Scope.String(), "gizmos") {
				t.Errorf("left: %v, %d handles", h.Scope, h.Refs)
			}
		}
	})
}

// discover finds ConfigMaps, definitions and what these define.
func (w *followWorld) discover(context.Context) ([]listwatch.Resource, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if w.down != nil {
		return nil, w.down
	}
	found := []listwatch.Resource{
		{GVR: configmaps, Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespaced: true},
		{GVR: crds, Kind: crdKind},
	}
	definitions, err := apitest.List[untyped](w.server, crds, "")
	if err != nil {
		return nil, err
	}
	for _, d := range definitions {
		versions, _, _ := unstructured.NestedSlice(d.Object, "spec", "versions")
		kind, _, _ := unstructured.NestedString(d.Object, "spec", "names", "kind")
		for _, v := range versions {
			gv := schema.GroupVersion{Group: "example.com", Version: v.(map[string]any)["name"].(string)}
			if w.failed[gv] == nil {
				found = append(found, listwatch.Resource{GVR: gv.WithResource("gizmos"), Kind: gv.WithKind(kind), Namespaced: true})
			}
		}
	}
	if len(w.failed) > 0 {
		return found, &listwatch.DiscoveryError{Failed: w.failed}
	}
	return found, nil
}

// fails sets what can't be discovered from now on.
func (w *followWorld) fails(all error, some map[schema.GroupVersion]error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down, w.failed = all, some
}

func (w *followWorld) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.words = append(w.words, fmt.Sprintf(format, args...))
}

// took is what was told of gizmos since the last call.
func (w *followWorld) took() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	words := slices.DeleteFunc(w.words, func(word string) bool { return !strings.Contains(word, "gizmos ") })
	w.words = nil
	return words
}

// notice gives the follower the time to notice what changed.
func (w *followWorld) notice() {
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

// Definitions come and go; what they define is followed while it is there, and everything is told.
func TestFollowerFollowsDefinitionsAsTheyComeAndGo(t *testing.T) {
	for _, delivery := range []informer.Delivery{informer.EveryChange, informer.LatestState} {
		opts := informer.FollowOptions[untyped]{HandlerOptions: informer.HandlerOptions{Delivery: delivery}}
		inFollower(t, informer.GroupOptions{}, opts, func(w *followWorld) {
			w.must(w.follower.WaitSynced(w.ctx))
			if r := w.follower.Status().Resources; len(r) != 2 || r[0].GVR != crds || r[1].GVR != configmaps {
				t.Errorf("follows %v", r)
			}
			w.create(crd("Gizmo", "v1"), gizmo("Gizmo", "v1", "a"), gizmo("Gizmo", "v1", "b"))
			w.notice()
			if got := w.took(); len(got) != 2 || !strings.HasPrefix(got[0], "v1/gizmos Added") {
				t.Errorf("told %q", got)
			}
			s, ok := w.follower.Shared(gizmos)
			if !ok || s.Len() != 2 {
				t.Fatal("gizmos are not followed")
			}
			w.delete(crd("Gizmo", "v1"))
			w.notice()
			got := w.took()
			if len(got) != 3 || !strings.HasPrefix(got[1], "v1/gizmos Deleted") || got[2] != "v1/gizmos gone" {
				t.Errorf("told %q", got)
			}
			if _, ok := w.follower.Shared(gizmos); ok || s.Len() != 0 {
				t.Error("gizmos are still followed")
			}
			w.server.ForgetRequests()
			time.Sleep(10 * time.Minute)
			w.wantRequests("gizmos", 0, 0)
			w.create(crd("Gizmo", "v1"), gizmo("Gizmo", "v1", "c"))
			w.notice()
			expect(t, w.took(), "v1/gizmos Added default/c")
		})
	}
}

// Who is told of an object finds its resource among those followed: from the first event on, told while the resource is taken up.
func TestFollowerHasWhatItTellsOf(t *testing.T) {
	inFollower(t, informer.GroupOptions{}, informer.FollowOptions[untyped]{}, func(w *followWorld) {
		w.finds = true
		w.must(w.follower.WaitSynced(w.ctx))
		for range 30 {
			w.create(crd("Gizmo", "v1"), gizmo("Gizmo", "v1", "a"))
			w.notice()
			w.delete(crd("Gizmo", "v1"))
			w.notice()
			expect(t, w.took(), "v1/gizmos Added default/a", "v1/gizmos Deleted default/a", "v1/gizmos gone")
		}
	})
}

// A definition is deleted and made again, with another kind or version, before or after the follower noticed: the objects told are
// the right ones at each time.
func TestFollowerSurvivesRedefinition(t *testing.T) {
	for name, pause := range map[string]time.Duration{"at once": 0, "soon": 500 * time.Millisecond, "later": time.Minute} {
		for kind, version := range map[string]string{"Gizmo": "v1", "Gadget": "v1", "Widget": "v2"} {
			t.Run(name+"/"+kind+"/"+version, func(t *testing.T) {
				quiet := informer.GroupOptions{Informer: func(informer.Scope) informer.ScopeOptions {
					return informer.ScopeOptions{Reflector: reflector.Options{OnError: func(context.Context, error) {}}}
				}}
				inFollower(t, quiet, informer.FollowOptions[untyped]{}, func(w *followWorld) {
					w.create(crd("Gizmo", "v1"), gizmo("Gizmo", "v1", "a"))
					w.notice()
					w.delete(crd("Gizmo", "v1"))
					time.Sleep(pause)
					w.create(crd(kind, version), gizmo(kind, version, "a"), gizmo(kind, version, "b"))
					time.Sleep(2 * time.Minute)
					synctest.Wait()
					there := map[string]bool{}
					for _, word := range w.took() {
						f := strings.Fields(word)
						switch f[1] {
						case "Added":
							if there[f[0]+f[2]] {
								t.Errorf("%q twice", word)
							}
							there[f[0]+f[2]] = true
						case "Deleted":
							if !there[f[0]+f[2]] {
								t.Errorf("%q, but it was not there", word)
							}
							delete(there, f[0]+f[2])
						}
					}
					if a, b := version+"/gizmosdefault/a", version+"/gizmosdefault/b"; len(there) != 2 || !there[a] || !there[b] {
						t.Errorf("handlers believe in %v", there)
					}
				})
			})
		}
	}
}

// A version that ceases to be served is exchanged for one that is; until then a preferred one changes nothing.
func TestFollowerChangesVersionsWhenItMust(t *testing.T) {
	inFollower(t, informer.GroupOptions{}, informer.FollowOptions[untyped]{}, func(w *followWorld) {
		w.create(crd("Gizmo", "v1beta1"), gizmo("Gizmo", "v1beta1", "a"))
		w.notice()
		expect(t, w.took(), "v1beta1/gizmos Added default/a")
		both := crd("Gizmo", "v1", "v1beta1")
		w.must(w.server.AddResource(apitest.Resource{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gizmo"}}))
		w.update(both)
		w.create(gizmo("Gizmo", "v1", "a"))
		w.notice()
		expect(t, w.took())
		w.update(crd("Gizmo", "v1"))
		w.notice()
		expect(t, w.took(), "v1beta1/gizmos Deleted default/a", "v1beta1/gizmos gone", "v1/gizmos Added default/a")
	})
}

// What can't be asked for is not gone; what is asked for is asked again until it answers.
func TestFollowerKeepsWhatItCannotAskFor(t *testing.T) {
	inFollower(t, informer.GroupOptions{}, informer.FollowOptions[untyped]{}, func(w *followWorld) {
		w.create(crd("Gizmo", "v1"), gizmo("Gizmo", "v1", "a"))
		w.notice()
		w.took()
		down := errors.New("aggregated server is down")
		w.fails(nil, map[schema.GroupVersion]error{gizmos.GroupVersion(): down})
		time.Sleep(time.Hour)
		w.create(gizmo("Gizmo", "v1", "b"))
		synctest.Wait()
		expect(t, w.took(), "v1/gizmos Added default/b")
		if s := w.follower.Status(); !errors.Is(s.Err, down) || s.Discovered.IsZero() {
			t.Errorf("status %+v", s)
		}
		w.fails(down, nil)
		time.Sleep(time.Hour)
		w.mu.Lock()
		before := w.asked
		w.mu.Unlock()
		time.Sleep(time.Minute)
		w.mu.Lock()
		if n := w.asked - before; n != 2 {
			t.Errorf("asked %d times in a minute", n)
		}
		w.mu.Unlock()
		if s := w.follower.Status(); len(s.Resources) != 3 {
			t.Errorf("status %+v", s)
		}
		w.fails(nil, nil)
		time.Sleep(time.Minute)
		if s := w.follower.Status(); s.Err != nil {
			t.Errorf("status %+v", s)
		}
		expect(t, w.took())
	})
}

// Others who hold a resource that goes keep their handle: it is emptied, and goes on when the resource comes back.
func TestFollowerLeavesOthersTheirHandles(t *testing.T) {
	quiet := informer.GroupOptions{Informer: func(informer.Scope) informer.ScopeOptions {
		return informer.ScopeOptions{Reflector: reflector.Options{OnError: func(context.Context, error) {}}}
	}}
	inFollower(t, quiet, informer.FollowOptions[untyped]{}, func(w *followWorld) {
		w.create(crd("Gizmo", "v1"), gizmo("Gizmo", "v1", "a"))
		w.notice()
		w.took()
		mine := hold[metadata](w.groupWorld, informer.Scope{Resource: gizmos})
		told, _ := follow(mine, informer.HandlerOptions{})
		synctest.Wait()
		w.server.LoseEvents(func() { w.delete(crd("Gizmo", "v1")) }) // nobody hears of it but by asking
		w.follower.Status()
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		expect(t, w.took(), "v1/gizmos Deleted default/a", "v1/gizmos gone")
		if got := told.take(); len(got) != 2 || mine.Len() != 0 {
			t.Errorf("the other was told %q", got)
		}
		w.create(crd("Gizmo", "v1"), gizmo("Gizmo", "v1", "b"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := told.take(); len(got) != 1 || !strings.HasPrefix(got[0], "Added default/b") {
			t.Errorf("the other was told %q", got)
		}
		expect(t, w.took(), "v1/gizmos Added default/b")
		mine.Release()
	})
}

// A follower that ends while a resource goes does not take it from others for good.
func TestFollowerThatEndsMeanwhileLeavesOthersTheirSource(t *testing.T) {
	quiet := informer.GroupOptions{Informer: func(informer.Scope) informer.ScopeOptions {
		return informer.ScopeOptions{Reflector: reflector.Options{OnError: func(context.Context, error) {}}}
	}}
	inFollower(t, quiet, informer.FollowOptions[untyped]{}, func(w *followWorld) {
		w.create(crd("Gizmo", "v1"), gizmo("Gizmo", "v1", "a"))
		w.notice()
		mine := hold[metadata](w.groupWorld, informer.Scope{Resource: gizmos})
		slow := mine.AddHandler(informer.Handler[metadata]{}, informer.HandlerOptions{})
		w.must(slow.WaitSynced(w.ctx))
		w.delete(crd("Gizmo", "v1"))
		go w.cancel()
		w.notice()
		w.create(crd("Gizmo", "v1"), gizmo("Gizmo", "v1", "b"))
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if _, ok := mine.Get("default/b"); !ok {
			t.Error("the other's handle is dead")
		}
		mine.Release()
	})
}

// A group whose informers end when their resource goes tells the deletes all the same.
func TestFollowerTellsDeletesOfInformersThatEnded(t *testing.T) {
	stopping := informer.GroupOptions{Informer: func(informer.Scope) informer.ScopeOptions {
		return informer.ScopeOptions{Reflector: reflector.Options{OnNotFound: reflector.NotFoundStop, OnError: func(context.Context, error) {}}}
	}}
	inFollower(t, stopping, informer.FollowOptions[untyped]{}, func(w *followWorld) {
		w.create(crd("Gizmo", "v1"), gizmo("Gizmo", "v1", "a"))
		w.notice()
		w.server.LoseEvents(func() { w.delete(crd("Gizmo", "v1")) })
		w.server.CloseWatches("", nil)
		w.server.Compact()
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		expect(t, w.took(), "v1/gizmos Added default/a", "v1/gizmos Deleted default/a", "v1/gizmos gone")
	})
}

// A handler that takes its time is told all deletes before its resource is let go.
func TestFollowerWaitsForSlowHandlers(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(g *groupWorld) {
		var served []listwatch.Resource
		var mu sync.Mutex
		set := func(r ...listwatch.Resource) {
			mu.Lock()
			defer mu.Unlock()
			served = r
		}
		told, gone := 0, make(chan int, 1)
		f, err := informer.FollowAll(g.group, informer.FollowOptions[metadata]{
			Period: time.Minute,
			Discover: func(context.Context) ([]listwatch.Resource, error) {
				mu.Lock()
				defer mu.Unlock()
				return served, nil
			},
			Handler: func(listwatch.Resource) informer.Handler[metadata] {
				return informer.Handler[metadata]{
					Added: func(metadata) { time.Sleep(time.Minute) },
					Deleted: func(informer.Deletion[metadata]) {
						time.Sleep(time.Minute)
						told++
					},
				}
			},
			Gone: func(listwatch.Resource) { gone <- told },
		})
		g.must(err)
		for n := range 10 {
			g.create(cm(string(rune('a'+n)), "1"))
		}
		set(listwatch.Resource{GVR: configmaps, Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespaced: true})
		g.run()
		g.runs.Go(func() { _ = f.Run(g.ctx) })
		g.must(f.WaitSynced(g.ctx))
		set()
		time.Sleep(90 * time.Second) // now the deletes are being told
		fresh := hold[metadata](g, mapScope)
		g.must(fresh.WaitSynced(g.ctx))
		if n := fresh.Len(); n != 10 {
			t.Errorf("who acquires it meanwhile finds %d objects", n)
		}
		fresh.Release()
		if n := <-gone; n != 10 {
			t.Errorf("%d deletes told before the resource was let go", n)
		}
		if len(g.group.Inventory()) != 0 {
			t.Error("it was not let go")
		}
	})
}

func TestFollowerWaitSyncedSaysWhy(t *testing.T) {
	quiet := informer.GroupOptions{Informer: func(informer.Scope) informer.ScopeOptions {
		return informer.ScopeOptions{Reflector: reflector.Options{OnError: func(context.Context, error) {}}}
	}}
	inFollower(t, quiet, informer.FollowOptions[untyped]{}, func(w *followWorld) {
		w.fails(errors.New("no route"), nil)
		w.server.Inject(apitest.Fault{Resource: "configmaps", Error: apierrors.NewForbidden(configmaps.GroupResource(), "", errors.New("no role"))})
		ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
		defer cancel()
		if err := w.follower.WaitSynced(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no route") {
			t.Errorf("without discovery: %v", err)
		}
		w.fails(nil, nil)
		ctx, cancel = context.WithTimeout(w.ctx, time.Minute)
		defer cancel()
		var not *informer.GroupNotSyncedError
		if err := w.follower.WaitSynced(ctx); !errors.As(err, &not) || not.Total != 2 || len(not.NotReady) != 1 || !apierrors.IsForbidden(err) {
			t.Errorf("without rights: %v", err)
		}
	})
}

func TestFollowerFollowsWhatIsWanted(t *testing.T) {
	opts := informer.FollowOptions[untyped]{
		Namespace: "default",
		Labels:    "x=1",
		Want:      func(r listwatch.Resource) bool { return r.GVR.Resource != "secrets" },
	}
	inFollower(t, informer.GroupOptions{}, opts, func(w *followWorld) {
		labelled := gizmo("Gizmo", "v1", "a")
		labelled.SetLabels(map[string]string{"x": "1"})
		elsewhere := labelled.DeepCopy()
		elsewhere.SetNamespace("elsewhere")
		w.create(crd("Gizmo", "v1"), labelled, elsewhere, gizmo("Gizmo", "v1", "b"))
		w.notice()
		expect(t, w.took(), "v1/gizmos Added default/a")
		if r := w.follower.Status().Resources; len(r) != 2 { // definitions have no namespace
			t.Errorf("follows %v", r)
		}
	})
}

func TestFollowOptionsThatCannotBeRight(t *testing.T) {
	group, err := informer.NewGroup(informer.GroupOptions{Source: func(informer.Scope, informer.View, schema.GroupVersionKind) (listwatch.Source[runtime.Object], error) {
		return nil, errors.New("unused")
	}})
	if err != nil {
		t.Fatal(err)
	}
	discover := func(context.Context) ([]listwatch.Resource, error) { return nil, nil }
	if _, err := informer.FollowAll(group, informer.FollowOptions[untyped]{}); err == nil {
		t.Error("without Discover")
	}
	if _, err := informer.FollowAll(group, informer.FollowOptions[untyped]{Discover: discover, Period: -1}); err == nil {
		t.Error("with a negative period")
	}
	if _, err := informer.FollowAll(group, informer.FollowOptions[untyped]{Discover: discover, Labels: "a=(b"}); err == nil {
		t.Error("with bad labels")
	}
	if _, err := informer.FollowAll(group, informer.FollowOptions[object]{Discover: discover}); err == nil {
		t.Error("as one Go type")
	}
}
