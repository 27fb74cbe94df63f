package workload

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
)

// The steps tell whether they had anything to write.

// heartbeat lets a node tell that it is alive.
func (w *Workload) heartbeat() (bool, error) {
	return change(w, Nodes, "", w.anyNode(), func(node *corev1.Node) bool {
		node.Status.Conditions = []corev1.NodeCondition{ready(fmt.Sprintf("heartbeat %d", w.steps))}
		return true
	})
}

// progress schedules the oldest pod that waits, or lets it run.
func (w *Workload) progress() (bool, error) {
	if len(w.pending) == 0 {
		return false, nil
	}
	p := w.pending[0]
	there, err := change(w, Pods, p.namespace, p.name, func(obj *corev1.Pod) bool {
		if p.node == "" {
			p.node = w.anyNode()
			obj.Spec.NodeName = p.node
			return true
		}
		obj.Status = w.runningStatus()
		p.running = true
		w.pending = w.pending[1:]
		return true
	})
	if err == nil && !there {
		w.forget(p)
	}
	return there, err
}

// reconcile makes or deletes a pod of a deployment that has not as many as it should, or one that runs an old image.
func (w *Workload) reconcile() (bool, error) {
	first := w.rand.IntN(len(w.deployments))
	for i := range w.deployments {
		d := w.deployments[(first+i)%len(w.deployments)]
		outdated := slices.IndexFunc(d.pods, func(p *pod) bool { return p.version != d.version })
		switch {
		case len(d.pods) < d.replicas:
			return true, w.addPod(d, "")
		case outdated >= 0:
			return w.deletePod(d.pods[outdated])
		case len(d.pods) > d.replicas:
			return w.deletePod(d.pods[len(d.pods)-1])
		}
	}
	return false, nil
}

// scale changes a deployment's replicas.
func (w *Workload) scale() (bool, error) {
	d := w.deployments[w.rand.IntN(len(w.deployments))]
	replicas := w.rand.IntN(w.opts.MaxReplicas + 1)
	if replicas == d.replicas {
		return false, nil
	}
	return change(w, Deployments, d.namespace, d.name, func(obj *appsv1.Deployment) bool {
		d.replicas = replicas
		n := int32(replicas)
		obj.Spec.Replicas = &n
		return true
	})
}

// rollOut gives a deployment a new image.
func (w *Workload) rollOut() (bool, error) {
	d := w.deployments[w.rand.IntN(len(w.deployments))]
	return change(w, Deployments, d.namespace, d.name, func(obj *appsv1.Deployment) bool {
		d.version++
		obj.Spec.Template.Spec = podSpec(d)
		return true
	})
}

// report brings the status of a deployment up to date.
func (w *Workload) report() (bool, error) {
	first := w.rand.IntN(len(w.deployments))
	for i := range w.deployments {
		d := w.deployments[(first+i)%len(w.deployments)]
		running := 0
		for _, p := range d.pods {
			if p.running {
				running++
			}
		}
		did, err := change(w, Deployments, d.namespace, d.name, func(obj *appsv1.Deployment) bool {
			all, up := int32(len(d.pods)), int32(running)
			status := appsv1.DeploymentStatus{ObservedGeneration: obj.Generation, Replicas: all, ReadyReplicas: up, AvailableReplicas: up}
			if had := obj.Status; had.ObservedGeneration == status.ObservedGeneration && had.Replicas == all && had.ReadyReplicas == up {
				return false
			}
			obj.Status = status
			return true
		})
		if did || err != nil {
			return did, err
		}
	}
	return false, nil
}

// kill deletes a pod that its deployment still wants.
func (w *Workload) kill() (bool, error) {
	d := w.deployments[w.rand.IntN(len(w.deployments))]
	if len(d.pods) == 0 {
		return false, nil
	}
	return w.deletePod(d.pods[w.rand.IntN(len(d.pods))])
}

// addPod makes a pod of a deployment: one that runs on node, or if that is "" one that waits for a node.
func (w *Workload) addPod(d *deployment, node string) error {
	p := &pod{of: d, namespace: d.namespace, version: d.version, node: node, running: node != ""}
	obj := newPod(d)
	if p.running {
		obj.Spec.NodeName = node
		obj.Status = w.runningStatus()
	}
	obj, err := create(w, Pods, obj)
	if err != nil {
		return err
	}
	p.name = obj.Name
	d.pods = append(d.pods, p)
	if !p.running {
		w.pending = append(w.pending, p)
	}
	return nil
}

func (w *Workload) deletePod(p *pod) (bool, error) {
	w.forget(p)
	gone, err := apitest.Delete(w.s, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name}})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	w.note(Pods, gone, err)
	return true, err
}

func (w *Workload) forget(p *pod) {
	is := func(q *pod) bool { return q == p }
	p.of.pods = slices.DeleteFunc(p.of.pods, is)
	w.pending = slices.DeleteFunc(w.pending, is)
}

func (w *Workload) anyNode() string { return nodeName(w.rand.IntN(w.opts.Nodes)) }

func (w *Workload) runningStatus() corev1.PodStatus {
	return corev1.PodStatus{
		Phase: corev1.PodRunning,
		PodIP: fmt.Sprintf("10.%d.%d.%d", w.rand.IntN(256), w.rand.IntN(256), w.rand.IntN(256)),
	}
}

// object is what the workload writes.
type object interface {
	runtime.Object
	metav1.Object
}

// note remembers a write to tell of.
func (w *Workload) note(resource schema.GroupVersionResource, obj metav1.Object, err error) {
	if err == nil && w.opts.Wrote != nil {
		w.unsaid = append(w.unsaid, write{resource, obj})
	}
}

func create[T object](w *Workload, resource schema.GroupVersionResource, obj T) (T, error) {
	stored, err := apitest.Create(w.s, obj)
	w.note(resource, stored, err)
	if err != nil {
		return stored, fmt.Errorf("create %s %s/%s: %w", resource.Resource, obj.GetNamespace(), obj.GetName(), err)
	}
	return stored, nil
}

// change updates an object if edit says so, and tells whether it did. It did not if somebody deleted the object.
func change[T object](w *Workload, resource schema.GroupVersionResource, namespace, name string, edit func(T) bool) (bool, error) {
	obj, err := apitest.Get[T](w.s, resource, namespace, name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !edit(obj) {
		return false, nil
	}
	stored, err := apitest.Update(w.s, obj)
	w.note(resource, stored, err)
	if err != nil {
		return false, fmt.Errorf("update %s %s/%s: %w", resource.Resource, namespace, name, err)
	}
	return true, nil
}
