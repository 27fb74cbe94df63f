package apitest

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// object is one stored state of an object. It is never changed, so it is shared by the store, the history and every watch.
//
// A typed obj has no kind and apiVersion, as in the lists of real servers; an unstructured one has.
type object struct {
	key  string
	obj  runtime.Object
	meta metav1.Object // of obj
	rv   uint64
}

func newObject(obj runtime.Object, rv uint64) *object {
	m := mustMeta(obj)
	return &object{key: keyOf(m), obj: obj, meta: m, rv: rv}
}

func mustMeta(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(fmt.Sprintf("BUG: stored object %T without metadata: %v", obj, err))
	}
	return m
}

func keyOf(m metav1.Object) string { return key(m.GetNamespace(), m.GetName()) }

func key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// shallow copies what obj points to, and the metadata of an unstructured one, so that metadata fields can be set on the copy.
func shallow(obj runtime.Object) runtime.Object {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content := make(map[string]any, len(u.Object))
		for k, v := range u.Object {
			content[k] = v
		}
		if m, ok := u.Object["metadata"].(map[string]any); ok {
			copied := make(map[string]any, len(m))
			for k, v := range m {
				copied[k] = v
			}
			content["metadata"] = copied
		}
		return &unstructured.Unstructured{Object: content}
	}
	v := reflect.New(reflect.TypeOf(obj).Elem())
	v.Elem().Set(reflect.ValueOf(obj).Elem())
	return v.Interface().(runtime.Object)
}

// at is the same state under another resource version, as deletes are told.
func (o *object) at(rv uint64) *object {
	obj := shallow(o.obj)
	m := mustMeta(obj)
	m.SetResourceVersion(formatRV(rv))
	return &object{key: o.key, obj: obj, meta: m, rv: rv}
}

// toNative copies an object into the form it is stored in: the resource's Go type, or unstructured.
func (e endpoint) toNative(obj runtime.Object) (runtime.Object, error) {
	if _, err := meta.Accessor(obj); err != nil {
		return nil, fmt.Errorf("apitest: %T: %w", obj, err)
	}
	var own runtime.Object
	u, isUnstructured := obj.(*unstructured.Unstructured)
	switch {
	case e.typ == nil && isUnstructured:
		own = u.DeepCopy()
	case e.typ == nil:
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
		if err != nil {
			return nil, fmt.Errorf("apitest: convert %T to unstructured: %w", obj, err)
		}
		own = (&unstructured.Unstructured{Object: content}).DeepCopy() // the converter shares maps with its input
	case isUnstructured:
		own = reflect.New(e.typ).Interface().(runtime.Object)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.DeepCopy().Object, own); err != nil {
			return nil, errBadRequest("%s is not a %s: %v", key(u.GetNamespace(), u.GetName()), e.gvk.Kind, err)
		}
	case reflect.TypeOf(obj) == reflect.PointerTo(e.typ):
		own = obj.DeepCopyObject()
	default:
		return nil, fmt.Errorf("apitest: %T is not the type of %v", obj, e.gvk)
	}
	e.setNativeKind(own)
	return own, nil
}

// setNativeKind gives a stored object the kind it is stored with.
func (e endpoint) setNativeKind(obj runtime.Object) {
	gvk := e.gvk
	if e.typ != nil {
		gvk = schema.GroupVersionKind{}
	}
	obj.GetObjectKind().SetGroupVersionKind(gvk)
}

// encodable is o as it is sent: with its kind. It shares o's content: encode it, don't hand it out.
func (e endpoint) encodable(o *object) runtime.Object {
	if e.typ == nil && o.obj.GetObjectKind().GroupVersionKind() == e.gvk {
		return o.obj
	}
	obj := shallow(o.obj)
	obj.GetObjectKind().SetGroupVersionKind(e.gvk)
	return obj
}

// copyOf is a copy of o for a caller, as a typed or dynamic client would give it.
func (e endpoint) copyOf(o *object) runtime.Object {
	obj := o.obj.DeepCopyObject()
	if e.typ == nil {
		obj.GetObjectKind().SetGroupVersionKind(e.gvk)
	}
	return obj
}

