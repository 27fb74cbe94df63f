package cache_test

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/informerkit/informerkit/cache"
)

// show prints the deltas of an object.
func show(obj any, isInInitialList bool) error {
	for _, delta := range obj.(cache.Deltas) {
		switch state := delta.Object.(type) {
		case *corev1.Pod:
			fmt.Println(delta.Type, state.Name, state.ResourceVersion, isInInitialList)
		case cache.DeletedFinalStateUnknown:
			fmt.Println(delta.Type, state.Key, "unseen", isInInitialList)
		}
	}
	return nil
}

func ExampleFIFO() {
	queue := cache.NewFIFO(cache.MetaNamespaceKeyFunc)
	_ = queue.Add(pod("", "a", "n1", "1"))
	_ = queue.Add(pod("", "b", "n1", "2"))
	_ = queue.Update(pod("", "a", "n1", "3")) // waits already: newest state, first place
	for range 2 {
		_, _ = queue.Pop(func(obj any, _ bool) error {
			fmt.Println(obj.(*corev1.Pod).Name, obj.(*corev1.Pod).ResourceVersion)
			return nil
		})
	}
	queue.Close()
	_, err := queue.Pop(nil)
	fmt.Println(err == cache.ErrFIFOClosed)
	// Output:
	// a 3
	// b 2
	// true
}

func ExampleErrRequeue() {
	queue := cache.NewFIFO(cache.MetaNamespaceKeyFunc)
	_ = queue.Add(pod("", "a", "n1", "1"))
	_, err := queue.Pop(func(any, bool) error {
		return cache.ErrRequeue{Err: errors.New("not now")}
	})
	fmt.Println(err, queue.ListKeys())
	// Output: not now [a]
}

func ExampleDeltaFIFO() {
	known := cache.NewStore(cache.MetaNamespaceKeyFunc) // what the consumer has processed
	_ = known.Add(pod("", "gone", "n1", "1"))

	queue := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KnownObjects: known, EmitDeltaTypeReplaced: true})
	_ = queue.Replace([]any{pod("", "a", "n1", "2")}, "2")
	_ = queue.Update(pod("", "a", "n1", "3"))
	_, _ = queue.Pop(show)
	fmt.Println("synced:", queue.HasSynced())
	_, _ = queue.Pop(show)
	fmt.Println("synced:", queue.HasSynced())
	// Output:
	// Replaced a 2 true
	// Updated a 3 true
	// synced: false
	// Deleted gone unseen true
	// synced: true
}

func ExampleRealFIFO() {
	queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true})
	_ = queue.Add(pod("", "a", "n1", "1"))
	_ = queue.Add(pod("", "b", "n1", "2"))
	_ = queue.Update(pod("", "a", "n1", "3"))

	batch := func(deltas []cache.Delta, _ bool) error {
		fmt.Println("a batch of", len(deltas)) // no object twice
		return nil
	}
	_ = queue.PopBatch(batch, show)
	_ = queue.PopBatch(batch, show)
	// Output:
	// a batch of 2
	// Updated a 3 false
}

func ExampleHeap() {
	byAge := func(a, b any) bool { return a.(*corev1.Pod).ResourceVersion < b.(*corev1.Pod).ResourceVersion }
	queue := cache.NewHeap(cache.MetaNamespaceKeyFunc, byAge)
	_ = queue.BulkAdd([]any{pod("", "new", "n1", "9"), pod("", "old", "n1", "1")})
	first, err := queue.Pop()
	fmt.Println(first.(*corev1.Pod).Name, err)
	// Output: old <nil>
}
