package cache_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/cache" // in place of k8s.io/client-go/tools/cache: nothing else changes
)

// newServer is an API server in memory with some pods; in real code ListerWatcher comes from a client.
func newServer(pods ...string) (*apitest.Server, cache.ListerWatcher) {
	server := apitest.NewServer(apitest.Options{})
	for _, name := range pods {
		if _, err := apitest.Create(server, newPod(name)); err != nil {
			panic(err)
		}
	}
	return server, server.ListerWatcher(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, metav1.NamespaceAll)
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}},
	}
}

// The code of a controller as everybody has it. That the import is another one is all that changes.
func Example() {
	server, pods := newServer("db", "web")
	defer server.Close()

	informer := cache.NewSharedIndexInformer(pods, &corev1.Pod{}, 10*time.Minute, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	deleted := make(chan string)
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(obj any) {
			key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
			if err != nil {
				panic(err)
			}
			deleted <- key
		},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced, registration.HasSynced) {
		panic("not synced")
	}

	web := labels.SelectorFromSet(labels.Set{"app": "web"})
	err = cache.ListAllByNamespace(informer.GetIndexer(), "default", web, func(obj any) {
		fmt.Println("found", obj.(*corev1.Pod).Name)
	})
	if err != nil {
		panic(err)
	}
	if _, err := apitest.Delete(server, newPod("web")); err != nil {
		panic(err)
	}
	fmt.Println("deleted", <-deleted)
	stop()
	running.Wait() // every goroutine has ended
	fmt.Println("stopped", informer.IsStopped())
	// Output:
	// found web
	// deleted default/web
	// stopped true
}

// Waiting takes no longer than it has to, and says what is missing and why.
func ExampleWaitFor() {
	server, pods := newServer("web")
	defer server.Close()
	informer := cache.NewSharedInformer(pods, &corev1.Pod{}, 0)
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			fmt.Println("add", obj.(*corev1.Pod).Name, isInInitialList)
		},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	fmt.Println(cache.WaitFor(ctx, "", informer.HasSyncedChecker(), registration.HasSyncedChecker()))
	stop()
	running.Wait()
	// Output:
	// add web true
	// true
}

// A handler is removed, and waited for until its last call has returned.
func ExampleShutDownEventHandler() {
	_, pods := newServer()
	informer := cache.NewSharedInformer(pods, &corev1.Pod{}, 0)
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
	if err != nil {
		panic(err)
	}
	fmt.Println(cache.ShutDownEventHandler(informer, registration))
	// Output: <nil>
}

// Handlers and indexes without casts.
func ExampleNewTypedSharedIndexInformer() {
	server, pods := newServer("web")
	defer server.Close()
	informer := cache.NewTypedSharedIndexInformer[*corev1.Pod](cache.NewSharedIndexInformer(pods, &corev1.Pod{}, 0, nil))
	err := informer.AddTypedIndexers(cache.TypedIndexers[*corev1.Pod]{
		"image": func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.Containers[0].Image}, nil },
	})
	if err != nil {
		panic(err)
	}
	registration, err := informer.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.Pod]{
		AddFunc: func(pod *corev1.Pod) { fmt.Println("add", pod.Name) },
		DeleteFunc: func(deleted cache.DeletedObject[*corev1.Pod]) {
			fmt.Println("delete", deleted.GetKey()) // known in any case; the object may not be
		},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	cache.WaitFor(ctx, "", registration.HasSyncedChecker())
	found, err := informer.GetTypedIndexer().ByTypedIndex("image", "image")
	fmt.Println(len(found), err)
	stop()
	running.Wait()
	// Output:
	// add web
	// 1 <nil>
}

// A store and one handler, which sees the store in the very state it is told of.
func ExampleNewInformerWithOptions() {
	server, pods := newServer("web")
	defer server.Close()
	var store cache.Store
	var controller cache.Controller
	store, controller = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: pods,
		ObjectType:    &corev1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { fmt.Println("add", obj.(*corev1.Pod).Name, "of", len(store.ListKeys())) },
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { controller.RunWithContext(ctx) })
	cache.WaitFor(ctx, "", controller.HasSyncedChecker())
	stop()
	running.Wait()
	// Output: add web of 1
}

// A controller fills a queue and processes what is in it; what fails is tried again.
func ExampleNew() {
	server, pods := newServer("web")
	defer server.Close()
	tries := 0
	processed := make(chan string)
	controller := cache.New(&cache.Config{
		Queue:         cache.NewFIFO(cache.MetaNamespaceKeyFunc),
		ListerWatcher: pods,
		ObjectType:    &corev1.Pod{},
		RetryOnError:  true,
		Process: func(obj any, isInInitialList bool) error {
			if tries++; tries < 3 {
				return fmt.Errorf("try %d failed", tries)
			}
			processed <- obj.(*corev1.Pod).Name
			return nil
		},
	})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { controller.RunWithContext(ctx) })
	fmt.Println("processed", <-processed, "in try", tries)
	stop()
	running.Wait()
	// Output: processed web in try 3
}

// A reflector keeps any store in step, also one that is no copy but does something with what it gets.
func ExampleNewReflectorWithOptions() {
	server, pods := newServer("db", "web")
	defer server.Close()
	contents := make(chan int)
	store := cache.NewUndeltaStore(func(all []any) { contents <- len(all) }, cache.MetaNamespaceKeyFunc)
	reflector := cache.NewReflectorWithOptions(pods, &corev1.Pod{}, store, cache.ReflectorOptions{Name: "pods"})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { reflector.RunWithContext(ctx) })
	fmt.Println(<-contents, "pods")
	if _, err := apitest.Create(server, newPod("cron")); err != nil {
		panic(err)
	}
	fmt.Println(<-contents, "pods")
	stop()
	running.Wait()
	// Output:
	// 2 pods
	// 3 pods
}

// A handler for some of the objects: one that starts or stops passing is added or deleted.
func ExampleFilteringResourceEventHandler() {
	handler := cache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool { return obj.(*corev1.Pod).Labels["app"] == "web" },
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(obj any) { fmt.Println("add") },
			DeleteFunc: func(obj any) { fmt.Println("delete") },
		},
	}
	handler.OnAdd(newPod("db"), true)
	handler.OnUpdate(newPod("db"), newPod("web"))
	handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "default/web", Obj: newPod("web")})
	// Output:
	// add
	// delete
}
