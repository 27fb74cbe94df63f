// Package workload keeps an [apitest.Server] busy as a small cluster would: deployments scale, their pods come, get a node, run and
// go, nodes send heartbeats.
//
// It is bounded, and repeatable: the same options on a fresh server with the same seed make the same writes in the same order. Writes are
// the test's own ([apitest.Create] and its like): faults do not apply to them.
package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/apitest"
)

// Options says how large the cluster is. The zero value is a small one.
type Options struct {
	// Seed chooses the writes.
	Seed uint64
	// Nodes is their number, which stays. 0: 5.
	Nodes int
	// Deployments is their number, which stays. 0: 6.
	Deployments int
	// Namespaces over which the deployments are spread. 0: 3.
	Namespaces int
	// MaxReplicas bounds each deployment's pods. 0: 10.
	MaxReplicas int
}

// Workload is a cluster at work. Safe for concurrent use.
type Workload struct {
	s    *apitest.Server
	opts Options

	// mu guards the fields below and makes steps follow one another.
	mu          sync.Mutex
	rand        *rand.Rand
	steps       int
	deployments []*deployment
	pending     []*pod // pods that are not running yet, oldest first
}

type deployment struct {
	namespace, name string
	uid             types.UID
	replicas        int
	pods            []*pod
}

type pod struct {
	of              *deployment
	namespace, name string
	node            string // "" before it is scheduled
}

// New makes the namespaces, nodes and deployments of a workload. The pods come with the steps. The error is that of the write that failed.
func New(s *apitest.Server, opts Options) (*Workload, error) {
	for _, o := range []struct {
		field *int
		value int
	}{{&opts.Nodes, 5}, {&opts.Deployments, 6}, {&opts.Namespaces, 3}, {&opts.MaxReplicas, 10}} {
		if *o.field <= 0 {
			*o.field = o.value
		}
	}
	w := &Workload{s: s, opts: opts, rand: rand.New(rand.NewPCG(opts.Seed, 0x776f726b))}
	for i := range opts.Namespaces {
		if _, err := apitest.Create(s, &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: namespaceName(i)},
			Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
		}); err != nil {
			return nil, fmt.Errorf("workload: namespace %s: %w", namespaceName(i), err)
		}
	}
	for i := range opts.Nodes {
		if _, err := apitest.Create(s, newNode(i)); err != nil {
			return nil, fmt.Errorf("workload: node %s: %w", nodeName(i), err)
		}
	}
	for i := range opts.Deployments {
		d := &deployment{namespace: namespaceName(i % opts.Namespaces), name: deploymentName(i), replicas: 1 + w.rand.IntN(opts.MaxReplicas)}
		created, err := apitest.Create(s, newDeployment(d))
		if err != nil {
			return nil, fmt.Errorf("workload: deployment %s/%s: %w", d.namespace, d.name, err)
		}
		d.uid = created.UID
		w.deployments = append(w.deployments, d)
	}
	return w, nil
}

// Step makes one write. What others deleted meanwhile is left deleted if it is a node or deployment, and made anew if it is a pod. The error
// is that of the write.
func (w *Workload) Step() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps++
	choice := w.rand.IntN(100)
	act := w.heartbeat
	switch {
	case choice < 30:
		act = w.progress
	case choice < 65:
		act = w.reconcile
	case choice < 72:
		act = w.scale
	case choice < 80:
		act = w.kill
	}
	done, err := act()
	if err == nil && !done {
		_, err = w.heartbeat()
	}
	if err != nil {
		return fmt.Errorf("workload: step %d: %w", w.steps, err)
	}
	return nil
}

