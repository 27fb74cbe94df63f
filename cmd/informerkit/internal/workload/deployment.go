package workload

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/informerkit/informerkit/apitest"
)

var (
	namespaces = []string{"shop", "blog", "metrics"}
	apps       = []string{"web", "api", "cache", "worker", "db", "queue"}
)

func (w *Workload) addDeployment(i int) error {
	name := apps[i%len(apps)]
	if round := i / len(apps); round > 0 {
		name = fmt.Sprintf("%s-%d", name, round+1)
	}
	labels := map[string]string{"app": name}
	d, err := apitest.Create(w.server, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespaces[i%len(namespaces)], Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(1 + w.rand.IntN(4))),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: image(name, 1)}}},
			},
		},
	})
	d, err = wrote(w, Deployments, d, err)
	w.deployments = append(w.deployments, &deployment{obj: d, version: 1})
	return err
}

func image(name string, version int) string { return fmt.Sprintf("%s:1.%d", name, version) }

func (d *deployment) image() string { return d.obj.Spec.Template.Spec.Containers[0].Image }

func (w *Workload) scale(d *deployment) error {
	next := d.obj.DeepCopy()
	replicas := *next.Spec.Replicas + []int32{-2, -1, 1, 2}[w.rand.IntN(4)]
	if replicas < 1 || replicas > maxReplicas {
		replicas = maxReplicas / 2
	}
	if replicas == *next.Spec.Replicas {
		replicas++
	}
	next.Spec.Replicas = &replicas
	return w.updateDeployment(d, next)
}

func (w *Workload) rollOut(d *deployment) error {
	next := d.obj.DeepCopy()
	next.Spec.Template.Spec.Containers[0].Image = image(d.obj.Name, d.version+1)
	err := w.updateDeployment(d, next)
	if err == nil {
		d.version++
	}
	return err
}

func (w *Workload) updateDeployment(d *deployment, next *appsv1.Deployment) error {
	next, err := apitest.Update(w.server, next)
	if next, err = wrote(w, Deployments, next, err); err == nil {
		d.obj = next
	}
	return err
}

// reconcile is the next step towards what the deployment asks for; nil if all is as it should be.
func (w *Workload) reconcile(d *deployment, now time.Time) func() error {
	ready := 0
	for i, p := range d.pods {
		switch {
		case p.Spec.NodeName == "":
			return func() error {
				return w.updatePod(d, i, func(p *corev1.Pod) {
					p.Spec.NodeName = w.node()
					p.Status.Conditions = append(p.Status.Conditions, condition(corev1.PodScheduled, now))
				})
			}
		case p.Status.Phase == corev1.PodPending:
			return func() error {
				return w.updatePod(d, i, func(p *corev1.Pod) {
					p.Status.Phase = corev1.PodRunning
					p.Status.PodIP = fmt.Sprintf("10.0.%d.%d", w.rand.IntN(256), 1+w.rand.IntN(254))
					p.Status.StartTime = ptr.To(metav1.NewTime(now))
					p.Status.Conditions = append(p.Status.Conditions, condition(corev1.PodReady, now))
				})
			}
		}
		ready++
	}
	want := int(*d.obj.Spec.Replicas)
	outdated := slices.IndexFunc(d.pods, func(p *corev1.Pod) bool { return p.Spec.Containers[0].Image != d.image() })
	switch {
	case len(d.pods) > want && outdated >= 0:
		return func() error { return w.deletePod(d, outdated) }
	case len(d.pods) > want:
		return func() error { return w.deletePod(d, w.rand.IntN(len(d.pods))) }
	case len(d.pods) < want, outdated >= 0: // the new one comes before the old one goes
		return func() error { return w.addPod(d) }
	case d.obj.Status.ReadyReplicas != int32(ready) || d.obj.Status.ObservedGeneration != d.obj.Generation:
		return func() error {
			next := d.obj.DeepCopy()
			next.Status.ObservedGeneration = next.Generation
			next.Status.Replicas, next.Status.ReadyReplicas, next.Status.AvailableReplicas = int32(ready), int32(ready), int32(ready)
			return w.updateDeployment(d, next)
		}
	}
	return nil
}

func condition(typ corev1.PodConditionType, now time.Time) corev1.PodCondition {
	return corev1.PodCondition{Type: typ, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}
}

func (w *Workload) addPod(d *deployment) error {
	p, err := apitest.Create(w.server, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.obj.Namespace, GenerateName: d.obj.Name + "-", Labels: d.obj.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d.obj, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec:   d.obj.Spec.Template.Spec,
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	})
	if p, err = wrote(w, Pods, p, err); err == nil {
		d.pods = append(d.pods, p)
	}
	return err
}

func (w *Workload) updatePod(d *deployment, i int, change func(*corev1.Pod)) error {
	next := d.pods[i].DeepCopy()
	change(next)
	next, err := apitest.Update(w.server, next)
	if next, err = wrote(w, Pods, next, err); err == nil {
		d.pods[i] = next
	}
	return err
}

func (w *Workload) deletePod(d *deployment, i int) error {
	gone, err := apitest.Delete(w.server, d.pods[i])
	if _, err = wrote(w, Pods, gone, err); err == nil {
		d.pods = slices.Delete(d.pods, i, i+1)
	}
	return err
}
