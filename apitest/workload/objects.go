package workload

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func namespaceName(i int) string  { return fmt.Sprintf("team-%d", i) }
func nodeName(i int) string       { return fmt.Sprintf("node-%d", i) }
func deploymentName(i int) string { return fmt.Sprintf("app-%d", i) }

func ready(message string) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: message,
		LastHeartbeatTime: metav1.Time{Time: time.Now().Truncate(time.Second)},
	}
}

func newNamespace(i int) *corev1.Namespace {
	return &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: namespaceName(i)},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
}

func newNode(i int) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("8"),
		corev1.ResourceMemory: resource.MustParse("32Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{
			corev1.LabelHostname:     nodeName(i),
			corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%3),
		}},
		Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity.DeepCopy(), Conditions: []corev1.NodeCondition{ready("started")}},
	}
}

func labels(d *deployment) map[string]string { return map[string]string{"app": d.name} }

func podSpec(d *deployment) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: fmt.Sprintf("registry.example.com/%s:%d", d.name, d.version)}}}
}

func newDeployment(d *deployment) *appsv1.Deployment {
	replicas := int32(d.replicas)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: d.name, Labels: labels(d)},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels(d)},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels(d)}, Spec: podSpec(d)},
		},
	}
}

func newPod(d *deployment) *corev1.Pod {
	controller := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.namespace, GenerateName: d.name + "-", Labels: labels(d),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "Deployment", Name: d.name, UID: d.uid, Controller: &controller,
			}},
		},
		Spec:   podSpec(d),
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
}
