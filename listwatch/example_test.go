package listwatch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/listwatch"
)

func pod(name string, labels map[string]string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}}
}

// A typed client's list and watch as a source; only the type of an object has to be named.
func ExampleFor() {
	ctx := context.Background()
	clientset := fake.NewClientset(pod("a", nil), pod("b", nil))

	pods := listwatch.For[*corev1.Pod](clientset.CoreV1().Pods("default"))
	page, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range page.Items {
		p, err := page.Items[i].Object()
		fmt.Println(page.Items[i].Key, p.Name, err)
	}
	// Output:
	// default/a a <nil>
	// default/b b <nil>
}

// A replica of two asks for its half, and gets no more from a server that can't halve.
func ExampleInShard() {
	server := apitest.NewServer(apitest.Options{})
	defer server.Close()
	for n := range 6 {
		if _, err := apitest.Create(server, pod(fmt.Sprint("p", n), nil)); err != nil {
			fmt.Println(err)
			return
		}
	}
	pods := apitest.Source[*corev1.Pod](server, corev1.SchemeGroupVersion.WithResource("pods"), "")
	for replica := range 2 {
		shard, err := listwatch.EqualShard(listwatch.ShardByUID, replica, 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		page, err := listwatch.InShard(pods, shard).List(context.Background(), metav1.ListOptions{})
		fmt.Println(shard, err)
		for i := range page.Items {
			fmt.Println(" ", page.Items[i].Key)
		}
	}
	// Output:
	// shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000') <nil>
	//   default/p0
	//   default/p2
	//   default/p3
	// shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000') <nil>
	//   default/p1
	//   default/p4
	//   default/p5
}

// The same of a dynamic client.
func ExampleFor_dynamic() {
	client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("a", nil))
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "pods"}

	pods := listwatch.For[*unstructured.Unstructured](client.Resource(gvr).Namespace("default"))
	page, err := pods.List(context.Background(), metav1.ListOptions{})
	fmt.Println(len(page.Items), page.Items[0].Key, err)
	// Output: 1 default/a <nil>
}

// A stream is pulled: Next gives all that is ready.
func ExampleStream() {
	ctx := context.Background()
	clientset := fake.NewClientset()
	pods := listwatch.For[*corev1.Pod](clientset.CoreV1().Pods("default"))
	stream, err := pods.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stream.Stop()
	_, _ = clientset.CoreV1().Pods("default").Create(ctx, pod("a", nil), metav1.CreateOptions{})

	events, err := stream.Next(ctx)
	fmt.Println(len(events), events[0].Type, events[0].Item.Key, err)
	// Output: 1 ADDED default/a <nil>
}

// Through REST one object that can't be decoded does not cost the others.
func ExampleREST() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[
			{"metadata":{"name":"a"}}, {"metadata":{"name":"b"},"spec":"what?"}, {"metadata":{"name":"c"}}]}`)
	}))
	defer server.Close()
	clientset, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}

	pods := listwatch.REST[*corev1.Pod](clientset.CoreV1().RESTClient(), "pods", "default")
	page, err := pods.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range page.Items {
		_, err := page.Items[i].Object()
		var bad *listwatch.DecodeError
		fmt.Println(page.Items[i].Key, errors.As(err, &bad))
	}
	// Output:
	// a false
	// b true
	// c false
}

// Two functions are a source.
func ExampleFuncs() {
	pods := listwatch.Funcs[*corev1.Pod]{
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{Items: []corev1.Pod{*pod("a", nil)}}, nil
		},
		WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewEmptyWatch(), nil
		},
	}
	page, err := pods.List(context.Background(), metav1.ListOptions{})
	fmt.Println(page.Items[0].Key, err)
	// Output: default/a <nil>
}

// Selectors narrow a source; the server does the selecting.
func ExampleNarrow() {
	clientset := fake.NewClientset(pod("a", map[string]string{"app": "web"}), pod("b", nil))
	pods := listwatch.For[*corev1.Pod](clientset.CoreV1().Pods("default"))

	web := listwatch.Narrow(pods, labels.SelectorFromSet(labels.Set{"app": "web"}), nil)
	page, err := web.List(context.Background(), metav1.ListOptions{})
	fmt.Println(len(page.Items), page.Items[0].Key, err)
	// Output: 1 default/a <nil>
}

// Where the Go type does not tell kinds apart, Expect does.
func ExampleExpect() {
	gadget := unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"name": "g"}}}
	mixed := listwatch.Funcs[*unstructured.Unstructured]{ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
		return &unstructured.UnstructuredList{Items: []unstructured.Unstructured{gadget}}, nil
	}}
	widgets := listwatch.Expect(mixed, schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})
	page, _ := widgets.List(context.Background(), metav1.ListOptions{})
	_, err := page.Items[0].Object()
	fmt.Println(err)
	// Output: listwatch: object "g": want example.com/v1, Kind=Widget, got example.com/v1, Kind=Gadget
}

// Any type with metadata makes an item.
func ExampleNewItem() {
	item := listwatch.NewItem(pod("a", nil))
	p, err := item.Object()
	fmt.Println(item.Key, p.Name, err)
	// Output: default/a a <nil>
}

// An object can be decoded when it is asked for.
func ExampleLazyItem() {
	item := listwatch.LazyItem("default/a", "", "7", func() (*corev1.Pod, error) {
		fmt.Println("decoding")
		return pod("a", nil), nil
	})
	fmt.Println(item.Key, "at", item.ResourceVersion)
	_, err := item.Object()
	fmt.Println(err)
	// Output:
	// default/a at 7
	// decoding
	// <nil>
}
