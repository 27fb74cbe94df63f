package informer_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

// newPod is a pod in the namespace "default".
func newPod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name[:3]}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "nginx"}}},
	}
}

// clientset is a client of a server that has two pods.
func clientset(ctx context.Context) (kubernetes.Interface, func()) {
	server := apitest.NewServer(apitest.Options{})
	if err := server.Start(); err != nil {
		panic(err)
	}
	client := kubernetes.NewForConfigOrDie(server.Config())
	for _, pod := range []*corev1.Pod{newPod("web-1", "n1"), newPod("web-2", "n2")} {
		if _, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			panic(err)
		}
	}
	return client, server.Close
}

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	client, closeServer := clientset(ctx)
	defer closeServer()

	pods, err := informer.New(listwatch.For[*corev1.Pod](client.CoreV1().Pods("")), informer.Options[*corev1.Pod]{Name: "pods"})
	if err != nil {
		panic(err)
	}
	byNode := informer.AddIndex(pods, "node", func(p *corev1.Pod) []string { return []string{p.Spec.NodeName} })
	deleted := make(chan string)
	h := pods.AddHandler(informer.Handler[*corev1.Pod]{
		Deleted: func(d informer.Deletion[*corev1.Pod]) { deleted <- d.Key },
	}, informer.HandlerOptions{Delivery: informer.LatestState})

	done := make(chan error)
	go func() { done <- pods.Run(ctx) }()
	if err := h.WaitSynced(ctx); err != nil {
		panic(err)
	}
	for key, pod := range byNode.Get(pods.Snapshot(), "n1") {
		fmt.Println(key, "runs on", pod.Spec.NodeName)
	}
	if err := client.CoreV1().Pods("default").Delete(ctx, "web-1", metav1.DeleteOptions{}); err != nil {
		panic(err)
	}
	fmt.Println(<-deleted, "is deleted,", pods.Len(), "left")

	cancel()
	fmt.Println("ended:", <-done)
	// Output:
	// default/web-1 runs on n1
	// default/web-1 is deleted, 1 left
	// ended: <nil>
}

// running is an informer over a server that has two pods; end stops both.
func running(ctx context.Context) (server *apitest.Server, pods *informer.Informer[*corev1.Pod], end func()) {
	ctx, cancel := context.WithCancel(ctx)
	server = apitest.NewServer(apitest.Options{})
	for _, pod := range []*corev1.Pod{newPod("web-1", "n1"), newPod("web-2", "n2")} {
		if _, err := apitest.Create(server, pod); err != nil {
			panic(err)
		}
	}
	source := apitest.Source[*corev1.Pod](server, corev1.SchemeGroupVersion.WithResource("pods"), "")
	pods, err := informer.New(source, informer.Options[*corev1.Pod]{Name: "pods"})
	if err != nil {
		panic(err)
	}
	done := make(chan error)
	go func() { done <- pods.Run(ctx) }()
	if err := pods.WaitSynced(ctx); err != nil {
		panic(err)
	}
	return server, pods, func() {
		cancel()
		<-done
		server.Close()
	}
}

func ExampleInformer_Events() {
	ctx := context.Background()
	server, pods, end := running(ctx)
	defer end()
	n := 0
	for e := range pods.Events(ctx) {
		fmt.Println(e.Type, e.Key)
		switch n++; n {
		case 2:
			_, _ = apitest.Delete(server, newPod("web-2", ""))
		case 3:
			return
		}
	}
	// Unordered output:
	// Added default/web-1
	// Added default/web-2
	// Deleted default/web-2
}

func ExampleInformer_WaitFor() {
	ctx := context.Background()
	server, pods, end := running(ctx)
	defer end()
	written, err := apitest.Create(server, newPod("web-3", "n1"))
	if err != nil {
		panic(err)
	}
	if err := pods.WaitFor(ctx, written.ResourceVersion); err != nil {
		panic(err)
	}
	_, ok := pods.Get("default/web-3")
	fmt.Println("the own write is there:", ok)
	// Output: the own write is there: true
}

