package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	machines    = schema.GroupVersionResource{Group: "e2e.informerkit.io", Version: "v1", Resource: "machines"}
)

// machineDefinition defines machines, whose spec has one field, of this type.
func machineDefinition(kind, field, typ string) *unstructured.Unstructured {
	singular := map[string]string{"Machine": "machine", "Engine": "engine"}[kind]
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": "machines.e2e.informerkit.io"},
		"spec": map[string]any{
			"group": "e2e.informerkit.io",
			"scope": "Namespaced",
			"names": map[string]any{"plural": "machines", "singular": singular, "kind": kind, "listKind": kind + "List"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object",
					"properties": map[string]any{"spec": map[string]any{
						"type":       "object",
						"properties": map[string]any{field: map[string]any{"type": typ}},
					}},
				}},
			}},
		},
	}}
}

// A definition is created, deleted and created again with another schema, and then with another kind, under a running
// follower: it tells the right objects each time, and in the end nothing is left running.
func TestFollowerOnRealDefinitions(t *testing.T) {
	c, namespace := shared(t)
	ctx := patient(t)
	client := dynamic.NewForConfigOrDie(c.Config())
	clients, err := listwatch.NewClients(c.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	group, err := informer.NewGroup(informer.GroupOptions{Source: informer.ClientSource(clients)})
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 100)
	follower, err := informer.FollowAll(group, informer.FollowOptions[*unstructured.Unstructured]{
		// The server tells the resources of its custom group, and nobody that it serves definitions.
		Discover: func(ctx context.Context) ([]listwatch.Resource, error) {
			found, err := clients.Discover(ctx)
			return append(found, listwatch.Resource{GVR: definitions, Kind: definitions.GroupVersion().WithKind("CustomResourceDefinition")}), err
		},
		Want:      func(r listwatch.Resource) bool { return r.GVR.GroupResource() == machines.GroupResource() },
		Namespace: namespace,
		Handler: func(r listwatch.Resource) informer.Handler[*unstructured.Unstructured] {
			return informer.Handler[*unstructured.Unstructured]{Event: func(e informer.Event[*unstructured.Unstructured]) {
				spec := e.Object().Object["spec"]
				told <- fmt.Sprintf("%s %s %s %v", r.Kind.Kind, e.Type, e.Object().GetName(), spec)
			}}
		},
		Gone: func(r listwatch.Resource) { told <- r.Kind.Kind + " gone" },
	})
	if err != nil {
		t.Fatal(err)
	}
	runCtx, stop := context.WithCancel(context.Background())
	done := make(chan error, 2)
	go func() { done <- group.Run(runCtx) }()
	go func() { done <- follower.Run(runCtx) }()
	defer func() {
		stop()
		for range cap(done) {
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		}
		if left := ownGoroutines(); len(left) > 0 {
			t.Errorf("left running: %q", left)
		}
		if h := group.Inventory(); len(h) > 0 {
			t.Errorf("left: %+v", h)
		}
	}()
	if err := follower.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}

	define := func(kind, field, typ string) {
		t.Helper()
		if _, err := client.Resource(definitions).Create(ctx, machineDefinition(kind, field, typ), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	undefine := func() {
		t.Helper()
		if err := client.Resource(definitions).Delete(ctx, "machines.e2e.informerkit.io", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		for {
			_, err := client.Resource(definitions).Get(ctx, "machines.e2e.informerkit.io", metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return
			}
			if ctx.Err() != nil {
				t.Fatal("the definition does not go")
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	create := func(kind, name, field string, value any) {
		t.Helper()
		obj := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "e2e.informerkit.io/v1", "kind": kind,
			"metadata": map[string]any{"name": name},
			"spec":     map[string]any{field: value},
		}}
		for {
			_, err := client.Resource(machines).Namespace(namespace).Create(ctx, obj, metav1.CreateOptions{})
			if err == nil {
				return
			}
			if ctx.Err() != nil {
				t.Fatalf("create %s: %v", name, err) // until then the server is getting ready to serve it
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	next := func(want ...string) {
		t.Helper()
		for _, word := range want {
			select {
			case got := <-told:
				if got != word {
					t.Fatalf("told %q, want %q", got, word)
				}
			case <-ctx.Done():
				t.Fatalf("not told %q: %+v", word, follower.Status())
			}
		}
	}

	define("Machine", "power", "integer")
	create("Machine", "a", "power", int64(1))
	next("Machine Added a map[power:1]")
	undefine()
	next("Machine Deleted a map[power:1]")
	define("Machine", "color", "string")
	create("Machine", "a", "color", "red")
	var got string
	for got = <-told; got == "Machine gone"; got = <-told { // if there was time to notice
	}
	if got != "Machine Added a map[color:red]" {
		t.Fatalf("told %q", got)
	}
	undefine()
	next("Machine Deleted a map[color:red]", "Machine gone")
	define("Engine", "color", "string")
	create("Engine", "b", "color", "blue")
	next("Engine Added b map[color:blue]")
	undefine()
	next("Engine Deleted b map[color:blue]", "Engine gone")
}
