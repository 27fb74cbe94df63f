// Package workload keeps an [apitest.Server] busy as a small cluster would: deployments scale, get new images and tell how many pods
// are ready, their pods come, get a node, run and go, nodes send heartbeats.
//
// It is bounded, and repeatable: the same options on a fresh server with the same seed make the same writes in the same order. Writes are
// the test's own ([apitest.Create] and its like): faults do not apply to them.
package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
	// Running makes New create the pods, too, as if they were running for long.
	Running bool
	// Wrote is told of each write when it has been made, by the goroutine that made it: the object as stored, or the last state of one that
	// was deleted, under the resource version of the write. Of steps made at the same time it is told in any order. Nil: nobody is told.
	Wrote func(resource schema.GroupVersionResource, obj metav1.Object)
}

// The resources that a workload writes, besides namespaces.
var (
	Nodes       = corev1.SchemeGroupVersion.WithResource("nodes")
	Deployments = appsv1.SchemeGroupVersion.WithResource("deployments")
	Pods        = corev1.SchemeGroupVersion.WithResource("pods")
)

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// Workload is a cluster at work. Safe for concurrent use.
type Workload struct {
	s    *apitest.Server
	opts Options

	// mu guards the fields below and makes steps follow one another.
	mu          sync.Mutex
	rand        *rand.Rand
	steps       int
	deployments []*deployment
	pending     []*pod  // pods that are not running yet, oldest first
	unsaid      []write // not told of yet; empty if nobody wants to know
}

type deployment struct {
	namespace, name string
	uid             types.UID
	replicas        int
	version         int // of the image
	pods            []*pod
}

type pod struct {
	of              *deployment
	namespace, name string
	version         int
	node            string // "" before it is scheduled
	running         bool
}

// New makes the namespaces, nodes and deployments of a workload. The pods come with the steps, unless Options.Running is set. The error is
// that of the write that failed.
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
	if err := w.begin(); err != nil {
		return nil, fmt.Errorf("workload: %w", err)
	}
	w.tell(w.unsaid)
	w.unsaid = nil
	return w, nil
}

// begin makes the first objects.
func (w *Workload) begin() error {
	for i := range w.opts.Namespaces {
		if _, err := create(w, namespaces, newNamespace(i)); err != nil {
			return err
		}
	}
	for i := range w.opts.Nodes {
		if _, err := create(w, Nodes, newNode(i)); err != nil {
			return err
		}
	}
	for i := range w.opts.Deployments {
		d := &deployment{
			namespace: namespaceName(i % w.opts.Namespaces), name: deploymentName(i), replicas: 1 + w.rand.IntN(w.opts.MaxReplicas), version: 1,
		}
		created, err := create(w, Deployments, newDeployment(d))
		if err != nil {
			return err
		}
		d.uid = created.UID
		w.deployments = append(w.deployments, d)
	}
	for _, d := range w.deployments {
		for w.opts.Running && len(d.pods) < d.replicas {
			if err := w.addPod(d, w.anyNode()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Step makes one write. What others deleted meanwhile is left deleted if it is a node or deployment, and made anew if it is a pod. The error
// is that of the write.
func (w *Workload) Step() error {
	unsaid, err := w.step()
	w.tell(unsaid)
	return err
}

func (w *Workload) step() (unsaid []write, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps++
	choice := w.rand.IntN(100)
	act := w.heartbeat
	switch {
	case choice < 30:
		act = w.progress
	case choice < 60:
		act = w.reconcile
	case choice < 66:
		act = w.scale
	case choice < 70:
		act = w.rollOut
	case choice < 76:
		act = w.kill
	case choice < 86:
		act = w.report
	}
	done, err := act()
	if err == nil && !done {
		_, err = w.heartbeat()
	}
	if err != nil {
		err = fmt.Errorf("workload: step %d: %w", w.steps, err)
	}
	unsaid, w.unsaid = w.unsaid, nil
	return unsaid, err
}

// write is one that was made.
type write struct {
	resource schema.GroupVersionResource
	obj      metav1.Object
}

// tell tells of writes. No lock is held.
func (w *Workload) tell(writes []write) {
	for _, made := range writes {
		w.opts.Wrote(made.resource, made.obj)
	}
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
