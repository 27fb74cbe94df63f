package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
)

// The resources that a workload writes.
var (
	Nodes       = corev1.SchemeGroupVersion.WithResource("nodes")
	Deployments = appsv1.SchemeGroupVersion.WithResource("deployments")
	Pods        = corev1.SchemeGroupVersion.WithResource("pods")
)

// Options configures a [Workload]. The zero value works.
type Options struct {
	// Seed makes another sequence of writes.
	Seed uint64
	// Deployments is how many there are. 0: 6.
	Deployments int
	// Nodes is how many there are. 0: 4.
	Nodes int
}

// maxReplicas bounds the pods of a deployment; while it is rolled out there may be one more.
const maxReplicas = 8

// Write is a write that was made.
type Write struct {
	Resource schema.GroupVersionResource
	// ResourceVersion is that of the write; a workload's writes have ascending ones.
	ResourceVersion uint64
}

// Workload writes to a server. It belongs to one goroutine; nobody else may write what it writes.
type Workload struct {
	server      *apitest.Server
	rand        *rand.Rand
	nodes       []*corev1.Node
	deployments []*deployment
	last        Write
}

// deployment is a Deployment and the pods it has.
type deployment struct {
	obj     *appsv1.Deployment
	version int // of its image
	pods    []*corev1.Pod
}

// New makes the first objects, at time now, and tells of their writes.
func New(server *apitest.Server, opts Options, now time.Time) (*Workload, []Write, error) {
	if opts.Deployments < 0 || opts.Nodes < 0 {
		return nil, nil, fmt.Errorf("workload: %d deployments and %d nodes: must not be negative", opts.Deployments, opts.Nodes)
	}
	if opts.Deployments == 0 {
		opts.Deployments = 6
	}
	if opts.Nodes == 0 {
		opts.Nodes = 4
	}
	w := &Workload{server: server, rand: rand.New(rand.NewPCG(opts.Seed, 0x776f726b6c6f6164))}
	var writes []Write
	for i := range opts.Nodes {
		if err := w.addNode(fmt.Sprintf("node-%d", i+1), now); err != nil {
			return nil, nil, err
		}
		writes = append(writes, w.last)
	}
	for i := range opts.Deployments {
		if err := w.addDeployment(i); err != nil {
			return nil, nil, err
		}
		writes = append(writes, w.last)
	}
	// Most pods are there already, so that a first list has something to tell.
	for _, d := range w.deployments {
		for len(d.pods) < int(*d.obj.Spec.Replicas) {
			if err := w.addPod(d); err != nil {
				return nil, nil, err
			}
			writes = append(writes, w.last)
		}
	}
	return w, writes, nil
}

// Step makes one write, as at time now.
func (w *Workload) Step(now time.Time) (Write, error) {
	now = now.Truncate(time.Second) // what the API has room for
	var todo []func() error
	for _, d := range w.deployments {
		if next := w.reconcile(d, now); next != nil {
			todo = append(todo, next)
		}
	}
	if len(todo) > 0 && w.rand.IntN(10) < 7 {
		err := todo[w.rand.IntN(len(todo))]()
		return w.last, err
	}
	d := w.deployments[w.rand.IntN(len(w.deployments))]
	node := w.rand.IntN(len(w.nodes))
	var err error
	switch w.rand.IntN(10) {
	case 0, 1, 2, 3:
		err = w.heartbeat(node, now)
	case 4:
		err = w.cordon(node)
	case 5, 6, 7:
		err = w.scale(d)
	default:
		err = w.rollOut(d)
	}
	return w.last, err
}

// wrote is note-taking after a write.
func wrote[T interface {
	runtime.Object
	metav1.Object
}](w *Workload, resource schema.GroupVersionResource, obj T, err error) (T, error) {
	if err != nil {
		return obj, fmt.Errorf("workload: %s: %w", resource.Resource, err)
	}
	rv, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return obj, fmt.Errorf("workload: %s: resource version: %w", resource.Resource, err)
	}
	w.last = Write{Resource: resource, ResourceVersion: rv}
	return obj, nil
}

func (w *Workload) addNode(name string, now time.Time) error {
	node, err := apitest.Create(w.server, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/hostname": name}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{readyNode(now)}},
	})
	node, err = wrote(w, Nodes, node, err)
	w.nodes = append(w.nodes, node)
	return err
}

func readyNode(now time.Time) corev1.NodeCondition {
	return corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.NewTime(now.Truncate(time.Second)),
	}
}

func (w *Workload) heartbeat(i int, now time.Time) error {
	node := w.nodes[i].DeepCopy()
	node.Status.Conditions = []corev1.NodeCondition{readyNode(now)}
	if node.Status.Conditions[0] == w.nodes[i].Status.Conditions[0] {
		return w.cordon(i) // the same second: the server would not write
	}
	return w.updateNode(i, node)
}

func (w *Workload) cordon(i int) error {
	node := w.nodes[i].DeepCopy()
	node.Spec.Unschedulable = !node.Spec.Unschedulable
	return w.updateNode(i, node)
}

func (w *Workload) updateNode(i int, node *corev1.Node) error {
	node, err := apitest.Update(w.server, node)
	if node, err = wrote(w, Nodes, node, err); err == nil {
		w.nodes[i] = node
	}
	return err
}

// node picks one for a pod.
func (w *Workload) node() string {
	open := slices.DeleteFunc(slices.Clone(w.nodes), func(n *corev1.Node) bool { return n.Spec.Unschedulable })
	if len(open) == 0 {
		open = w.nodes
	}
	return open[w.rand.IntN(len(open))].Name
}
