package bench

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/informerkit/informerkit/cache"
)

// newThroughCache is an indexer of package cache, used as code for client-go uses it.
func newThroughCache(p *population, byLabels bool) (*holder, error) {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, nodeIndex: nodeOf}
	if byLabels {
		indexers[cache.LabelIndex] = cache.MetaLabelIndexFunc
	}
	ix := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
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
