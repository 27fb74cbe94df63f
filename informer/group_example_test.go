package informer_test

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

// clientsOfServer are clients of a server that has two pods.
func clientsOfServer() (*listwatch.Clients, *apitest.Server) {
	server := apitest.NewServer(apitest.Options{})
	if err := server.Start(); err != nil {
		panic(err)
	}
	for _, pod := range []*corev1.Pod{newPod("web-1", "n1"), newPod("web-2", "n2")} {
		if _, err := apitest.Create(server, pod); err != nil {
			panic(err)
		}
	}
	clients, err := listwatch.NewClients(server.Config(), nil)
	if err != nil {
		panic(err)
	}
	return clients, server
}

var podsScope = informer.Scope{Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: "default"}

// Two parts of a program, one with types and one without, share one informer.
func ExampleGroup() {
	clients, server := clientsOfServer()
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())

	group, err := informer.NewGroup(informer.GroupOptions{Source: informer.ClientSource(clients)})
	if err != nil {
		panic(err)
	}
	pods, err := informer.Acquire[*corev1.Pod](group, podsScope)
	if err != nil {
		panic(err)
	}
	byNode := pods.AddIndex("node", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} })
	dynamic, err := informer.Acquire[*unstructured.Unstructured](group, podsScope)
	if err != nil {
		panic(err)
	}
	done := make(chan error)
	go func() { done <- group.Run(ctx) }()
	if err := group.WaitSynced(ctx); err != nil {
		panic(err)
	}

	for key := range byNode.Get(pods.Snapshot(), "n1") {
		obj, _ := dynamic.Get(key)
		node, _, _ := unstructured.NestedString(obj.Object, "spec", "nodeName")
		fmt.Println(obj.GetKind(), key, "is on", node)
	}
	for _, h := range group.Inventory() {
		fmt.Printf("%s: %d handles, %d objects, held %s\n", h.Scope, h.Refs, h.Objects, h.View)
	}
	fmt.Println("watches:", server.CountRequests("watch", "pods"))

	dynamic.Release()
	pods.Release()
	<-pods.Done() // the last handle: the informer has ended, its store is freed
	fmt.Println("left:", len(group.Inventory()))
	cancel()
	fmt.Println("ended:", <-done)
	// Output:
	// Pod default/web-1 is on n1
	// v1/pods in default: 2 handles, 2 objects, held typed
	// watches: 1
	// left: 0
	// ended: <nil>
}

// A strict group never starts an informer because of a read.
func ExampleLookup() {
	clients, server := clientsOfServer()
	defer server.Close()
	group, err := informer.NewGroup(informer.GroupOptions{Source: informer.ClientSource(clients), Strict: true})
	if err != nil {
		panic(err)
	}
	_, err = informer.Lookup[*corev1.Pod](group, podsScope)
	var undeclared *informer.UndeclaredError
	fmt.Println(errors.As(err, &undeclared), err)
	// Output:
	// true informer v1/pods in default (typed): not declared: nobody has acquired it and the group is strict
}

// Everything that a server serves is followed, custom resources as they come and go.
func ExampleFollowAll() {
	clients, server := clientsOfServer()
	defer server.Close()
	ctx, cancel := context.WithCancel(context.Background())

	group, err := informer.NewGroup(informer.GroupOptions{Source: informer.ClientSource(clients)})
	if err != nil {
		panic(err)
	}
	told := make(chan string)
	follower, err := informer.FollowAll(group, informer.FollowOptions[*metav1.PartialObjectMetadata]{
		Discover: clients.Discover,
		Want:     func(r listwatch.Resource) bool { return r.GVR.Group == "example.com" },
		Handler: func(r listwatch.Resource) informer.Handler[*metav1.PartialObjectMetadata] {
			return informer.Handler[*metav1.PartialObjectMetadata]{Event: func(e informer.Event[*metav1.PartialObjectMetadata]) {
				told <- fmt.Sprint(e.Type, " ", r.Kind.Kind, " ", e.Key)
			}}
		},
		Gone: func(r listwatch.Resource) { told <- r.GVR.Resource + " are gone" },
	})
	if err != nil {
		panic(err)
	}
	done := make(chan error)
	go func() { done <- group.Run(ctx) }()
	go func() { done <- follower.Run(ctx) }()
	if err := follower.WaitSynced(ctx); err != nil {
		panic(err)
	}

	definition := crd("Gizmo", "v1")
	if _, err := apitest.Create(server, definition); err != nil {
		panic(err)
	}
	if _, err := apitest.Create(server, gizmo("Gizmo", "v1", "a")); err != nil {
		panic(err)
	}
	fmt.Println(<-told)
	gizmos, ok := follower.Shared(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gizmos"})
	fmt.Println(ok, gizmos.Len())
	if _, err := apitest.Delete(server, definition); err != nil {
		panic(err)
	}
	fmt.Println(<-told)
	fmt.Println(<-told)

	cancel()
	fmt.Println("ended:", <-done, <-done)
	// Output:
	// Added Gizmo default/a
	// true 1
	// Deleted Gizmo default/a
	// gizmos are gone
	// ended: <nil> <nil>
}
