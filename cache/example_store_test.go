package cache_test

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/cache"
)

// pod is a pod on a node, at a resource version.
func pod(namespace, name, node, rv string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, ResourceVersion: rv, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: node},
	}
}

func keys(objs []any) []string {
	var keys []string
	for _, obj := range objs {
		key, _ := cache.MetaNamespaceKeyFunc(obj)
		keys = append(keys, key)
	}
	return slices.Sorted(slices.Values(keys))
}

func byNode(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil }

func ExampleNewStore() {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	_ = store.Add(pod("default", "web", "n1", "1"))
	_ = store.Update(pod("default", "web", "n2", "2"))

	obj, exists, err := store.GetByKey("default/web")
	fmt.Println(obj.(*corev1.Pod).Spec.NodeName, exists, err)
	fmt.Println(store.LastStoreSyncResourceVersion())
	// Output:
	// n2 true <nil>
	// 2
}

func ExampleNewIndexer() {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	_ = indexer.Replace([]any{pod("default", "web", "n1", "1"), pod("default", "db", "n2", "2"), pod("test", "web", "n1", "3")}, "3")

	inDefault, err := indexer.ByIndex(cache.NamespaceIndex, "default")
	fmt.Println(keys(inDefault), err)

	// An index can be added at any time.
	_ = indexer.AddIndexers(cache.Indexers{"node": byNode})
	on1, err := indexer.ByIndex("node", "n1")
	fmt.Println(keys(on1), err)
	// Output:
	// [default/db default/web] <nil>
	// [default/web test/web] <nil>
}

func ExampleNewThreadSafeStore() {
	store := cache.NewThreadSafeStore(cache.Indexers{"node": byNode}, cache.Indices{})
	store.Add("my key", pod("default", "web", "n1", "1"))
	fmt.Println(store.ListIndexFuncValues("node"))
	store.Update("my key", pod("default", "web", "n2", "2"))
	fmt.Println(store.ListIndexFuncValues("node"))
	// Output:
	// [n1]
	// [n2]
}

func ExampleTransactionStore() {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	_ = store.Add(pod("default", "old", "n1", "1"))
	// No reader sees one of the two without the other.
	err := store.(cache.TransactionStore).Transaction(
		cache.Transaction{Type: cache.TransactionTypeAdd, Object: pod("default", "new", "n1", "2")},
		cache.Transaction{Type: cache.TransactionTypeDelete, Object: cache.ExplicitKey("default/old")},
	)
	fmt.Println(keys(store.List()), err == nil)
	// Output: [default/new] true
}

func ExampleTypedIndexers() {
	// Functions of pods, for who takes functions of anything.
	indexers := cache.TypedIndexersToIndexers(cache.TypedIndexers[*corev1.Pod]{
		"node": func(pod *corev1.Pod) ([]string, error) { return []string{pod.Spec.NodeName}, nil },
	})
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	_ = indexer.Add(pod("default", "web", "n1", "1"))
	fmt.Println(indexer.ListIndexFuncValues("node"))
	// Output: [n1]
}

func ExampleNewTTLStore() {
	store := cache.NewTTLStore(cache.MetaNamespaceKeyFunc, time.Nanosecond)
	_ = store.Add(pod("default", "web", "n1", "1"))
	time.Sleep(time.Microsecond)
	_, exists, _ := store.GetByKey("default/web")
	fmt.Println(exists)
	// Output: false
}

func ExampleNewUndeltaStore() {
	store := cache.NewUndeltaStore(func(all []any) { fmt.Println(keys(all)) }, cache.MetaNamespaceKeyFunc)
	_ = store.Add(pod("default", "web", "n1", "1"))
	_ = store.Add(pod("default", "db", "n1", "2"))
	_ = store.Delete(cache.ExplicitKey("default/web"))
	// Output:
	// [default/web]
	// [default/db default/web]
	// [default/db]
}

func ExampleListAllByNamespace() {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	_ = indexer.Replace([]any{pod("default", "web", "n1", "1"), pod("default", "db", "n2", "2"), pod("test", "web", "n1", "3")}, "3")
	selector := labels.SelectorFromSet(labels.Set{"app": "web"})
	err := cache.ListAllByNamespace(indexer, "default", selector, func(obj any) {
		fmt.Println(cache.MetaObjectToName(obj.(*corev1.Pod)))
	})
	fmt.Println(err)
	// Output:
	// default/web
	// <nil>
}

func ExampleNewGenericLister() {
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	lister := cache.NewGenericLister(indexer, corev1.Resource("pods"))
	_, err := lister.ByNamespace("default").Get("web")
	fmt.Println(err)
	// Output: pods "web" not found
}

func ExampleMutationCache() {
	// What an informer holds, and is always a little behind.
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"node": byNode})
	_ = indexer.Add(pod("default", "web", "n1", "7"))

	overlay := cache.NewIntegerResourceVersionMutationCache(klog.Background(), indexer, indexer, time.Minute, true)
	overlay.Mutation(pod("default", "web", "n2", "9")) // the server's answer to our update
	overlay.Mutation(pod("default", "db", "n2", "10")) // and to our create

	obj, _, _ := overlay.GetByKey("default/web")
	fmt.Println(obj.(*corev1.Pod).Spec.NodeName)
	on2, _ := overlay.ByIndex("node", "n2")
	fmt.Println(keys(on2))

	_ = indexer.Update(pod("default", "web", "n3", "12")) // the informer has caught up, and more
	obj, _, _ = overlay.GetByKey("default/web")
	fmt.Println(obj.(*corev1.Pod).Spec.NodeName)
	// Output:
	// n2
	// [default/db default/web]
	// n3
}

func ExampleSplitMetaNamespaceKey() {
	namespace, name, err := cache.SplitMetaNamespaceKey("kube-system/coredns")
	fmt.Println(namespace, name, err)
	// Output: kube-system coredns <nil>
}
