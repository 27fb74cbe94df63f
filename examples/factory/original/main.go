// Command original is the controller of the folder above on client-go's own informers.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/informerkit/informerkit/examples/internal/scene"
)

func main() { scene.Play(publish, scene.Admin) }

const (
	name  = "certificates"
	field = "ca.crt"
	text  = "-----BEGIN CERTIFICATE-----"
)

// publish runs the controller until ctx ends.
func publish(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	namespaces, configMaps := factory.Core().V1().Namespaces(), factory.Core().V1().ConfigMaps()
	p := &publisher{
		client:     client,
		namespaces: namespaces.Lister(),
		configMaps: configMaps.Lister(),
		queue:      workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	if _, err := namespaces.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: p.namespace}); err != nil {
		return err
	}
	if _, err := configMaps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(_, obj any) { p.configMap(obj) },
		DeleteFunc: p.configMap,
	}); err != nil {
		return err
	}

	factory.Start(ctx.Done())
	defer factory.Shutdown()
	for typ, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("%v is not synced", typ)
		}
	}
	context.AfterFunc(ctx, p.queue.ShutDown)
	for p.next(ctx) {
	}
	return nil
}

type publisher struct {
	client     kubernetes.Interface
	namespaces corelisters.NamespaceLister
	configMaps corelisters.ConfigMapLister
	queue      workqueue.TypedRateLimitingInterface[string] // namespaces' names
}

func (p *publisher) namespace(obj any) { p.queue.Add(obj.(*corev1.Namespace).Name) }

func (p *publisher) configMap(obj any) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
	if err != nil {
		return
	}
	if ns, n, err := cache.SplitMetaNamespaceKey(key); err == nil && n == name {
		p.queue.Add(ns)
	}
}

// next works on one namespace. It is false when the queue has shut down.
func (p *publisher) next(ctx context.Context) bool {
	ns, shutdown := p.queue.Get()
	if shutdown {
		return false
	}
	defer p.queue.Done(ns)
	if err := p.reconcile(ctx, ns); err != nil {
		p.queue.AddRateLimited(ns)
		return true
	}
	p.queue.Forget(ns)
	return true
}

// reconcile gives a namespace its ConfigMap. An error is a reason to try again.
func (p *publisher) reconcile(ctx context.Context, ns string) error {
	if _, err := p.namespaces.Get(ns); apierrors.IsNotFound(err) {
		return nil
	}
	has, err := p.configMaps.ConfigMaps(ns).Get(name)
	switch {
	case apierrors.IsNotFound(err):
		fmt.Printf("controller: create %s/%s\n", ns, name)
		_, err := p.client.CoreV1().ConfigMaps(ns).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{field: text},
		}, metav1.CreateOptions{})
		return err
	case err != nil:
		return err
	case has.Data[field] != text:
		fmt.Printf("controller: repair %s/%s\n", ns, name)
		repaired := has.DeepCopy() // what listers give is everybody's
		repaired.Data = map[string]string{field: text}
		_, err := p.client.CoreV1().ConfigMaps(ns).Update(ctx, repaired, metav1.UpdateOptions{})
		return err
	}
	return nil
}
