package cache

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

func TestHandlerFuncsSkipWhatIsNil(t *testing.T) {
	pod := podOf("a", "1")
	for _, h := range []ResourceEventHandler{ResourceEventHandlerFuncs{}, ResourceEventHandlerDetailedFuncs{}} {
		h.OnAdd(pod, true)
		h.OnUpdate(pod, pod)
		h.OnDelete(pod)
	}
	typed := []TypedResourceEventHandler[*corev1.Pod]{
		TypedResourceEventHandlerFuncs[*corev1.Pod]{}, TypedResourceEventHandlerDetailedFuncs[*corev1.Pod]{},
	}
	for _, h := range typed {
		h.OnAdd(pod, true)
		h.OnUpdate(pod, pod)
		h.OnDelete(DeletedObject[*corev1.Pod]{OptionalObj: pod})
	}
}

func TestHandlerFuncsCallWhatIsSet(t *testing.T) {
	log := &callLog{}
	plain := ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { log.OnAdd(obj, false) },
		UpdateFunc: log.OnUpdate,
		DeleteFunc: log.OnDelete,
	}
	detailed := ResourceEventHandlerDetailedFuncs{AddFunc: log.OnAdd, UpdateFunc: log.OnUpdate, DeleteFunc: log.OnDelete}
	for _, h := range []ResourceEventHandler{plain, detailed} {
		h.OnAdd(podOf("a", "1"), true)
		h.OnUpdate(podOf("a", "1"), podOf("a", "2"))
		h.OnDelete(podOf("a", "2"))
	}
	check(t, "calls", []string{
		"add a:1", "update a:1 a:2", "delete a:2",
		"initial a:1", "update a:1 a:2", "delete a:2",
	}, log.take())
}

func TestFilteringHandler(t *testing.T) {
	in, out := podOf("a", "in"), podOf("a", "out")
	lost := func(obj any) DeletedFinalStateUnknown { return DeletedFinalStateUnknown{Key: "ns/a", Obj: obj} }
	isIn := func(obj any) bool { return obj.(*corev1.Pod).Spec.NodeName == "in" } // panics on anything but a pod
	for _, c := range []struct {
		name   string
		filter func(any) bool
		event  func(h ResourceEventHandler)
		want   []string
	}{
		{"add that passes", isIn, func(h ResourceEventHandler) { h.OnAdd(in, true) }, []string{"initial a:in"}},
		{"add that does not pass", isIn, func(h ResourceEventHandler) { h.OnAdd(out, true) }, []string{}},
		{"update of what passes", isIn, func(h ResourceEventHandler) { h.OnUpdate(in, podOf("a", "in")) }, []string{"update a:in a:in"}},
		{"update to what passes", isIn, func(h ResourceEventHandler) { h.OnUpdate(out, in) }, []string{"add a:in"}},
		{"update to what does not pass", isIn, func(h ResourceEventHandler) { h.OnUpdate(in, out) }, []string{"delete a:in"}},
		{"update of what does not pass", isIn, func(h ResourceEventHandler) { h.OnUpdate(out, podOf("a", "out")) }, []string{}},
		{"delete of what passes", isIn, func(h ResourceEventHandler) { h.OnDelete(in) }, []string{"delete a:in"}},
		{"delete of what does not pass", isIn, func(h ResourceEventHandler) { h.OnDelete(out) }, []string{}},
		{"tombstone of what passes", isIn, func(h ResourceEventHandler) { h.OnDelete(lost(in)) }, []string{"delete lost(ns/a, a:in)"}},
		{"tombstone of what does not pass", isIn, func(h ResourceEventHandler) { h.OnDelete(lost(out)) }, []string{}},
		{"tombstone of nothing known", isIn, func(h ResourceEventHandler) { h.OnDelete(lost(nil)) }, []string{"delete lost(ns/a, nil)"}},
		{"tombstone wanted as such", func(obj any) bool {
			_, ok := obj.(DeletedFinalStateUnknown)
			return ok
		}, func(h ResourceEventHandler) { h.OnDelete(lost(out)) }, []string{"delete lost(ns/a, a:out)"}},
	} {
		log := &callLog{}
		c.event(FilteringResourceEventHandler{FilterFunc: c.filter, Handler: log})
		check(t, c.name, c.want, log.take())
	}
}

