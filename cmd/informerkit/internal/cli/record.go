package cli

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

func recordOf(e informer.Event[*unstructured.Unstructured], at time.Time) record {
	r := record{at: at, key: e.Key, object: e.Object(), initial: e.Initial}
	switch e.Type {
	case informer.Added:
		r.typ = typeAdded
	case informer.Updated:
		r.typ, r.old = typeUpdated, e.Old
	case informer.Deleted:
		r.typ, r.lastKnown = typeDeleted, !e.Final
	}
	return r
}
