package cache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Lists through a label index find what looking at every object finds.
func TestListsThroughALabelIndexAreRight(t *testing.T) {
	withIndex := NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc, LabelIndex: MetaLabelIndexFunc})
	noNamespaces := NewIndexer(MetaNamespaceKeyFunc, Indexers{LabelIndex: MetaLabelIndexFunc})
	without := NewIndexer(MetaNamespaceKeyFunc, Indexers{})
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprint("ns", r.IntN(3)), Name: fmt.Sprint("p", r.IntN(50)), Labels: map[string]string{}}}
		for _, key := range []string{"app", "tier"} {
			if v := r.IntN(4); v > 0 {
				pod.Labels[key] = fmt.Sprint(v)
			}
		}
		for _, indexer := range []Indexer{withIndex, noNamespaces, without} {
			write := indexer.Add
			if pod.Name == "p7" { // comes and goes
				write = indexer.Delete
			}
			if err := write(pod); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, text := range []string{"", "app=1", "app!=1", "app in (1,2),tier", "!app", "tier>1", "app=absent", "app notin (1),tier>2"} {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, namespace := range []string{"", "ns1", "absent"} {
			found := func(indexer Indexer) (keys []string) {
				err := ListAllByNamespace(indexer, namespace, selector, func(obj any) {
					key, _ := MetaNamespaceKeyFunc(obj)
					keys = append(keys, key)
				})
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(keys)
				return keys
			}
			want := found(without)
			if got := found(withIndex); !slices.Equal(got, want) {
				t.Errorf("%q in %q: got %v, want %v", text, namespace, got, want)
			}
			if got := found(noNamespaces); !slices.Equal(got, want) {
				t.Errorf("%q in %q without namespace index: got %v, want %v", text, namespace, got, want)
			}
			objs, err := NewGenericLister(withIndex, schema.GroupResource{Resource: "pods"}).ByNamespace(namespace).List(selector)
			if err != nil || len(objs) != len(want) {
				t.Errorf("%q in %q: generic lister finds %d, error %v, want %d", text, namespace, len(objs), err, len(want))
			}
		}
	}
	var none int
	if err := ListAll(withIndex, labels.Nothing(), func(any) { none++ }); err != nil || none != 0 {
		t.Errorf("the selector of nothing finds %d, error %v", none, err)
	}
}

// A label index is used where it is there: objects that can't match are not looked at.
func TestLabelIndexIsUsed(t *testing.T) {
	indexer := NewIndexer(MetaNamespaceKeyFunc, Indexers{NamespaceIndex: MetaNamespaceIndexFunc, LabelIndex: MetaLabelIndexFunc})
	for n := range 10 {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: fmt.Sprint(n), Labels: map[string]string{"n": fmt.Sprint(n)}}}
		if err := indexer.Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	selector := labels.SelectorFromSet(labels.Set{"n": "3"})
	for _, namespace := range []string{"", "a"} {
		objs, left := indexer.(selecting).candidates(namespace, selector)
		if n := len(slices.Collect(objs)); n != 1 || left != (match{}) {
			t.Errorf("in %q: %d objects to look at, for %+v", namespace, n, left)
		}
	}
}
