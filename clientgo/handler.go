package clientgo

import (
	"k8s.io/client-go/tools/cache"

	ours "github.com/informerkit/informerkit/cache"
)

// handler gives a handler of client-go's users its tombstones.
type handler struct{ cache.ResourceEventHandler }

func (h handler) OnDelete(obj any) { h.ResourceEventHandler.OnDelete(theirTombstone(obj)) }

// theirTombstone is a tombstone of client-go's for one of ours; anything else is itself.
func theirTombstone(obj any) any {
	if d, ok := obj.(ours.DeletedFinalStateUnknown); ok {
		return cache.DeletedFinalStateUnknown{Key: d.Key, Obj: d.Obj}
	}
	return obj
}

// ourTombstone is a tombstone of ours for one of client-go's; anything else is itself.
func ourTombstone(obj any) any {
	switch d := obj.(type) {
	case cache.DeletedFinalStateUnknown:
		return ours.DeletedFinalStateUnknown{Key: d.Key, Obj: d.Obj}
	case cache.ExplicitKey:
		return ours.ExplicitKey(d)
	}
	return obj
}

// registration is ours under client-go's type names.
type registration struct {
	ours.ResourceEventHandlerRegistration
}

func (r registration) HasSyncedChecker() cache.DoneChecker {
	return r.ResourceEventHandlerRegistration.HasSyncedChecker()
}

// ShutdownChan is the optional interface that client-go's users wait through for a removed handler to come to rest.
func (r registration) ShutdownChan() <-chan struct{} {
	return r.ResourceEventHandlerRegistration.(interface{ ShutdownChan() <-chan struct{} }).ShutdownChan()
}

func registered(r ours.ResourceEventHandlerRegistration, err error) (cache.ResourceEventHandlerRegistration, error) {
	if err != nil {
		return nil, err
	}
	return registration{r}, nil
}