func ExampleOverlay() {
	ctx := context.Background()
	server, pods, end := running(ctx)
	defer end()
	mine := informer.NewOverlay(pods, informer.OverlayOptions{})
	defer mine.Close()

	written, err := apitest.Create(server, newPod("web-3", "n1"))
	if err != nil {
		panic(err)
	}
	if err := mine.Wrote(written); err != nil {
		panic(err)
	}
	_, ok := mine.Get("default/web-3") // at once, wherever the watch is
	fmt.Println("the own write is there:", ok)
	// Output: the own write is there: true
}

func ExampleLister() {
	ctx := context.Background()
	_, pods, end := running(ctx)
	defer end()
	lister := informer.NewLister(pods, informer.ListerOptions[*corev1.Pod]{Resource: corev1.Resource("pods")})
	selector, err := labels.Parse("app=web")
	if err != nil {
		panic(err)
	}
	fmt.Println(len(lister.Slice("default", selector)), "pods of the app")
	_, err = lister.Get("default", "db-1")
	fmt.Println(err)
	// Output:
	// 2 pods of the app
	// pods "db-1" not found
}

func ExampleInformer_AddSource() {
	ctx := context.Background()
	server, pods, end := running(ctx)
	defer end()
	other := apitest.Source[*corev1.Pod](server, corev1.SchemeGroupVersion.WithResource("pods"), "kube-system")
	if err := pods.AddSource("kube-system", other); err != nil {
		panic(err)
	}
	for _, source := range pods.Status().Sources {
		fmt.Printf("source %q\n", source.Name)
	}
	// Output:
	// source ""
	// source "kube-system"
}

func ExampleInformer_Reshard() {
	ctx := context.Background()
	_, pods, end := running(ctx)
	defer end()
	moved := make(chan string, 2)
	pods.AddHandler(informer.Handler[*corev1.Pod]{
		Deleted: func(d informer.Deletion[*corev1.Pod]) {
			if d.Moved { // it was not deleted: another replica has it now
				moved <- d.Key
			}
		},
	}, informer.HandlerOptions{})

	// A second replica came: keep the first half.
	half, err := listwatch.EqualShard(listwatch.ShardByUID, 0, 2)
	if err != nil {
		panic(err)
	}
	if err := pods.Reshard(ctx, half); err != nil {
		panic(err)
	}
	fmt.Println("moved:", <-moved)
	fmt.Println("kept:", pods.Len())

	// It is gone again: take everything.
	if err := pods.Reshard(ctx, listwatch.Shard{}); err != nil {
		panic(err)
	}
	fmt.Println("all:", pods.Len())
	// Output:
	// moved: default/web-2
	// kept: 1
	// all: 2
}

func ExampleInformer_Verify() {
	ctx := context.Background()
	_, pods, end := running(ctx)
	defer end()
	found, err := pods.Verify(ctx)
	if err != nil {
		panic(err)
	}
	for _, d := range found.Drift {
		fmt.Println(d.Key, "is", d.Kind) // a lost event: worth an alert
	}
	fmt.Println(found.Objects, "pods compared,", len(found.Drift), "differ")
	// Output: 2 pods compared, 0 differ
}

func ExampleChain() {
	smaller := informer.Chain(
		informer.StripManagedFields[*corev1.Pod](),
		informer.StripAnnotations[*corev1.Pod]("kubectl.kubernetes.io/last-applied-configuration"),
		informer.Keep(func(p *corev1.Pod) bool { return p.Spec.NodeName != "" }),
	)
	pod := newPod("web-1", "n1")
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	stored, err := smaller(pod)
	fmt.Println(len(stored.ManagedFields), err)
	_, err = smaller(newPod("web-2", ""))
	fmt.Println(err)
	// Output:
	// 0 <nil>
	// object dropped by transform
}

func ExampleInformer_CheckMutations() {
	ctx, cancel := context.WithCancel(context.Background())
	_, pods, end := running(ctx)
	defer end()
	cancel() // it runs until its context ends
	err := pods.CheckMutations(ctx, informer.MutationCheckOptions{
		Found: func(m informer.Mutation) { fmt.Println(m.Informer, m.Key, m.Diff) },
	})
	fmt.Println(err)
	// Output: <nil>
}