// unstructuredCopy is a copy of o as a dynamic client gives it.
func (e endpoint) unstructuredCopy(o *object) (*unstructured.Unstructured, error) {
	if e.typ == nil {
		return e.copyOf(o).(*unstructured.Unstructured), nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o.obj)
	if err != nil {
		return nil, fmt.Errorf("convert %s %s to unstructured: %w", e.gvk.Kind, o.key, err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(e.gvk)
	return u.DeepCopy(), nil // the converter shares maps with its input
}

// partial is o's metadata alone, sharing its content.
func partial(o *object) *metav1.PartialObjectMetadata {
	p := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}}
	if m, ok := o.meta.(metav1.ObjectMetaAccessor); ok {
		if om, ok := m.GetObjectMeta().(*metav1.ObjectMeta); ok {
			p.ObjectMeta = *om
			return p
		}
	}
	p.ObjectMeta = metav1.ObjectMeta{
		Name: o.meta.GetName(), GenerateName: o.meta.GetGenerateName(), Namespace: o.meta.GetNamespace(),
		UID: o.meta.GetUID(), ResourceVersion: o.meta.GetResourceVersion(), Generation: o.meta.GetGeneration(),
		CreationTimestamp: o.meta.GetCreationTimestamp(), DeletionTimestamp: o.meta.GetDeletionTimestamp(),
		DeletionGracePeriodSeconds: o.meta.GetDeletionGracePeriodSeconds(),
		Labels:                     o.meta.GetLabels(), Annotations: o.meta.GetAnnotations(),
		OwnerReferences: o.meta.GetOwnerReferences(), Finalizers: o.meta.GetFinalizers(),
		ManagedFields: o.meta.GetManagedFields(),
	}
	return p
}

// newNative is an empty object of the resource, without kind if typed.
func (e endpoint) newNative() runtime.Object {
	if e.typ == nil {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetGroupVersionKind(e.gvk)
		return u
	}
	return reflect.New(e.typ).Interface().(runtime.Object)
}

// listOf makes the resource's list of items that it shares.
func (e endpoint) listOf(items []runtime.Object, lm metav1.ListMeta) runtime.Object {
	listKind := e.gvk.GroupVersion().WithKind(e.gvk.Kind + "List")
	if e.typ == nil {
		list := &unstructured.UnstructuredList{Object: map[string]any{}, Items: make([]unstructured.Unstructured, len(items))}
		for i, item := range items {
			list.Items[i] = *item.(*unstructured.Unstructured)
		}
		list.SetGroupVersionKind(listKind)
		setListMeta(list, lm)
		return list
	}
	list, err := scheme.Scheme.New(listKind)
	if err != nil {
		panic(fmt.Sprintf("BUG: built-in kind %v has no list: %v", e.gvk, err))
	}
	field := reflect.ValueOf(list).Elem().FieldByName("Items")
	slice := reflect.MakeSlice(field.Type(), len(items), len(items))
	for i, item := range items {
		slice.Index(i).Set(reflect.ValueOf(item).Elem())
	}
	field.Set(slice)
	setListMeta(list, lm)
	return list
}

func setListMeta(list runtime.Object, lm metav1.ListMeta) {
	m, err := meta.ListAccessor(list)
	if err != nil {
		panic(fmt.Sprintf("BUG: list %T without metadata: %v", list, err))
	}
	m.SetResourceVersion(lm.ResourceVersion)
	m.SetContinue(lm.Continue)
	m.SetRemainingItemCount(lm.RemainingItemCount)
	if lm.ShardInfo == nil {
		return
	}
	switch list := list.(type) {
	case metav1.ShardedListInterface:
		list.SetShardInfo(lm.ShardInfo)
	case *unstructured.UnstructuredList:
		selector := map[string]any{"selector": lm.ShardInfo.Selector}
		if err := unstructured.SetNestedMap(list.Object, selector, "metadata", "shardInfo"); err != nil {
			panic(fmt.Sprintf("BUG: metadata of an unstructured list: %v", err))
		}
	}
}
