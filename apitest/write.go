package apitest

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
)

// writeOptions are how a write is meant.
type writeOptions struct {
	// part of the object that the write is about.
	part part
	// prepared writes are a test's own: they may set a status at once and need no resource version.
	prepared bool
	dryRun   bool
}

type part uint8

const (
	mainPart   part = iota // all but the status, if there is a status subresource
	statusPart             // the status alone
	wholePart              // both
)

// createLocked stores obj, which the server owns from now on.
func (s *Server) createLocked(e endpoint, namespace string, obj runtime.Object, opts writeOptions) (*object, error) {
	m := mustMeta(obj)
	if err := e.placeIn(namespace, m); err != nil {
		return nil, err
	}
	if m.GetResourceVersion() != "" && !opts.prepared {
		return nil, errInternal("resourceVersion should not be set on objects to be created")
	}
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(m.GetGenerateName() + s.nameSuffixLocked())
		for e.objects[keyOf(m)] != nil {
			m.SetName(m.GetGenerateName() + s.nameSuffixLocked())
		}
	}
	if err := e.validate(m); err != nil {
		return nil, err
	}
	if e.objects[keyOf(m)] != nil {
		return nil, apierrors.NewAlreadyExists(e.groupResource(), m.GetName())
	}
	m.SetUID(s.newUIDLocked())
	m.SetCreationTimestamp(metav1.Time{Time: time.Now().Truncate(time.Second)})
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetManagedFields(nil)
	m.SetGeneration(0)
	if e.hasSpec {
		m.SetGeneration(1)
	}
	if opts.part == mainPart && e.hasStatus {
		e.setStatus(obj, e.newNative())
	}
	return s.commitLocked(e, watch.Added, nil, obj, opts.dryRun)
}

// updateLocked puts obj, which the server owns from now on, in the place of old. The answer is the stored object, or of an object that
// waited for its last finalizer, its last state.
func (s *Server) updateLocked(e endpoint, old *object, obj runtime.Object, opts writeOptions) (*object, error) {
	if opts.part == statusPart {
		changed := obj
		obj = shallow(old.obj)
		mustMeta(obj).SetResourceVersion(mustMeta(changed).GetResourceVersion())
		mustMeta(obj).SetUID(mustMeta(changed).GetUID())
		e.setStatus(obj, changed)
	}
	m := mustMeta(obj)
	if err := e.placeIn(old.meta.GetNamespace(), m); err != nil {
		return nil, err
	}
	if m.GetName() != old.meta.GetName() {
		return nil, errBadRequest("the name of the object (%s) does not match the name on the URL (%s)", m.GetName(), old.meta.GetName())
	}
	switch rv := m.GetResourceVersion(); {
	case rv == "" && !e.builtin && !opts.prepared:
		return nil, apierrors.NewInvalid(e.gvk.GroupKind(), m.GetName(), field.ErrorList{
			field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update"),
		})
	case rv != "" && rv != old.meta.GetResourceVersion():
		return nil, e.conflict(m.GetName(), "the object has been modified; please apply your changes to the latest version and try again")
	}
	if uid := m.GetUID(); uid != "" && uid != old.meta.GetUID() {
		return nil, e.conflict(m.GetName(), fmt.Sprintf("UID in object: %s, UID of the stored object: %s", uid, old.meta.GetUID()))
	}
	m.SetUID(old.meta.GetUID())
	m.SetResourceVersion(old.meta.GetResourceVersion())
	m.SetCreationTimestamp(old.meta.GetCreationTimestamp())
	m.SetDeletionTimestamp(old.meta.GetDeletionTimestamp())
	m.SetDeletionGracePeriodSeconds(old.meta.GetDeletionGracePeriodSeconds())
	m.SetGeneration(old.meta.GetGeneration())
	m.SetManagedFields(nil)
	if err := e.validate(m); err != nil {
		return nil, err
	}
	if opts.part == mainPart && e.hasStatus {
		e.setStatus(obj, old.obj)
	}
	if e.hasSpec && !e.sameSpec(old.obj, obj) {
		m.SetGeneration(old.meta.GetGeneration() + 1)
	}
	if equality.Semantic.DeepEqual(old.obj, obj) {
		return old, nil // writes that change nothing are not writes
	}
	if m.GetDeletionTimestamp() != nil && len(m.GetFinalizers()) == 0 {
		return s.commitLocked(e, watch.Deleted, old, obj, opts.dryRun)
	}
	return s.commitLocked(e, watch.Modified, old, obj, opts.dryRun)
}

