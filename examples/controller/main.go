// Command controller is a controller on the typed API: it keeps as many pods as each ReplicaSet wants. Pods get generated names, so a
// controller that acts on a copy from before its own writes makes too many; this one reads through an overlay of them.
package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"

	"github.com/informerkit/informerkit/examples/internal/scene"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/store"
)

func main() { scene.Play(replicate, scene.Scaler) }

// replicate runs the controller until ctx ends.
func replicate(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	sets, err := informer.New(listwatch.For[*appsv1.ReplicaSet](client.AppsV1().ReplicaSets("")), informer.Options[*appsv1.ReplicaSet]{Name: "replicasets"})
	if err != nil {
		return err
	}
	pods, err := informer.New(listwatch.For[*corev1.Pod](client.CoreV1().Pods("")), informer.Options[*corev1.Pod]{
		Name:      "pods",
		Transform: informer.StripManagedFields[*corev1.Pod](),
	})
	if err != nil {
		return err
	}
	c := &controller{
		client:  client,
		sets:    sets,
		pods:    pods,
		byOwner: informer.AddIndex(pods, "owner", func(p *corev1.Pod) []string { return []string{owner(p)} }),
		own:     informer.NewOverlay(pods, informer.OverlayOptions{}),
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	defer c.own.Close()

	// A queue wants to know that a ReplicaSet changed, not how often: its newest state will do. All are looked at again from time to time,
	// for a pod that came and went while the watch was interrupted.
	setsTold := sets.AddHandler(informer.Handler[*appsv1.ReplicaSet]{
		Event: func(e informer.Event[*appsv1.ReplicaSet]) { c.queue.Add(e.Key) },
	}, informer.HandlerOptions{Name: "queue", Delivery: informer.LatestState, Replay: 10 * time.Minute})
	// Of pods every change counts: one that was created here and deleted at once would not be told otherwise, and is missing.
	podsTold := pods.AddHandler(informer.Handler[*corev1.Pod]{
		Event: func(e informer.Event[*corev1.Pod]) { c.queue.Add(owner(e.Object())) },
	}, informer.HandlerOptions{Name: "queue", Delivery: informer.EveryChange})

	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	ended := make(chan error, 2)
	running.Go(func() { ended <- sets.Run(ctx) })
	running.Go(func() { ended <- pods.Run(ctx) })
	if err := errors.Join(setsTold.WaitSynced(ctx), podsTold.WaitSynced(ctx)); err != nil {
		return err
	}
	context.AfterFunc(ctx, c.queue.ShutDown)
	for c.next(ctx) {
	}
	return errors.Join(<-ended, <-ended)
}

// owner is the key of the ReplicaSet that a pod belongs to, "" if there is none.
func owner(p *corev1.Pod) string {
	if ref := metav1.GetControllerOf(p); ref != nil && ref.Kind == "ReplicaSet" {
		return listwatch.ObjectKey(p.Namespace, ref.Name)
	}
	return ""
}

type controller struct {
	client  kubernetes.Interface
	sets    *informer.Informer[*appsv1.ReplicaSet]
	pods    *informer.Informer[*corev1.Pod]
	byOwner *store.Index[*corev1.Pod]
	own     *informer.Overlay[*corev1.Pod]
	queue   workqueue.TypedRateLimitingInterface[string] // keys of ReplicaSets
}

// next works on one ReplicaSet. It is false when the queue has shut down.
func (c *controller) next(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	if err := c.reconcile(ctx, key); err != nil {
		c.queue.AddRateLimited(key)
		return true
	}
	c.queue.Forget(key)
	return true
}

// reconcile makes or deletes pods of a ReplicaSet. An error is a reason to try again.
func (c *controller) reconcile(ctx context.Context, key string) error {
	set, ok := c.sets.Get(key)
	if !ok {
		return nil
	}
	wanted := ptr.Deref(set.Spec.Replicas, 1)
	pods := maps.Collect(c.own.Index(c.byOwner, key))
	for range int(wanted) - len(pods) {
		pod, err := c.client.CoreV1().Pods(set.Namespace).Create(ctx, newPod(set), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		fmt.Println("controller: created a pod of", key)
		if err := c.remember(ctx, pod); err != nil {
			return err
		}
	}
	surplus := slices.Sorted(maps.Keys(pods))
	for _, podKey := range surplus[min(int(wanted), len(surplus)):] {
		pod := pods[podKey]
		err := c.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, *metav1.NewPreconditionDeleteOptions(string(pod.UID)))
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		fmt.Println("controller: deleted a pod of", key)
		if err := c.own.Deleted(pod); err != nil {
			return err
		}
	}
	if set.Status.Replicas == wanted {
		return nil
	}
	set = set.DeepCopy() // what informers hold is everybody's
	set.Status.Replicas = wanted
	_, err := c.client.AppsV1().ReplicaSets(set.Namespace).UpdateStatus(ctx, set, metav1.UpdateOptions{})
	return err
}

// remember makes the reads to come show a pod that was just written: at once, through the overlay, or if that is full, by
// waiting until the watch has brought it.
func (c *controller) remember(ctx context.Context, pod *corev1.Pod) error {
	err := c.own.Wrote(pod)
	if errors.Is(err, informer.ErrOverlayFull) {
		return c.pods.WaitFor(ctx, pod.ResourceVersion)
	}
	return err
}

func newPod(set *appsv1.ReplicaSet) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName:    set.Name + "-",
			Labels:          set.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		},
		Spec: set.Spec.Template.Spec,
	}
}