// typedLog is a callLog for typed handlers.
func typedLog(log *callLog) TypedResourceEventHandler[*corev1.Pod] {
	return TypedResourceEventHandlerDetailedFuncs[*corev1.Pod]{
		AddFunc:    func(obj *corev1.Pod, initial bool) { log.OnAdd(obj, initial) },
		UpdateFunc: func(old, new *corev1.Pod) { log.OnUpdate(old, new) },
		DeleteFunc: func(d DeletedObject[*corev1.Pod]) {
			if d.FinalStateUnknown != nil {
				log.OnDelete(*d.FinalStateUnknown)
			} else {
				log.OnDelete(d.OptionalObj)
			}
		},
	}
}

func TestTypedFilteringHandler(t *testing.T) {
	in, out := podOf("a", "in"), podOf("a", "out")
	log := &callLog{}
	h := TypedFilteringResourceEventHandler[*corev1.Pod]{
		FilterFunc: func(pod *corev1.Pod) bool { return pod != nil && pod.Spec.NodeName == "in" },
		Handler:    typedLog(log),
	}
	h.OnAdd(in, true)
	h.OnAdd(out, true)
	h.OnUpdate(in, podOf("a", "in"))
	h.OnUpdate(out, in)
	h.OnUpdate(in, out)
	h.OnUpdate(out, out)
	h.OnDelete(DeletedObject[*corev1.Pod]{OptionalObj: in})
	h.OnDelete(DeletedObject[*corev1.Pod]{OptionalObj: out})
	h.OnDelete(DeletedObject[*corev1.Pod]{OptionalObj: in, FinalStateUnknown: &DeletedFinalStateUnknown{Key: "ns/a", Obj: in}})
	h.OnDelete(DeletedObject[*corev1.Pod]{FinalStateUnknown: &DeletedFinalStateUnknown{Key: "ns/a"}})
	check(t, "calls", []string{
		"initial a:in", "update a:in a:in", "add a:in", "delete a:in", "delete a:in", "delete lost(ns/a, a:in)",
	}, log.take())
}

func TestTypedHandlerGetsObjectsOfItsTypeOnly(t *testing.T) {
	log := &callLog{}
	h := untypedHandler[*corev1.Pod]{typedLog(log), klog.Background()}
	pod, node := podOf("a", "1"), &corev1.Node{}
	h.OnAdd(pod, true)
	h.OnAdd(node, true)
	h.OnUpdate(pod, podOf("a", "2"))
	h.OnUpdate(pod, node)
	h.OnUpdate(node, pod)
	h.OnDelete(pod)
	h.OnDelete(node)
	h.OnDelete(DeletedFinalStateUnknown{Key: "ns/a", Obj: pod})
	h.OnDelete(DeletedFinalStateUnknown{Key: "ns/b", Obj: nil})
	check(t, "calls", []string{
		"initial a:1", "update a:1 a:2", "delete a:1", "delete lost(ns/a, a:1)", "delete lost(ns/b, nil)",
	}, log.take())
}

func TestDeletedObjectKnowsItsName(t *testing.T) {
	pod := podOf("a", "1")
	for _, c := range []struct {
		name                string
		d                   DeletedObject[*corev1.Pod]
		key, namespace, obj string
	}{
		{"final", DeletedObject[*corev1.Pod]{OptionalObj: pod}, "ns/a", "ns", "a"},
		{"lost", DeletedObject[*corev1.Pod]{OptionalObj: pod, FinalStateUnknown: &DeletedFinalStateUnknown{Key: "ns/a", Obj: pod}}, "ns/a", "ns", "a"},
		{"lost without an object", DeletedObject[*corev1.Pod]{FinalStateUnknown: &DeletedFinalStateUnknown{Key: "x/y"}}, "x/y", "x", "y"},
		{"lost, cluster-scoped", DeletedObject[*corev1.Pod]{FinalStateUnknown: &DeletedFinalStateUnknown{Key: "y"}}, "y", "", "y"},
		{"a key that is no name", DeletedObject[*corev1.Pod]{FinalStateUnknown: &DeletedFinalStateUnknown{Key: "a/b/c"}}, "a/b/c", "", "a/b/c"},
		{"nothing", DeletedObject[*corev1.Pod]{}, "", "", ""},
	} {
		check(t, c.name+": key", c.key, c.d.GetKey())
		check(t, c.name+": object name", NewObjectName(c.namespace, c.obj), c.d.GetObjectName())
		check(t, c.name+": name", c.obj, c.d.GetName())
		check(t, c.name+": namespace", c.namespace, c.d.GetNamespace())
	}
}
