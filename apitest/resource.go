package apitest

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// Resource declares a resource to serve.
type Resource struct {
	// Kind is the group, version and kind of its objects. Required.
	Kind schema.GroupVersionKind
	// Plural is the resource's name in paths. "": the kind in lower case with an "s".
	Plural string
	// ShortNames are those kubectl takes.
	ShortNames []string
	// ClusterScoped objects have no namespace.
	ClusterScoped bool
	// Status gives the resource a status subresource: writes to the object leave its status as it is, and the other way
	// round. Built-in kinds that have a status have it anyway.
	Status bool
	// SelectableFields can be used in field selectors besides metadata.name and metadata.namespace: paths such as "spec.host".
	// Built-in kinds have their own.
	SelectableFields []string
}

// GVR is the resource's group, version and plural name.
func (r Resource) GVR() schema.GroupVersionResource {
	plural := r.Plural
	if plural == "" {
		plural = strings.ToLower(r.Kind.Kind) + "s"
	}
	return r.Kind.GroupVersion().WithResource(plural)
}

func (r Resource) singular() string { return strings.ToLower(r.Kind.Kind) }

// resource is what is stored of one resource. Its fields from objects on are guarded by Server.mu.
type resource struct {
	Resource
	// typ is the Go type of objects; nil if they are stored unstructured.
	typ reflect.Type
	// builtin is false for custom resources, whose rules differ in places.
	builtin   bool
	hasSpec   bool // generation counts
	hasStatus bool // a status subresource exists

	objects  map[string]*object
	keys     sortedKeys
	history  history
	watchers map[*watcher]struct{}
}

// endpoint is a resource in one of its versions.
type endpoint struct {
	*resource
	gvk schema.GroupVersionKind
	gvr schema.GroupVersionResource
}

func (e endpoint) groupResource() schema.GroupResource { return e.gvr.GroupResource() }

func newResource(r Resource) *resource {
	r.Plural = r.GVR().Resource
	res := &resource{
		Resource: r,
		objects:  map[string]*object{},
		watchers: map[*watcher]struct{}{},
	}
	if obj, err := scheme.Scheme.New(r.Kind); err == nil {
		res.builtin = true
		res.typ = reflect.TypeOf(obj).Elem()
		_, res.hasSpec = res.typ.FieldByName("Spec")
		_, res.hasStatus = res.typ.FieldByName("Status")
	} else {
		res.hasSpec = true
		res.hasStatus = r.Status
	}
	return res
}

// AddResource serves one more resource, at once. It is an error if it is not complete or already served.
func (s *Server) AddResource(r Resource) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addResourceLocked(r, []string{r.Kind.Version})
}

// addResourceLocked serves r in all versions, which share their objects.
func (s *Server) addResourceLocked(r Resource, versions []string) error {
	if r.Kind.Kind == "" || r.Kind.Version == "" {
		return fmt.Errorf("resource %q: its kind %q or version %q is empty", r.Plural, r.Kind.Kind, r.Kind.Version)
	}
	res := newResource(r)
	res.history.init(s.opts.History, s.rv)
	for _, v := range versions {
		e := endpoint{resource: res, gvk: r.Kind.GroupKind().WithVersion(v), gvr: res.GVR().GroupResource().WithVersion(v)}
		if _, ok := s.served[e.gvr]; ok {
			return fmt.Errorf("resource %v is already served", e.gvr)
		}
		s.served[e.gvr] = e
	}
	return nil
}

// RemoveResource stops serving a resource, in all its versions, as when its definition is deleted: its objects are deleted, its
// watches end after telling so, and requests are answered with 404. Removing what is not served does nothing.
func (s *Server) RemoveResource(gr schema.GroupResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeResourceLocked(gr)
}

func (s *Server) removeResourceLocked(gr schema.GroupResource) {
	for gvr, e := range s.served {
		if gvr.GroupResource() != gr {
			continue
		}
		for _, o := range e.snapshotLocked(s.rv, s.rv).objects {
			s.storeLocked(e, watch.Deleted, o, shallow(o.obj))
		}
		for w := range e.watchers {
			w.endLocked(errEOF, false)
		}
		delete(s.served, gvr)
	}
}

// lookup finds a served resource; the error is the 404 of a path that does not exist.
func (s *Server) lookup(gvr schema.GroupVersionResource) (endpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.served[gvr]; ok {
		return e, nil
	}
	return endpoint{}, errNotServed()
}

// lookupObject finds the resource of an object by its kind, and copies the object into the form it is stored in.
func (s *Server) lookupObject(obj runtime.Object) (endpoint, runtime.Object, error) {
	gvk, err := s.kindOf(obj)
	if err != nil {
		return endpoint{}, nil, err
	}
	e, ok := s.endpointOfKind(gvk)
	if !ok {
		return endpoint{}, nil, fmt.Errorf("apitest: no resource of kind %v is served", gvk)
	}
	own, err := e.toNative(obj)
	return e, own, err
}

func (s *Server) endpointOfKind(gvk schema.GroupVersionKind) (endpoint, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.served {
		if e.gvk == gvk {
			return e, true
		}
	}
	return endpoint{}, false
}

func (s *Server) kindOf(obj runtime.Object) (schema.GroupVersionKind, error) {
	if gvk := obj.GetObjectKind().GroupVersionKind(); !gvk.Empty() {
		return gvk, nil
	}
	for _, sch := range []*runtime.Scheme{scheme.Scheme, s.opts.Scheme} {
		if sch == nil {
			continue
		}
		if kinds, _, err := sch.ObjectKinds(obj); err == nil {
			return kinds[0], nil
		}
	}
	return schema.GroupVersionKind{}, fmt.Errorf("apitest: the kind of %T is not known: set its kind and apiVersion, or Options.Scheme", obj)
}
