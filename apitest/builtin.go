package apitest

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func builtin(group, version, kind, plural, shortNames string, clusterScoped bool) Resource {
	return Resource{
		Kind:          schema.GroupVersionKind{Group: group, Version: version, Kind: kind},
		Plural:        plural,
		ShortNames:    strings.Fields(shortNames),
		ClusterScoped: clusterScoped,
	}
}

// builtins are the resources every server has, with the names kubectl knows.
var builtins = []Resource{
	builtin("", "v1", "ConfigMap", "configmaps", "cm", false),
	builtin("", "v1", "Endpoints", "endpoints", "ep", false),
	builtin("", "v1", "Event", "events", "ev", false),
	builtin("", "v1", "LimitRange", "limitranges", "limits", false),
	builtin("", "v1", "Namespace", "namespaces", "ns", true),
	builtin("", "v1", "Node", "nodes", "no", true),
	builtin("", "v1", "PersistentVolume", "persistentvolumes", "pv", true),
	builtin("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", false),
	builtin("", "v1", "Pod", "pods", "po", false),
	builtin("", "v1", "PodTemplate", "podtemplates", "", false),
	builtin("", "v1", "ReplicationController", "replicationcontrollers", "rc", false),
	builtin("", "v1", "ResourceQuota", "resourcequotas", "quota", false),
	builtin("", "v1", "Secret", "secrets", "", false),
	builtin("", "v1", "Service", "services", "svc", false),
	builtin("", "v1", "ServiceAccount", "serviceaccounts", "sa", false),
	builtin("apps", "v1", "ControllerRevision", "controllerrevisions", "", false),
	builtin("apps", "v1", "DaemonSet", "daemonsets", "ds", false),
	builtin("apps", "v1", "Deployment", "deployments", "deploy", false),
	builtin("apps", "v1", "ReplicaSet", "replicasets", "rs", false),
	builtin("apps", "v1", "StatefulSet", "statefulsets", "sts", false),
	builtin("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", false),
	builtin("batch", "v1", "CronJob", "cronjobs", "cj", false),
	builtin("batch", "v1", "Job", "jobs", "", false),
	builtin("certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", "csr", true),
	builtin("coordination.k8s.io", "v1", "Lease", "leases", "", false),
	builtin("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "", false),
	builtin("events.k8s.io", "v1", "Event", "events", "ev", false),
	builtin("networking.k8s.io", "v1", "Ingress", "ingresses", "ing", false),
	builtin("networking.k8s.io", "v1", "IngressClass", "ingressclasses", "", true),
	builtin("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol", false),
	builtin("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", "", true),
	builtin("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", false),
	builtin("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "", true),
	builtin("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", "", true),
	builtin("rbac.authorization.k8s.io", "v1", "Role", "roles", "", false),
	builtin("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "", false),
	builtin("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", true),
	builtin("storage.k8s.io", "v1", "CSIDriver", "csidrivers", "", true),
	builtin("storage.k8s.io", "v1", "CSINode", "csinodes", "", true),
	builtin("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities", "", false),
	builtin("storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc", true),
	builtin("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", "", true),
	builtin("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "", true),
	builtin("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "", true),
}