// deleteLocked deletes old, or marks it if it has finalizers. pending tells the latter.
func (s *Server) deleteLocked(e endpoint, old *object, opts metav1.DeleteOptions, dryRun bool) (o *object, pending bool, err error) {
	if p := opts.Preconditions; p != nil {
		if p.UID != nil && *p.UID != old.meta.GetUID() {
			return nil, false, e.conflict(old.meta.GetName(), fmt.Sprintf("UID in precondition: %s, UID in object meta: %s", *p.UID, old.meta.GetUID()))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != old.meta.GetResourceVersion() {
			return nil, false, e.conflict(old.meta.GetName(), fmt.Sprintf("ResourceVersion in precondition: %s, ResourceVersion in object meta: %s",
				*p.ResourceVersion, old.meta.GetResourceVersion()))
		}
	}
	if len(old.meta.GetFinalizers()) == 0 {
		o, err = s.commitLocked(e, watch.Deleted, old, shallow(old.obj), dryRun)
		return o, false, err
	}
	if old.meta.GetDeletionTimestamp() != nil {
		return old, true, nil
	}
	obj := shallow(old.obj)
	m := mustMeta(obj)
	now := metav1.Time{Time: time.Now().Truncate(time.Second)}
	var grace int64
	m.SetDeletionTimestamp(&now)
	m.SetDeletionGracePeriodSeconds(&grace)
	if e.hasSpec {
		m.SetGeneration(old.meta.GetGeneration() + 1)
	}
	o, err = s.commitLocked(e, watch.Modified, old, obj, dryRun)
	return o, true, err
}

// commitLocked makes a write happen, unless it is a dry run.
func (s *Server) commitLocked(e endpoint, typ watch.EventType, old *object, obj runtime.Object, dryRun bool) (*object, error) {
	if s.closed {
		return nil, errServerClosed
	}
	if e.Resource.Kind.GroupKind() == crdResource.Kind.GroupKind() && !dryRun {
		if err := s.applyCRDLocked(typ, obj); err != nil {
			return nil, err
		}
	}
	if dryRun {
		return newObject(obj, s.rv), nil
	}
	return s.storeLocked(e, typ, old, obj), nil
}

// storeLocked gives a write the next resource version and tells it to the store, the history and the watches.
func (s *Server) storeLocked(e endpoint, typ watch.EventType, old *object, obj runtime.Object) *object {
	s.rv++
	mustMeta(obj).SetResourceVersion(formatRV(s.rv))
	e.setNativeKind(obj)
	c := &change{typ: typ, rv: s.rv, obj: newObject(obj, s.rv), prev: old}
	if typ == watch.Deleted {
		delete(e.objects, c.obj.key)
	} else {
		e.objects[c.obj.key] = c.obj
	}
	if typ == watch.Added {
		e.keys.add(c.obj.key)
	}
	if s.losing > 0 {
		e.history.reset(s.rv)
		return c.obj
	}
	e.history.add(c)
	for w := range e.watchers {
		w.pushLocked(c)
	}
	return c.obj
}

// getLocked finds an object; the error is NotFound.
func (e endpoint) getLocked(namespace, name string) (*object, error) {
	if o := e.objects[key(namespace, name)]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(e.groupResource(), name)
}

// setStatus gives obj the status of from. Both are in stored form.
func (e endpoint) setStatus(obj, from runtime.Object) {
	if e.typ != nil {
		reflect.ValueOf(obj).Elem().FieldByName("Status").Set(reflect.ValueOf(from).Elem().FieldByName("Status"))
		return
	}
	content, status := obj.(*unstructured.Unstructured).Object, from.(*unstructured.Unstructured).Object["status"]
	if status == nil {
		delete(content, "status")
	} else {
		content["status"] = status
	}
}

// sameSpec reports whether two objects differ in metadata and status at most.
func (e endpoint) sameSpec(a, b runtime.Object) bool {
	if e.typ != nil {
		va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
		for i := range e.typ.NumField() {
			switch e.typ.Field(i).Name {
			case "TypeMeta", "ObjectMeta", "Status":
				continue
			}
			if !equality.Semantic.DeepEqual(va.Field(i).Interface(), vb.Field(i).Interface()) {
				return false
			}
		}
		return true
	}
	ca, cb := a.(*unstructured.Unstructured).Object, b.(*unstructured.Unstructured).Object
	for _, content := range []map[string]any{ca, cb} {
		for field := range content {
			if slices.Contains([]string{"metadata", "apiVersion", "kind"}, field) || field == "status" && e.hasStatus {
				continue
			}
			if !equality.Semantic.DeepEqual(ca[field], cb[field]) {
				return false
			}
		}
	}
	return true
}

func (e endpoint) conflict(name, why string) error {
	return apierrors.NewConflict(e.groupResource(), name, fmt.Errorf("%s", why))
}

func (e endpoint) invalid(name, why string) error {
	err := apierrors.NewInvalid(e.gvk.GroupKind(), name, nil)
	err.ErrStatus.Message = fmt.Sprintf("%s %q is invalid: %s", e.gvk.GroupKind(), name, why)
	return err
}

func uidOrAny(uid types.UID) *types.UID {
	if uid == "" {
		return nil
	}
	return &uid
}
