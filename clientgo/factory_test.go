package clientgo_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/clientgo"
)

type gvr = schema.GroupVersionResource

func pod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}},
	}
}

// listening is a server with two pods and a deployment.
func listening(t *testing.T) *apitest.Server {
	t.Helper()
	server := apitest.NewServer(apitest.Options{})
	t.Cleanup(server.Close)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*corev1.Pod{pod("one", "a"), pod("two", "b")} {
		if _, err := apitest.Create(server, p); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := apitest.Create(server, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "one", Name: "d"}}); err != nil {
		t.Fatal(err)
	}
	return server
}

// A generated factory works unchanged on our informers.
func TestGeneratedFactory(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(listening(t).Config())
	factory := informers.NewSharedInformerFactoryWithOptions(client, time.Hour, informers.WithTransform(func(obj any) (any, error) {
		if p, ok := obj.(*corev1.Pod); ok {
			p.Annotations = map[string]string{"transformed": "by the factory"}
		}
		return obj, nil
	}))
	if err := clientgo.Register(factory, clientgo.FactoryOptions{}, &corev1.Pod{}, &appsv1.Deployment{}); err != nil {
		t.Fatal(err)
	}
	pods := factory.Core().V1().Pods()
	deployments, err := factory.ForResource(appsv1.SchemeGroupVersion.WithResource("deployments"))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []cache.SharedIndexInformer{pods.Informer(), deployments.Informer()} {
		if _, ok := clientgo.InformerOf(i); !ok {
			t.Fatalf("%T is not ours", i)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.StartWithContext(ctx)
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		t.Fatal(err)
	}
	if all, err := pods.Lister().List(labels.Everything()); err != nil || len(all) != 2 || all[0].Annotations["transformed"] == "" {
		t.Errorf("pods %v, %v", all, err)
	}
	if some, err := pods.Lister().Pods("one").List(labels.SelectorFromSet(labels.Set{"app": "a"})); err != nil || len(some) != 1 {
		t.Errorf("pods of one namespace %v, %v", some, err)
	}
	if _, err := deployments.Lister().ByNamespace("one").Get("d"); err != nil {
		t.Error(err)
	}
	cancel()
	factory.Shutdown()
}

func TestFactoryOfOneNamespaceWithTweakedOptions(t *testing.T) {
	server := listening(t)
	client := kubernetes.NewForConfigOrDie(server.Config())
	tweak := func(o *metav1.ListOptions) { o.LabelSelector = "app=a" }
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace("one"), informers.WithTweakListOptions(tweak))
	if err := clientgo.Register(factory, clientgo.FactoryOptions{Namespace: "one", TweakListOptions: tweak}, &corev1.Pod{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	if synced := factory.WaitForCacheSync(ctx.Done()); !synced[reflect.TypeFor[*corev1.Pod]()] {
		t.Fatalf("synced: %v", synced)
	}
	if keys := factory.Core().V1().Pods().Informer().GetStore().ListKeys(); len(keys) != 1 || keys[0] != "one/a" {
		t.Errorf("keys %v", keys)
	}
	cancel()
	factory.Shutdown()
}

// Every type of the clientset can be registered, with a fake clientset, too.
func TestRegisterAllTypes(t *testing.T) {
	client := fake.NewClientset(pod("one", "a"))
	factory := informers.NewSharedInformerFactory(client, 0)
	for gvk := range scheme.Scheme.AllKnownTypes() {
		obj, err := scheme.Scheme.New(gvk)
		if err != nil {
			t.Fatal(err)
		}
		err = clientgo.Register(factory, clientgo.FactoryOptions{}, obj)
		if err != nil && !strings.Contains(err.Error(), "no resource of type") {
			t.Fatal(err)
		}
	}
	if i := factory.Core().V1().Pods().Informer(); !isOurs(i) {
		t.Errorf("%T is not ours", i)
	}
	if i := factory.Storage().V1().StorageClasses().Informer(); !isOurs(i) {
		t.Errorf("%T is not ours", i)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	synced := factory.WaitForCacheSync(ctx.Done())
	if len(synced) < 60 {
		t.Errorf("only %d types", len(synced))
	}
	for typ, ok := range synced {
		if !ok {
			t.Errorf("%v is not synced", typ)
		}
	}
	if all, err := factory.Core().V1().Pods().Lister().List(labels.Everything()); err != nil || len(all) != 1 {
		t.Errorf("pods %v, %v", all, err)
	}
	cancel()
	factory.Shutdown()
}

func isOurs(i cache.SharedInformer) bool {
	_, ok := clientgo.InformerOf(i)
	return ok
}

func TestRegisterSaysWhatItCannotDo(t *testing.T) {
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	factory.Core().V1().Pods().Informer() // client-go's
	for want, obj := range map[string]runtime.Object{
		"*v1.Pod already":                &corev1.Pod{},
		"no resource of type *v1.Status": &metav1.Status{},
	} {
		if err := clientgo.Register(factory, clientgo.FactoryOptions{}, obj); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
	if err := clientgo.Register(factory, clientgo.FactoryOptions{}); err == nil {
		t.Error("no types: no error")
	}
	if err := clientgo.Register(factory, clientgo.FactoryOptions{Options: clientgo.Options{}}, &corev1.Node{}); err != nil {
		t.Error(err)
	}
}

func TestDynamicAndMetadataFactories(t *testing.T) {
	config := listening(t).Config()
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	type factory interface {
		Start(<-chan struct{})
		ForResource(gvr gvr) informers.GenericInformer
		WaitForCacheSync(<-chan struct{}) map[gvr]bool
		Shutdown()
	}
	for name, f := range map[string]factory{
		"dynamic":  clientgo.NewDynamicSharedInformerFactory(dynamic.NewForConfigOrDie(config), 0, clientgo.FactoryOptions{}),
		"metadata": clientgo.NewMetadataSharedInformerFactory(metadata.NewForConfigOrDie(config), 0, clientgo.FactoryOptions{Namespace: "one"}),
	} {
		t.Run(name, func(t *testing.T) {
			i := f.ForResource(pods)
			if f.ForResource(pods).Informer() != i.Informer() || !isOurs(i.Informer()) {
				t.Error("not one informer of ours for one resource")
			}
			ctx, cancel := context.WithCancel(t.Context())
			f.Start(ctx.Done())
			f.Start(ctx.Done()) // again is fine
			if synced := f.WaitForCacheSync(ctx.Done()); !synced[pods] {
				t.Fatalf("synced: %v", synced)
			}
			if _, err := i.Lister().ByNamespace("one").Get("a"); err != nil {
				t.Error(err)
			}
			want := 2
			if name == "metadata" {
				want = 1 // of one namespace
			}
			if all, err := i.Lister().List(labels.Everything()); err != nil || len(all) != want {
				t.Errorf("list %v, %v", all, err)
			}
			cancel()
			f.Shutdown()
			f.ForResource(appsv1.SchemeGroupVersion.WithResource("deployments"))
			f.Start(t.Context().Done()) // after Shutdown nothing starts
			if synced := f.WaitForCacheSync(ctx.Done()); len(synced) != 1 {
				t.Errorf("after Shutdown: %v", synced)
			}
			f.Shutdown()
		})
	}
}
