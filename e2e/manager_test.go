package e2e

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/informerkit/informerkit/clientgo"
	"github.com/informerkit/informerkit/e2e/cluster"
)

// A controller-runtime operator reaches the same state whether client-go's informers are under its manager's cache or ours.
func TestManagersReachTheSameState(t *testing.T) {
	const parents = 30
	c, ns := shared(t)
	states := map[string][]string{}
	for name, options := range map[string]cache.Options{
		"client-go": {},
		"ours":      {NewInformer: clientgo.NewInformer},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := ns + "-" + name
			fill(t, c, namespace, parents, 10)
			options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
			states[name] = runOperator(t, c, namespace, options, parents)
		})
	}
	if !slices.Equal(states["client-go"], states["ours"]) {
		t.Errorf("on client-go's informers %v, on ours %v", states["client-go"], states["ours"])
	}
	if len(states["ours"]) != 2*parents-2 {
		t.Errorf("%d widgets, want %d parents and as many children, without one parent and its child", len(states["ours"]), 2*parents-2)
	}
}

// runOperator runs a manager until each widget has its child, deletes one widget, waits until its child is gone, too, and returns the
// names of all widgets there are.
func runOperator(t *testing.T, c *cluster.Cluster, namespace string, options cache.Options, parents int) []string {
	mgr, err := ctrl.NewManager(c.Config(), ctrl.Options{
		Cache: options, Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		// Else unstructured objects are read from the server, and no informer has a say.
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &parentReconciler{mgr.GetClient()}
	if err := ctrl.NewControllerManagedBy(mgr).For(widgetObject()).Owns(widgetObject()).Named("parents").Complete(r); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(patient(t))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("manager: %v", err)
		}
	}()

	admin := widgets(c, namespace)
	r.settle(t, ctx, namespace, 2*parents)
	if err := admin.Delete(ctx, "w3", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	state := r.settle(t, ctx, namespace, 2*parents-2)
	onserver := slices.Sorted(maps.Keys(onServer(t, admin)))
	for i := range onserver {
		onserver[i] = onserver[i][len(namespace)+1:]
	}
	if !slices.Equal(state, onserver) {
		t.Errorf("the manager's cache has %v, the server %v", state, onserver)
	}
	return state
}

func widgetObject() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(cluster.WidgetKind)
	return u
}

// parentReconciler gives each widget a child of the same size, and takes it away when its parent is gone.
type parentReconciler struct{ client client.Client }

const childSuffix = "-child"

func (r *parentReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if strings.HasSuffix(req.Name, childSuffix) {
		return ctrl.Result{}, nil
	}
	child := widgetObject()
	child.SetNamespace(req.Namespace)
	child.SetName(req.Name + childSuffix)
	parent := widgetObject()
	switch err := r.client.Get(ctx, req.NamespacedName, parent); {
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, client.IgnoreNotFound(r.client.Delete(ctx, child))
	case err != nil:
		return ctrl.Result{}, err
	}
	size, _, err := unstructured.NestedInt64(parent.Object, "spec", "size")
	if err != nil {
		return ctrl.Result{}, err
	}
	_, err = controllerutil.CreateOrUpdate(ctx, r.client, child, func() error {
		if err := unstructured.SetNestedField(child.Object, size, "spec", "size"); err != nil {
			return err
		}
		return controllerutil.SetControllerReference(parent, child, r.client.Scheme())
	})
	return ctrl.Result{}, err
}

// settle waits until the manager's cache holds so many widgets and returns their names.
func (r *parentReconciler) settle(t *testing.T, ctx context.Context, namespace string, n int) []string {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(cluster.WidgetKind)
	for {
		if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			t.Fatalf("%d widgets, want %d: %v", len(list.Items), n, err)
		}
		if len(list.Items) == n {
			break
		}
		pause(ctx, 20*time.Millisecond)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	slices.Sort(names)
	return names
}
