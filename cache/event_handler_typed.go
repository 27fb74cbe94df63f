package cache

import (
	"fmt"

	"k8s.io/klog/v2"
)

// Object is what the typed handlers ask of an object; all API types have it. Comparable, so that a missing one (nil)
// can be told.
type Object interface {
	comparable

	GetName() string
	GetNamespace() string
}

// DeletedObject tells of an object that is gone. Its methods work whether or not the object itself is there; with
// GetName and GetNamespace it can be given to klog.KObj.
type DeletedObject[T Object] struct {
	// OptionalObj is the last state known; the zero T if none is.
	OptionalObj T

	// FinalStateUnknown is nil if OptionalObj is the state the object was deleted in. Otherwise it has the key, and
	// OptionalObj untyped.
	FinalStateUnknown *DeletedFinalStateUnknown
}

// GetKey is the key under which the object was stored.
func (d DeletedObject[T]) GetKey() string {
	if d.FinalStateUnknown != nil {
		return d.FinalStateUnknown.Key
	}
	return d.GetObjectName().String()
}

// GetObjectName is the object's name and namespace. A key that is no namespace and name is a name.
func (d DeletedObject[T]) GetObjectName() ObjectName {
	var none T
	switch {
	case d.FinalStateUnknown != nil:
		name, err := ParseObjectName(d.FinalStateUnknown.Key)
		if err != nil {
			return ObjectName{Name: d.FinalStateUnknown.Key}
		}
		return name
	case d.OptionalObj != none:
		return NewObjectName(d.OptionalObj.GetNamespace(), d.OptionalObj.GetName())
	}
	return ObjectName{}
}

// GetName is the object's name without the namespace.
func (d DeletedObject[T]) GetName() string { return d.GetObjectName().Name }

// GetNamespace is the object's namespace; "" of a cluster-scoped one.
func (d DeletedObject[T]) GetNamespace() string { return d.GetObjectName().Namespace }

// TypedResourceEventHandler is [ResourceEventHandler] without casts.
type TypedResourceEventHandler[T Object] interface {
	OnAdd(obj T, isInInitialList bool)
	OnUpdate(oldObj, newObj T)
	OnDelete(obj DeletedObject[T])
}

// TypedResourceEventHandlerFuncs is [ResourceEventHandlerFuncs] without casts.
type TypedResourceEventHandlerFuncs[T Object] struct {
	AddFunc    func(obj T)
	UpdateFunc func(oldObj, newObj T)
	DeleteFunc func(obj DeletedObject[T])
}

// OnAdd calls AddFunc.
func (r TypedResourceEventHandlerFuncs[T]) OnAdd(obj T, isInInitialList bool) {
	if r.AddFunc != nil {
		r.AddFunc(obj)
	}
}

// OnUpdate calls UpdateFunc.
func (r TypedResourceEventHandlerFuncs[T]) OnUpdate(oldObj, newObj T) {
	if r.UpdateFunc != nil {
		r.UpdateFunc(oldObj, newObj)
	}
}

// OnDelete calls DeleteFunc.
func (r TypedResourceEventHandlerFuncs[T]) OnDelete(obj DeletedObject[T]) {
	if r.DeleteFunc != nil {
		r.DeleteFunc(obj)
	}
}

// TypedResourceEventHandlerDetailedFuncs is [ResourceEventHandlerDetailedFuncs] without casts.
type TypedResourceEventHandlerDetailedFuncs[T Object] struct {
	AddFunc    func(obj T, isInInitialList bool)
	UpdateFunc func(oldObj, newObj T)
	DeleteFunc func(obj DeletedObject[T])
}

// OnAdd calls AddFunc.
func (r TypedResourceEventHandlerDetailedFuncs[T]) OnAdd(obj T, isInInitialList bool) {
	if r.AddFunc != nil {
		r.AddFunc(obj, isInInitialList)
	}
}

// OnUpdate calls UpdateFunc.
func (r TypedResourceEventHandlerDetailedFuncs[T]) OnUpdate(oldObj, newObj T) {
	if r.UpdateFunc != nil {
		r.UpdateFunc(oldObj, newObj)
	}
}

// OnDelete calls DeleteFunc.
func (r TypedResourceEventHandlerDetailedFuncs[T]) OnDelete(obj DeletedObject[T]) {
	if r.DeleteFunc != nil {
		r.DeleteFunc(obj)
	}
}

// TypedFilteringResourceEventHandler is [FilteringResourceEventHandler] without casts.
type TypedFilteringResourceEventHandler[T Object] struct {
	// FilterFunc is asked about the last state known of a deleted object too: the zero T if none is.
	FilterFunc func(obj T) bool
	Handler    TypedResourceEventHandler[T]
}

// OnAdd calls Handler's OnAdd if the object passes.
func (r TypedFilteringResourceEventHandler[T]) OnAdd(obj T, isInInitialList bool) {
	if r.FilterFunc(obj) {
		r.Handler.OnAdd(obj, isInInitialList)
	}
}

// OnUpdate calls what of Handler says what the update is to it.
func (r TypedFilteringResourceEventHandler[T]) OnUpdate(oldObj, newObj T) {
	switch before, after := r.FilterFunc(oldObj), r.FilterFunc(newObj); {
	case before && after:
		r.Handler.OnUpdate(oldObj, newObj)
	case after:
		r.Handler.OnAdd(newObj, false)
	case before:
		r.Handler.OnDelete(DeletedObject[T]{OptionalObj: oldObj})
	}
}

// OnDelete calls Handler's OnDelete if the last state known passes.
func (r TypedFilteringResourceEventHandler[T]) OnDelete(obj DeletedObject[T]) {
	if r.FilterFunc(obj.OptionalObj) {
		r.Handler.OnDelete(obj)
	}
}

// untypedHandler is a typed handler as a [ResourceEventHandler]. An object of another type than T is reported and not
// passed on.
type untypedHandler[T Object] struct {
	handler TypedResourceEventHandler[T]
	logger  klog.Logger
}

func (u untypedHandler[T]) OnAdd(obj any, isInInitialList bool) {
	if typed, ok := u.typed(obj); ok {
		u.handler.OnAdd(typed, isInInitialList)
	}
}

func (u untypedHandler[T]) OnUpdate(oldObj, newObj any) {
	typedOld, okOld := u.typed(oldObj)
	typedNew, okNew := u.typed(newObj)
	if okOld && okNew {
		u.handler.OnUpdate(typedOld, typedNew)
	}
}

func (u untypedHandler[T]) OnDelete(obj any) {
	tombstone, lost := obj.(DeletedFinalStateUnknown)
	if !lost {
		if typed, ok := u.typed(obj); ok {
			u.handler.OnDelete(DeletedObject[T]{OptionalObj: typed})
		}
		return
	}
	d := DeletedObject[T]{FinalStateUnknown: &tombstone}
	if tombstone.Obj != nil {
		d.OptionalObj, _ = u.typed(tombstone.Obj) // the key is told in any case
	}
	u.handler.OnDelete(d)
}

func (u untypedHandler[T]) typed(obj any) (T, bool) {
	typed, ok := obj.(T)
	if !ok {
		u.logger.Error(fmt.Errorf("want %T, got %T", typed, obj), "Object of another type than the handler's")
	}
	return typed, ok
}
