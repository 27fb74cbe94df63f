// Command operator is an operator on controller-runtime: it publishes each Website as a ConfigMap. One statement differs from the same
// operator on client-go's informers, which is in original/.
package main

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/informerkit/informerkit/clientgo"
	"github.com/informerkit/informerkit/examples/internal/scene"
	"github.com/informerkit/informerkit/examples/operator/website"
)

func main() { scene.Play(operate, scene.Blogger, scene.Websites) }

// operate runs the operator until ctx ends.
func operate(ctx context.Context, config *rest.Config) error {
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return err
	}
	if err := website.AddToScheme(scheme); err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{NewInformer: clientgo.NewInformer},
	})
	if err != nil {
		return err
	}
	if err := ctrl.NewControllerManagedBy(manager).
		For(&website.Website{}).
		Owns(&corev1.ConfigMap{}).
		Complete(&publisher{manager.GetClient()}); err != nil {
		return err
	}
	return manager.Start(ctx)
}

type publisher struct{ client client.Client }

// Reconcile publishes a website. An error is a reason to try again.
func (p *publisher) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	site := &website.Website{}
	if err := p.client.Get(ctx, req.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	page := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	did, err := controllerutil.CreateOrUpdate(ctx, p.client, page, func() error {
		page.Data = map[string]string{"index.html": site.Spec.Text}
		return controllerutil.SetControllerReference(site, page, p.client.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if did != controllerutil.OperationResultNone {
		fmt.Printf("operator: %s ConfigMap %s: %q\n", did, req.NamespacedName, site.Spec.Text)
	}
	published := website.Status{Text: site.Spec.Text, Page: page.UID}
	if site.Status == published {
		return ctrl.Result{}, nil
	}
	site.Status = published
	return ctrl.Result{}, p.client.Status().Update(ctx, site)
}
