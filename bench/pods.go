package bench

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/informerkit/informerkit/listwatch"
)

// The proportions of a population: whatever its size, a namespace has 1,000 pods, a node 500, an owner 100, and a pod template
// of an owner 10.
const (
	perNamespace = 1000
	perNode      = 500
	perOwner     = 100
	perTemplate  = 10
)

// templateLabel is the label that ten pods share, all in one namespace.
const templateLabel = "pod-template-hash"

// population is the pods of a cluster, and what is asked about them.
type population struct {
	pods       []*corev1.Pod // in the order of their keys
	keys       []string      // of pods
	asked      []string      // keys, shuffled, as somebody asks for them who has just made them: one lies behind the other
	namespaces []string
	nodes      []string
	templates  []template
	order      []int // all numbers of pods, shuffled
	aged       []int // the numbers of pods to delete and add again before anything is measured
}

// template is what selects the pods of one template.
type template struct {
	namespace string
	selector  labels.Selector
}

// newPopulation makes n pods, each with memory of its own, as decoding leaves them. The same n makes the same pods.
func newPopulation(n int) *population {
	if n < perNamespace || n%perNamespace != 0 {
		panic(fmt.Sprintf("BUG: a population of %d: must be a multiple of %d", n, perNamespace))
	}
	p := &population{}
	for i := range n / perNamespace {
		p.namespaces = append(p.namespaces, fmt.Sprintf("team-%03d-production", i))
	}
	for i := range n / perNode {
		p.nodes = append(p.nodes, fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i%7, i%200, i%250))
	}
	random := rand.New(rand.NewPCG(1, 2))
	node := random.Perm(n)
	for i := range n {
		p.pods = append(p.pods, decoded(newPod(i, n, p.namespaces[i%len(p.namespaces)], p.nodes[node[i]%len(p.nodes)])))
	}
	slices.SortFunc(p.pods, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range p.pods {
		p.keys = append(p.keys, keyOf(pod))
	}
	p.order = random.Perm(n)
	for _, i := range p.order {
		p.asked = append(p.asked, strings.Clone(p.keys[i]))
	}
	p.aged = random.Perm(n)[:n/4]
	for i := range n / perTemplate {
		p.templates = append(p.templates, template{
			namespace: p.namespaces[i%len(p.namespaces)],
			selector:  labels.SelectorFromSet(labels.Set{templateLabel: templateHash(i)}),
		})
	}
	return p
}

// keyOf makes the key of a pod, as something that receives one does.
func keyOf(pod *corev1.Pod) string { return listwatch.ObjectKey(pod.Namespace, pod.Name) }

func templateHash(i int) string { return fmt.Sprintf("%08x", uint32(i)*2654435761) }

// decoded is the pod as a client gets it.
func decoded(pod *corev1.Pod) *corev1.Pod { return decode(encode(pod)) }

func encode(pod *corev1.Pod) []byte {
	raw, err := pod.Marshal()
	if err != nil {
		panic("BUG: a pod that can't be encoded: " + err.Error())
	}
	return raw
}

func decode(raw []byte) *corev1.Pod {
	pod := &corev1.Pod{}
	if err := pod.Unmarshal(raw); err != nil {
		panic("BUG: a pod that can't be decoded: " + err.Error())
	}
	return pod
}

// withState is the pod in another state: what the server would send after a change. The rest is shared with pod.
func withState(pod *corev1.Pod, rv uint64) *corev1.Pod {
	next := *pod
	next.ResourceVersion = strconv.FormatUint(rv, 10)
	return &next
}

