package cache

// ResourceEventHandler is told what happens to objects. Calls for one registration follow one another. What it gets is
// shared with all readers: it must not change it, at any depth.
type ResourceEventHandler interface {
	// OnAdd tells of an object that was not there before. isInInitialList: it belongs to the first list, or was there
	// when the handler came.
	OnAdd(obj any, isInInitialList bool)
	// OnUpdate tells of another state of an object. At a resync, and only there, both are the same pointer. An object
	// that was deleted and made again unseen is one OnUpdate: the UIDs differ.
	OnUpdate(oldObj, newObj any)
	// OnDelete tells that an object is gone; obj is its last state, or a [DeletedFinalStateUnknown] if the deletion
	// itself was not seen.
	OnDelete(obj any)
}

// ResourceEventHandlerFuncs is a [ResourceEventHandler] of functions. Those that are nil are skipped.
type ResourceEventHandlerFuncs struct {
	AddFunc    func(obj any)
	UpdateFunc func(oldObj, newObj any)
	DeleteFunc func(obj any)
}

// OnAdd calls AddFunc.
func (r ResourceEventHandlerFuncs) OnAdd(obj any, isInInitialList bool) {
	if r.AddFunc != nil {
		r.AddFunc(obj)
	}
}

// OnUpdate calls UpdateFunc.
func (r ResourceEventHandlerFuncs) OnUpdate(oldObj, newObj any) {
	if r.UpdateFunc != nil {
		r.UpdateFunc(oldObj, newObj)
	}
}

// OnDelete calls DeleteFunc.
func (r ResourceEventHandlerFuncs) OnDelete(obj any) {
	if r.DeleteFunc != nil {
		r.DeleteFunc(obj)
	}
}

// ResourceEventHandlerDetailedFuncs is [ResourceEventHandlerFuncs] whose AddFunc hears isInInitialList.
type ResourceEventHandlerDetailedFuncs struct {
	AddFunc    func(obj any, isInInitialList bool)
	UpdateFunc func(oldObj, newObj any)
	DeleteFunc func(obj any)
}

// OnAdd calls AddFunc.
func (r ResourceEventHandlerDetailedFuncs) OnAdd(obj any, isInInitialList bool) {
	if r.AddFunc != nil {
		r.AddFunc(obj, isInInitialList)
	}
}

// OnUpdate calls UpdateFunc.
func (r ResourceEventHandlerDetailedFuncs) OnUpdate(oldObj, newObj any) {
	if r.UpdateFunc != nil {
		r.UpdateFunc(oldObj, newObj)
	}
}

// OnDelete calls DeleteFunc.
func (r ResourceEventHandlerDetailedFuncs) OnDelete(obj any) {
	if r.DeleteFunc != nil {
		r.DeleteFunc(obj)
	}
}

// FilteringResourceEventHandler passes on to Handler what FilterFunc says yes to. An object that starts to pass is an
// add for Handler, one that stops passing a delete. FilterFunc must not change what it gets.
//
// Of a [DeletedFinalStateUnknown] the object in it is what counts: if that passed, Handler knows it and hears of its
// end. A FilterFunc that would have more, because that object may be stale, can say yes to the tombstone itself; one
// that panics on a tombstone has said no. Without an object in it a tombstone passes: nobody can tell.
type FilteringResourceEventHandler struct {
	FilterFunc func(obj any) bool
	Handler    ResourceEventHandler
}

// OnAdd calls Handler's OnAdd if the object passes.
func (r FilteringResourceEventHandler) OnAdd(obj any, isInInitialList bool) {
	if r.FilterFunc(obj) {
		r.Handler.OnAdd(obj, isInInitialList)
	}
}

// OnUpdate calls what of Handler says what the update is to it.
func (r FilteringResourceEventHandler) OnUpdate(oldObj, newObj any) {
	switch before, after := r.FilterFunc(oldObj), r.FilterFunc(newObj); {
	case before && after:
		r.Handler.OnUpdate(oldObj, newObj)
	case after:
		r.Handler.OnAdd(newObj, false)
	case before:
		r.Handler.OnDelete(oldObj)
	}
}

// OnDelete calls Handler's OnDelete if the object passes.
func (r FilteringResourceEventHandler) OnDelete(obj any) {
	if r.deletionPasses(obj) {
		r.Handler.OnDelete(obj)
	}
}

func (r FilteringResourceEventHandler) deletionPasses(obj any) (passes bool) {
	tombstone, ok := obj.(DeletedFinalStateUnknown)
	if !ok {
		return r.FilterFunc(obj)
	}
	if tombstone.Obj == nil || r.FilterFunc(tombstone.Obj) {
		return true
	}
	defer func() {
		if recover() != nil { // an unchecked cast to the object's type, and that has been asked about already
			passes = false
		}
	}()
	return r.FilterFunc(tombstone)
}
