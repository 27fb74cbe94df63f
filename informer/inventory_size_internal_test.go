package informer

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/informerkit/informerkit/store"
)

func TestSizeOf(t *testing.T) {
	type node struct {
		next *node
		name string
	}
	loop := &node{name: "0123456789abcdef"}
	loop.next = loop
	text := "0123456789abcdef"
	for name, test := range map[string]struct {
		v    any
		want int64
	}{
		"nil":                {(*node)(nil), 0},
		"struct":             {&node{}, 32},
		"string":             {&node{name: text}, 48},
		"cycle":              {loop, 48},
		"slice, by capacity": {&[]int64{1, 2, 3, 4}, 32 + 32},
		"of strings":         {&[]string{text, text}, 32 + 32 + 32},
		"nil interface":      {&[]any{nil}, 32 + 16},
		"boxed":              {&[]any{int64(1)}, 32 + 16 + 16},
		"twice the same":     {&[]*node{loop, loop}, 32 + 16 + 48},
		"array":              {&[2]string{text, ""}, 32 + 16},
	} {
		if got := sizeOf(test.v); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

// The estimate is within a third of what the heap grows by.
func TestEstimateIsNearTheTruth(t *testing.T) {
	pod := func(n int) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace:   fmt.Sprintf("namespace-%d", n%7),
			Name:        fmt.Sprintf("pod-with-a-long-name-%d", n),
			UID:         "01234567-89ab-cdef-0123-456789abcdef",
			Labels:      map[string]string{},
			Annotations: map[string]string{},
		}}
		for k := range 3 + n%12 {
			p.Labels[fmt.Sprintf("label-%d-%d", n, k)] = fmt.Sprintf("value-%d", n)
		}
		for k := range 4 {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{
				Name:  fmt.Sprintf("container-%d", k),
				Image: fmt.Sprintf("registry.example.com/team/image-%d:v%d", n, k),
				Env:   []corev1.EnvVar{{Name: fmt.Sprintf("NAME_%d", n), Value: fmt.Sprintf("value %d", k)}},
			})
		}
		return p
	}
	for form, make := range map[string]func(int) kruntime.Object{
		"typed":    func(n int) kruntime.Object { return pod(n) },
		"metadata": func(n int) kruntime.Object { return &metav1.PartialObjectMetadata{ObjectMeta: pod(n).ObjectMeta} },
		"unstructured": func(n int) kruntime.Object {
			p := pod(n)
			p.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
			u := &unstructured.Unstructured{}
			if data, err := json.Marshal(p); err != nil || u.UnmarshalJSON(data) != nil {
				t.Fatal("no unstructured pod")
			}
			return u
		},
	} {
		const count = 2000
		objs := [count]kruntime.Object{}
		before := heapBytes()
		for n := range objs {
			objs[n] = make(n)
		}
		truth := float64(heapBytes() - before)
		s, w := store.New(store.Options[kruntime.Object]{})
		var b store.Batch[kruntime.Object]
		for n := range objs {
			b.Put(fmt.Sprint(n), objs[n])
		}
		w.Commit(&b)
		got := float64(estimate(s.Snapshot()))
		t.Logf("%s: estimated %.0f, is %.0f bytes per object", form, got/count, truth/count)
		if got < truth*2/3 || got > truth*4/3 {
			t.Errorf("%s: estimated %.0f, is %.0f", form, got, truth)
		}
	}
}

func heapBytes() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
