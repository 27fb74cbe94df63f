package bench

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/store"
)

// newTyped is an informer that is read as users read it, and filled through its store's writer.
func newTyped(p *population, byLabels bool) (*holder, error) {
	st, w := store.New(store.Options[*corev1.Pod]{Same: informer.Same[*corev1.Pod]})
	i, err := informer.New(nil, informer.Options[*corev1.Pod]{Writer: w})
	if err != nil {
		return nil, err
	}
	byNode := informer.AddIndex(i, "node", func(pod *corev1.Pod) []string { return []string{pod.Spec.NodeName} })
	h := &holder{
		get: func(key string) *corev1.Pod {
			pod, _ := i.Get(key)
			return pod
		},
		all:   func() int { return visit(i.Snapshot().All()) },
		slice: func() int { return len(i.Snapshot().Objects()) },
		node:  func(node string) int { return visit(byNode.Get(i.Snapshot(), node)) },
	}
	if byLabels {
		lister := informer.NewLister(i, informer.ListerOptions[*corev1.Pod]{})
		h.namespace = func(namespace string) int { return visit(lister.List(namespace, nil)) }
		h.matching = func(namespace string, selector labels.Selector) int { return visit(lister.List(namespace, selector)) }
	} else {
		byNamespace := informer.AddIndex(i, "namespace", func(pod *corev1.Pod) []string { return []string{pod.Namespace} })
		h.namespace = func(namespace string) int { return visit(byNamespace.Get(i.Snapshot(), namespace)) }
	}

	var batch store.Batch[*corev1.Pod]
	h.put = func(pod *corev1.Pod) {
		batch.Put(keyOf(pod), pod)
		batch.Revision = pod.ResourceVersion
		w.Commit(&batch)
	}
	h.remove = func(pod *corev1.Pod) {
		batch.Delete(keyOf(pod))
		batch.Revision = pod.ResourceVersion
		w.Commit(&batch)
	}
	h.batch = func(pods []*corev1.Pod) {
		for _, pod := range pods {
			batch.Put(keyOf(pod), pod)
		}
		batch.Revision = pods[len(pods)-1].ResourceVersion
		w.Commit(&batch)
	}
	h.replace = func(pods []*corev1.Pod) int {
		next := w.Replace()
		for _, pod := range pods {
			next.Put(keyOf(pod), pod)
		}
		return len(next.Commit(st.Revision()))
	}
	h.replace(p.pods)
	p.age(h)
	return h, nil
}

// visit goes through what is found.
func visit(found iter.Seq2[string, *corev1.Pod]) (n int) {
	for range found {
		n++
	}
	return n
}
