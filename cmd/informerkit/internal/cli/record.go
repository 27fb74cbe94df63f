package cli

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/informer"
)

// Types of a record, as kubectl and the API name them.
const (
	typeAdded   = "ADDED"
	typeUpdated = "UPDATED"
	typeDeleted = "DELETED"
)

// record is one change as it is shown. Its objects are shared with the informer: nobody changes them.
type record struct {
	at  time.Time
	typ string
	key string
	// object is the newest state known, old that before an UPDATED.
	object, old *unstructured.Unstructured
	// initial: it was there when the command came.
	initial bool
	// lastKnown, of a DELETED: the deletion itself was not seen, so object may not be the final state.
	lastKnown bool
}

// recordOf tells an event; content is an object as JSON has it.
func recordOf[T any](e informer.Event[T], at time.Time, content func(T) *unstructured.Unstructured) record {
	r := record{at: at, key: e.Key, object: content(e.Object()), initial: e.Initial}
	switch e.Type {
	case informer.Added:
		r.typ = typeAdded
	case informer.Updated:
		r.typ, r.old = typeUpdated, content(e.Old)
	case informer.Deleted:
		r.typ, r.lastKnown = typeDeleted, !e.Final
	}
	return r
}

// content is obj as JSON has it.
func content[T runtime.Object](obj T) *unstructured.Unstructured {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		panic(fmt.Sprintf("BUG: %T can't be converted: %v", obj, err))
	}
	return &unstructured.Unstructured{Object: object}
}

// metadataContent is the same for metadata, under the kind of the resource it is of.
func metadataContent(kind schema.GroupVersionKind) func(*metav1.PartialObjectMetadata) *unstructured.Unstructured {
	return func(m *metav1.PartialObjectMetadata) *unstructured.Unstructured {
		u := content(m)
		u.SetGroupVersionKind(kind) // the server's says PartialObjectMetadata
		return u
	}
}
