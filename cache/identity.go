package cache

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// InformerName is the name under which a group of informers appears in metrics. A name is used once at a time in a
// process, and each resource once under it, so that two informers never write the same series. Made by
// [NewInformerName]; a nil InformerName is no name.
type InformerName struct {
	name string
	// released is read on the hot path of queues, hence not under mu.
	released atomic.Bool

	mu        sync.Mutex // guards resources
	resources map[schema.GroupVersionResource]struct{}
}

// informerNames are the names in use in this process.
var informerNames = struct {
	mu    sync.Mutex // guards inUse; taken without any other lock
	inUse map[string]*InformerName
}{inUse: map[string]*InformerName{}}

// NewInformerName takes a name, until [InformerName.Release]. It fails on an empty one and on one that is in use.
func NewInformerName(name string) (*InformerName, error) {
	if name == "" {
		return nil, errors.New("informer name cannot be empty")
	}
	informerNames.mu.Lock()
	defer informerNames.mu.Unlock()
	if _, taken := informerNames.inUse[name]; taken {
		return nil, fmt.Errorf("informer name %q is already registered", name)
	}
	n := &InformerName{name: name, resources: map[schema.GroupVersionResource]struct{}{}}
	informerNames.inUse[name] = n
	return n, nil
}

// ResetInformerNamesForTesting forgets all names in use.
func ResetInformerNamesForTesting() {
	informerNames.mu.Lock()
	defer informerNames.mu.Unlock()
	clear(informerNames.inUse)
}

// Name is the name; "" of nil.
func (n *InformerName) Name() string {
	if n == nil {
		return ""
	}
	return n.name
}

// Release gives the name up for others: nothing made from n is Reserved any more. Idempotent.
func (n *InformerName) Release() {
	if n == nil || n.released.Swap(true) {
		return
	}
	informerNames.mu.Lock()
	defer informerNames.mu.Unlock()
	if informerNames.inUse[n.name] == n { // not if forgotten and taken by another since
		delete(informerNames.inUse, n.name)
	}
}

// WithResource returns the identity of the informer for gvr under this name. Only the first one asked for is Reserved.
func (n *InformerName) WithResource(gvr schema.GroupVersionResource) InformerNameAndResource {
	if n == nil {
		return InformerNameAndResource{}
	}
	n.mu.Lock()
	_, taken := n.resources[gvr]
	n.resources[gvr] = struct{}{}
	n.mu.Unlock()
	if taken {
		klog.Background().Error(nil, "Second informer for the same resource under one name: it gets no metrics",
			"informerName", n.name, "group", gvr.Group, "version", gvr.Version, "resource", gvr.Resource)
	}
	return InformerNameAndResource{name: n, gvr: gvr, first: !taken}
}

// InformerNameAndResource identifies one informer. The zero value is none, and not Reserved.
type InformerNameAndResource struct {
	name  *InformerName
	gvr   schema.GroupVersionResource
	first bool
}

// Name is the informer name; "" if there is none.
func (n InformerNameAndResource) Name() string { return n.name.Name() }

// GroupVersionResource is the resource.
func (n InformerNameAndResource) GroupVersionResource() schema.GroupVersionResource { return n.gvr }

// Reserved reports whether metrics may be published under this identity: it was the first for its name and resource,
// and the name has not been released. One atomic load.
func (n InformerNameAndResource) Reserved() bool {
	return n.first && !n.name.released.Load()
}