// Run makes steps at a rate per second until ctx ends, whose cause it returns, or a step fails.
func (w *Workload) Run(ctx context.Context, rate float64) error {
	if rate <= 0 {
		return fmt.Errorf("workload: rate %v is not positive", rate)
	}
	const finest = 10 * time.Millisecond // several steps per tick from there on
	ticker := time.NewTicker(max(time.Duration(float64(time.Second)/rate), finest))
	defer ticker.Stop()
	start, steps := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case now := <-ticker.C:
			for due := int(now.Sub(start).Seconds() * rate); steps < due && ctx.Err() == nil; steps++ {
				if err := w.Step(); err != nil {
					return err
				}
			}
		}
	}
}

// The steps tell whether they had anything to write.

// heartbeat lets a node tell that it is alive.
func (w *Workload) heartbeat() (bool, error) {
	name := nodeName(w.rand.IntN(w.opts.Nodes))
	node, err := apitest.Get[*corev1.Node](w.s, corev1.SchemeGroupVersion.WithResource("nodes"), "", name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	node.Status.Conditions = []corev1.NodeCondition{ready(fmt.Sprintf("heartbeat %d", w.steps))}
	_, err = apitest.Update(w.s, node)
	return true, err
}

// progress schedules the oldest pod that waits, or lets it run.
func (w *Workload) progress() (bool, error) {
	if len(w.pending) == 0 {
		return false, nil
	}
	p := w.pending[0]
	obj, err := apitest.Get[*corev1.Pod](w.s, corev1.SchemeGroupVersion.WithResource("pods"), p.namespace, p.name)
	if apierrors.IsNotFound(err) {
		w.forget(p)
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if p.node == "" {
		p.node = nodeName(w.rand.IntN(w.opts.Nodes))
		obj.Spec.NodeName = p.node
	} else {
		obj.Status.Phase = corev1.PodRunning
		obj.Status.PodIP = fmt.Sprintf("10.%d.%d.%d", w.rand.IntN(256), w.rand.IntN(256), w.rand.IntN(256))
		w.pending = w.pending[1:]
	}
	_, err = apitest.Update(w.s, obj)
	return true, err
}

// reconcile makes or deletes a pod of a deployment that has not as many as it should.
func (w *Workload) reconcile() (bool, error) {
	first := w.rand.IntN(len(w.deployments))
	for i := range w.deployments {
		d := w.deployments[(first+i)%len(w.deployments)]
		switch {
		case len(d.pods) < d.replicas:
			obj, err := apitest.Create(w.s, newPod(d))
			if err != nil {
				return false, err
			}
			p := &pod{of: d, namespace: obj.Namespace, name: obj.Name}
			d.pods = append(d.pods, p)
			w.pending = append(w.pending, p)
			return true, nil
		case len(d.pods) > d.replicas:
			return w.deletePod(d.pods[len(d.pods)-1])
		}
	}
	return false, nil
}

// scale changes a deployment's replicas.
func (w *Workload) scale() (bool, error) {
	d := w.deployments[w.rand.IntN(len(w.deployments))]
	obj, err := apitest.Get[*appsv1.Deployment](w.s, appsv1.SchemeGroupVersion.WithResource("deployments"), d.namespace, d.name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	replicas := w.rand.IntN(w.opts.MaxReplicas + 1)
	if replicas == d.replicas {
		return false, nil
	}
	d.replicas = replicas
	n := int32(replicas)
	obj.Spec.Replicas = &n
	_, err = apitest.Update(w.s, obj)
	return true, err
}

// kill deletes a pod that its deployment still wants.
func (w *Workload) kill() (bool, error) {
	d := w.deployments[w.rand.IntN(len(w.deployments))]
	if len(d.pods) == 0 {
		return false, nil
	}
	return w.deletePod(d.pods[w.rand.IntN(len(d.pods))])
}

func (w *Workload) deletePod(p *pod) (bool, error) {
	w.forget(p)
	_, err := apitest.Delete(w.s, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name}})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return true, err
}

func (w *Workload) forget(p *pod) {
	is := func(q *pod) bool { return q == p }
	p.of.pods = slices.DeleteFunc(p.of.pods, is)
	w.pending = slices.DeleteFunc(w.pending, is)
}