// newPod makes pod i of n as a cluster has it: of a deployment, running, with two containers.
func newPod(i, n int, namespace, node string) *corev1.Pod {
	owner := i % (n / perOwner)
	hash := templateHash(i % (n / perTemplate))
	app := fmt.Sprintf("orders-api-%04d", owner)
	replicaSet := app + "-" + hash
	name := fmt.Sprintf("%s-%05x", replicaSet, i)
	created := metav1.NewTime(time.Date(2025, 3, 1, 12, 0, i%86400, 0, time.UTC))
	uid := func(kind int) types.UID {
		return types.UID(fmt.Sprintf("%08x-%04x-4bcd-9e37-%012x", i*2654435761&0xffffffff, kind, i))
	}
	ip := fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, GenerateName: replicaSet + "-", Namespace: namespace, UID: uid(1),
			ResourceVersion: strconv.Itoa(1 + i), Generation: 1, CreationTimestamp: created,
			Labels: map[string]string{
				"app.kubernetes.io/name":      fmt.Sprintf("orders-api-%02d", owner%50),
				"app.kubernetes.io/instance":  app,
				"app.kubernetes.io/component": []string{"web", "worker", "cron", "cache"}[owner%4],
				"app.kubernetes.io/version":   fmt.Sprintf("v1.%d.%d", owner%20, owner%7),
				"environment":                 []string{"production", "staging", "canary"}[i%3],
				"team":                        fmt.Sprintf("team-%02d", owner%20),
				templateLabel:                 hash,
			},
			Annotations: map[string]string{
				"prometheus.io/scrape":              "true",
				"prometheus.io/port":                "9090",
				"kubectl.kubernetes.io/restartedAt": created.UTC().Format(time.RFC3339),
				"checksum/config":                   fmt.Sprintf("%064x", uint64(i)*0x9e3779b97f4a7c15),
				"sidecar.istio.io/status":           `{"initContainers":["proxy-init"],"containers":["proxy"],"volumes":["proxy-envoy","proxy-data"]}`,
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: replicaSet, UID: uid(2), Controller: new(true), BlockOwnerDeletion: new(true),
			}},
			ManagedFields: []metav1.ManagedFieldsEntry{managed("kube-controller-manager", "", created, managedSpec), managed("kubelet", "status", created, managedStatus)},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				container("api", "registry.example.com/shop/orders-api:v1."+strconv.Itoa(owner%20), 8080, i),
				container("proxy", "registry.example.com/mesh/proxy:1.27.1", 15090, i),
			},
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: app}}}},
				{Name: "kube-api-access", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
			RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: new(int64(30)), DNSPolicy: corev1.DNSClusterFirst,
			ServiceAccountName: app, NodeName: node, SchedulerName: "default-scheduler", Priority: new(int32(0)), EnableServiceLinks: new(true),
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
				{Key: "node.kubernetes.io/unreachable", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))},
			},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "10.0.0." + strconv.Itoa(i%250), PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}, StartTime: &created,
			QOSClass: corev1.PodQOSBurstable,
			Conditions: []corev1.PodCondition{
				condition(corev1.PodInitialized, created), condition(corev1.PodReady, created), condition(corev1.PodScheduled, created),
			},
			ContainerStatuses: []corev1.ContainerStatus{containerStatus("api", i, created), containerStatus("proxy", i, created)},
		},
	}
}

func container(name, image string, port int32, i int) corev1.Container {
	return corev1.Container{
		Name: name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		Env:   []corev1.EnvVar{{Name: "LOG_LEVEL", Value: "info"}, {Name: "DATABASE_SHARD", Value: strconv.Itoa(i % 64)}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("512Mi")},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "config", MountPath: "/etc/config", ReadOnly: true},
			{Name: "kube-api-access", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
		},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(port), Scheme: corev1.URISchemeHTTP}},
			PeriodSeconds: 10, TimeoutSeconds: 1, SuccessThreshold: 1, FailureThreshold: 3,
		},
	}
}

func condition(kind corev1.PodConditionType, since metav1.Time) corev1.PodCondition {
	return corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: since}
}

func containerStatus(name string, i int, since metav1.Time) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		Name: name, Ready: true, Started: new(true), Image: "registry.example.com/shop/" + name + ":v1",
		ImageID:     fmt.Sprintf("registry.example.com/shop/%s@sha256:%032x", name, i%1000),
		ContainerID: fmt.Sprintf("containerd://%032x", i),
		State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
	}
}

func managed(manager, subresource string, at metav1.Time, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at, FieldsType: "FieldsV1",
		FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}, Subresource: subresource,
	}
}

const (
	managedSpec   = `{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{}},"f:generateName":{},"f:labels":{".":{},"f:team":{}},"f:ownerReferences":{".":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"api\"}":{".":{},"f:env":{},"f:image":{}}},"f:dnsPolicy":{}}}`
	managedStatus = `{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{}}}`
)
