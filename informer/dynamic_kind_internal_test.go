package informer

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestOtherKindIsWhatIsKnownToBeAnother(t *testing.T) {
	gizmo := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gizmo"}
	typed := func(apiVersion, kind string) runtime.Object {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}}
	}
	for name, c := range map[string]struct {
		obj  runtime.Object
		want bool
	}{
		"the kind":                         {typed("example.com/v1", "Gizmo"), false},
		"the kind in another version":      {typed("example.com/v2", "Gizmo"), false},
		"another kind":                     {typed("example.com/v1", "Gadget"), true},
		"metadata, as servers give it":     {typed("meta.k8s.io/v1", "PartialObjectMetadata"), false},
		"a Go type, which says no kind":    {&corev1.Pod{}, false},
		"an object that says only a group": {typed("example.com/v1", ""), false},
	} {
		if got := otherKind(gizmo, c.obj); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
