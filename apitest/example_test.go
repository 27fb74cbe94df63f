package apitest_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/listwatch"
)

// A controller's own client, over HTTP.
func Example() {
	server := apitest.NewServer(apitest.Options{})
	defer server.Close()
	if err := server.Start(); err != nil {
		fmt.Println(err)
		return
	}
	client, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if _, err := client.CoreV1().Pods("default").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, metav1.CreateOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	list, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
	fmt.Println(len(list.Items), err, server.CountRequests("list", "pods"))
	// Output: 1 <nil> 1
}

// In the process, without HTTP: this also works in a synctest bubble.
func ExampleSource() {
	server := apitest.NewServer(apitest.Options{})
	defer server.Close()
	ctx := context.Background()
	pods := apitest.Source[*corev1.Pod](server, corev1.SchemeGroupVersion.WithResource("pods"), "default")

	page, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := apitest.Create(server, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}); err != nil {
		fmt.Println(err)
		return
	}
	stream, err := pods.Watch(ctx, metav1.ListOptions{ResourceVersion: page.ResourceVersion})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Stop()
	events, err := stream.Next(ctx)
	fmt.Println(events[0].Type == listwatch.Added, events[0].Item.Key, err)
	// Output: true default/a <nil>
}

func ExampleServer_ListerWatcher() {
	server := apitest.NewServer(apitest.Options{})
	defer server.Close()
	lw := server.ListerWatcher(corev1.SchemeGroupVersion.WithResource("nodes"), "")
	list, err := lw.List(metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	watch, err := lw.Watch(metav1.ListOptions{ResourceVersion: list.(*corev1.NodeList).ResourceVersion})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer watch.Stop()
	if _, err := apitest.Create(server, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		fmt.Println(err)
		return
	}
	event := <-watch.ResultChan()
	fmt.Println(event.Type, event.Object.(*corev1.Node).Name)
	// Output: ADDED n1
}

func ExampleServer_Inject() {
	server := apitest.NewServer(apitest.Options{})
	defer server.Close()
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	lw := server.ListerWatcher(pods, "")

	// The next two lists of pods are refused.
	server.Inject(apitest.Fault{
		Verb: "list", Resource: "pods", Times: 2,
		Error: apierrors.NewForbidden(pods.GroupResource(), "", fmt.Errorf("not you")),
	})
	for range 3 {
		_, err := lw.List(metav1.ListOptions{})
		fmt.Println(apierrors.IsForbidden(err))
	}

	// Until it is removed, every request for pods takes a second.
	slow := server.Inject(apitest.Fault{Resource: "pods", Latency: time.Second})
	slow.Remove()
	// Output:
	// true
	// true
	// false
}

// A delete that nobody was told of, for the code that handles tombstones.
func ExampleServer_LoseEvents() {
	server := apitest.NewServer(apitest.Options{})
	defer server.Close()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	if _, err := apitest.Create(server, pod); err != nil {
		fmt.Println(err)
		return
	}
	before := server.ResourceVersion()
	server.LoseEvents(func() {
		if _, err := apitest.Delete(server, pod); err != nil {
			fmt.Println(err)
		}
	})
	watch, err := server.ListerWatcher(corev1.SchemeGroupVersion.WithResource("pods"), "").Watch(metav1.ListOptions{ResourceVersion: before})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer watch.Stop()
	event := <-watch.ResultChan()
	fmt.Println(event.Type, event.Object.(*metav1.Status).Reason)
	// Output: ERROR Expired
}

// After a restore, resource versions go back.
func ExampleServer_Restore() {
	server := apitest.NewServer(apitest.Options{})
	defer server.Close()
	backup := server.Backup()
	if _, err := apitest.Create(server, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(server.ResourceVersion())
	server.Restore(backup)
	nodes, err := apitest.List[*corev1.Node](server, corev1.SchemeGroupVersion.WithResource("nodes"), "")
	fmt.Println(server.ResourceVersion(), len(nodes), err)
	// Output:
	// 2
	// 1 0 <nil>
}

// Custom resources are declared, or defined by creating a CustomResourceDefinition.
func ExampleResource() {
	widgets := apitest.Resource{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, Status: true}
	server := apitest.NewServer(apitest.Options{Resources: []apitest.Resource{widgets}})
	defer server.Close()
	w, err := apitest.Create(server, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "default", "name": "w"},
	}})
	fmt.Println(w.GetResourceVersion(), err)
	got, err := apitest.Get[*unstructured.Unstructured](server, widgets.GVR(), "default", "w")
	fmt.Println(got.GetName(), err)
	// Output:
	// 2 <nil>
	// w <nil>
}
