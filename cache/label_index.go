package cache

import (
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

// labelSelecting is a store that may have a label index.
type labelSelecting interface {
	// selectLabelled returns the objects in namespace ("": all) that selector can match. exact: all of them do. ok false: there is no
	// index that could help.
	selectLabelled(namespace string, selector labels.Selector) (objs []any, exact, ok bool)
}

func (c *cache) selectLabelled(namespace string, selector labels.Selector) (objs []any, exact, ok bool) {
	return c.content.selectLabelled(namespace, selector)
}

func (m *threadSafeMap) selectLabelled(namespace string, selector labels.Selector) (objs []any, exact, ok bool) {
	if selector == nil || selector.Empty() {
		return nil, false, false
	}
	indexes := *m.indexes.Load()
	byLabel, ok := indexes[LabelIndex]
	if !ok {
		return nil, false, false
	}
	q, exact, ok := labelindex.Query(byLabel.index, selector)
	if !ok {
		return nil, false, false
	}
	s := m.store.Snapshot()
	if namespace != metav1.NamespaceAll {
		byNamespace, has := indexes[NamespaceIndex]
		if !has {
			return nil, false, false
		}
		q = store.And(byNamespace.index.Is(namespace), q)
	}
	for _, obj := range s.Select(q) {
		objs = append(objs, obj)
	}
	return objs, exact, true
}
