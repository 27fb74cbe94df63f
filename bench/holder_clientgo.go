package bench

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
)

// nodeIndex is the name of the index by node in stores of client-go's kind.
const nodeIndex = "node"

func nodeOf(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("a %T is not a pod", obj)
	}
	return []string{pod.Spec.NodeName}, nil
}

// newClientGo is the indexer that client-go's informers hold objects in.
func newClientGo(p *population, _ bool) (*holder, error) {
	ix := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, nodeIndex: nodeOf})
	h := holderOfIndexer(ix)
	h.listAs(func(namespace string, selector labels.Selector, add func(any)) error {
		if namespace == "" {
			return cache.ListAll(ix, selector, add)
		}
		return cache.ListAllByNamespace(ix, namespace, selector, add)
	})
	transactions := ix.(cache.TransactionStore)
	h.batch = func(pods []*corev1.Pod) {
		batch := make([]cache.Transaction, len(pods))
		for i, pod := range pods {
			batch[i] = cache.Transaction{Object: pod, Type: cache.TransactionTypeUpdate}
		}
		if err := transactions.Transaction(batch...); err != nil { // a nil pointer in an error is not nil
			must(err)
		}
	}
	h.replace(p.pods)
	p.age(h)
	return h, nil
}

// indexer is what client-go's Indexer and ours have in common that needs no type of theirs.
type indexer interface {
	Update(obj any) error
	Delete(obj any) error
	GetByKey(key string) (item any, exists bool, err error)
	List() []any
	ByIndex(indexName, value string) ([]any, error)
	Replace(list []any, resourceVersion string) error
}

// holderOfIndexer has the functions that are spelt the same on client-go's Indexer and on ours.
func holderOfIndexer(ix indexer) *holder {
	return &holder{
		get: func(key string) *corev1.Pod {
			obj, ok, err := ix.GetByKey(key)
			if err != nil || !ok {
				return nil
			}
			return obj.(*corev1.Pod)
		},
		all:   func() int { return visitSlice(ix.List()) },
		slice: func() int { return len(ix.List()) },
		node: func(node string) int {
			found, err := ix.ByIndex(nodeIndex, node)
			must(err)
			return visitSlice(found)
		},
		put:    func(pod *corev1.Pod) { must(ix.Update(pod)) },
		remove: func(pod *corev1.Pod) { must(ix.Delete(pod)) },
		replace: func(pods []*corev1.Pod) int {
			list := make([]any, len(pods))
			for i, pod := range pods {
				list[i] = pod
			}
			must(ix.Replace(list, "1"))
			return -1
		},
	}
}

// listAs has h list as generated listers do, which make a slice of typed pods.
func (h *holder) listAs(list func(namespace string, selector labels.Selector, add func(any)) error) {
	h.matching = func(namespace string, selector labels.Selector) int {
		var pods []*corev1.Pod
		must(list(namespace, selector, func(obj any) { pods = append(pods, obj.(*corev1.Pod)) }))
		return len(pods)
	}
	h.namespace = func(namespace string) int { return h.matching(namespace, labels.Everything()) }
}

func visitSlice(objs []any) (n int) {
	for range objs {
		n++
	}
	return n
}

// must is for what fails in no contender that is used rightly.
func must(err error) {
	if err != nil {
		panic("BUG: " + err.Error())
	}
}
