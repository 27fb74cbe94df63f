package cache

import (
	"iter"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/informerkit/informerkit/internal/labelindex"
	"github.com/informerkit/informerkit/store"
)

// LabelIndex is the name of an index by labels. An indexer that has it, with [MetaLabelIndexFunc], answers [ListAll],
// [ListAllByNamespace] and the listers by what a label selector finds, not by looking at every object. It costs some tens of bytes for
// each label of each object:
//
//	cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, cache.LabelIndex: cache.MetaLabelIndexFunc}
const LabelIndex = "informerkit.labels"

// MetaLabelIndexFunc is the function of [LabelIndex]. What it returns is for that index alone. It fails on what has no object
// metadata.
func MetaLabelIndexFunc(obj any) ([]string, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	return labelindex.Values(accessor.GetLabels()), nil
}

// selecting is a store of ours, which finds objects without making a list of them, and may have a label index.
type selecting interface {
	// candidates returns the objects, of one state of the store, among which those are that are in namespace ("": any) and that
	// selector (nil: any) selects, and what they have to be checked for.
	candidates(namespace string, selector labels.Selector) (iter.Seq[any], match)
}

func (c *cache) candidates(namespace string, selector labels.Selector) (iter.Seq[any], match) {
	return c.content.candidates(namespace, selector)
}

func (m *threadSafeMap) candidates(namespace string, selector labels.Selector) (iter.Seq[any], match) {
	left := match{namespace, selector}
	indexes := *m.indexes.Load()
	snapshot := m.store.Snapshot()

	byNamespace, inNamespace := indexes[NamespaceIndex]
	if inNamespace = inNamespace && namespace != metav1.NamespaceAll; inNamespace {
		left.namespace = metav1.NamespaceAll
	}
	if byLabel, has := indexes[LabelIndex]; has && selector != nil && !selector.Empty() {
		if q, exact, ok := labelindex.Query(byLabel.index, selector); ok {
			if inNamespace {
				q = store.And(byNamespace.index.Is(namespace), q)
			}
			if exact {
				left.labels = nil
			}
			return objects(snapshot.Select(q)), left
		}
	}
	if inNamespace {
		return objects(byNamespace.index.Get(snapshot, namespace)), left
	}
	return objects(snapshot.All()), left
}

// objects leaves out the keys.
func objects(entries iter.Seq2[string, any]) iter.Seq[any] {
	return func(yield func(any) bool) {
		for _, obj := range entries {
			if !yield(obj) {
				return
			}
		}
	}
}
