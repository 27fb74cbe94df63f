package apitest

import (
	"fmt"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
)

// fieldsOf gives the fields of o that a field selector can name: the keys are the same for all objects of the resource.
func (e endpoint) fieldsOf(o *object) fields.Set {
	set := fields.Set{"metadata.name": o.meta.GetName()}
	if !e.ClusterScoped {
		set["metadata.namespace"] = o.meta.GetNamespace()
	}
	switch obj := o.obj.(type) {
	case *corev1.Pod:
		set["spec.nodeName"] = obj.Spec.NodeName
		set["spec.restartPolicy"] = string(obj.Spec.RestartPolicy)
		set["spec.schedulerName"] = obj.Spec.SchedulerName
		set["spec.serviceAccountName"] = obj.Spec.ServiceAccountName
		set["spec.hostNetwork"] = strconv.FormatBool(obj.Spec.HostNetwork)
		set["status.phase"] = string(obj.Status.Phase)
		set["status.podIP"] = obj.Status.PodIP
		set["status.nominatedNodeName"] = obj.Status.NominatedNodeName
	case *corev1.Node:
		set["spec.unschedulable"] = strconv.FormatBool(obj.Spec.Unschedulable)
	case *corev1.Namespace:
		set["status.phase"] = string(obj.Status.Phase)
		set["name"] = obj.Name
	case *corev1.Secret:
		set["type"] = string(obj.Type)
	case *corev1.Service:
		set["spec.clusterIP"] = obj.Spec.ClusterIP
		set["spec.type"] = string(obj.Spec.Type)
	case *corev1.Event:
		set["involvedObject.kind"] = obj.InvolvedObject.Kind
		set["involvedObject.namespace"] = obj.InvolvedObject.Namespace
		set["involvedObject.name"] = obj.InvolvedObject.Name
		set["involvedObject.uid"] = string(obj.InvolvedObject.UID)
		set["involvedObject.apiVersion"] = obj.InvolvedObject.APIVersion
		set["involvedObject.resourceVersion"] = obj.InvolvedObject.ResourceVersion
		set["involvedObject.fieldPath"] = obj.InvolvedObject.FieldPath
		set["reason"] = obj.Reason
		set["reportingComponent"] = obj.ReportingController
		set["source"] = obj.Source.Component
		set["type"] = obj.Type
	case *batchv1.Job:
		set["status.successful"] = strconv.Itoa(int(obj.Status.Succeeded))
	case *unstructured.Unstructured:
		for _, path := range e.SelectableFields {
			path = strings.TrimPrefix(path, ".")
			set[path] = ""
			if v, found, err := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(path, ".")...); err == nil && found {
				set[path] = fmt.Sprint(v)
			}
		}
	}
	return set
}
