package informer

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// metaOf is the object metadata of obj, or nil if it has none.
func metaOf[T any](obj T) metav1.Object {
	switch o := any(obj).(type) {
	case metav1.Object:
		return o
	case metav1.ObjectMetaAccessor:
		return o.GetObjectMeta()
	}
	return nil
}

func uidOf[T any](obj T) types.UID {
	if m := metaOf(obj); m != nil {
		return m.GetUID()
	}
	return ""
}

// Same reports that prev and next are one state of one object: equal UIDs and equal resource versions. Objects that carry
// no resource version (as fakes make them) are never the same. It is what an informer's store is made with.
func Same[T any](prev, next T) bool {
	p, n := metaOf(prev), metaOf(next)
	return p != nil && n != nil && sameState(p, string(n.GetUID()), n.GetResourceVersion())
}

func sameState(prev metav1.Object, uid, rv string) bool {
	return rv != "" && prev.GetResourceVersion() == rv && string(prev.GetUID()) == uid
}
