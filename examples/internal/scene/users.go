package scene

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/informerkit/informerkit/apitest"
)

var (
	configMaps  = corev1.SchemeGroupVersion.WithResource("configmaps")
	pods        = corev1.SchemeGroupVersion.WithResource("pods")
	replicaSets = appsv1.SchemeGroupVersion.WithResource("replicasets")
)

// Websites is the custom resource of [Blogger].
var Websites = apitest.Resource{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Website"}, Status: true}

// Admin wants the ConfigMap "certificates" in every namespace, and again when somebody removes or spoils it.
func Admin(ctx context.Context, server *apitest.Server) error {
	good := func(n int) func() error { // so many namespaces have it
		return func() error {
			return until(ctx, server, configMaps, func(all []*corev1.ConfigMap) bool {
				all = slices.DeleteFunc(all, func(c *corev1.ConfigMap) bool { return c.Name != "certificates" || c.Data["ca.crt"] == "spoilt" })
				return len(all) == n
			})
		}
	}
	create := func(namespace string) func() error {
		return func() error {
			say("create namespace %s", namespace)
			return wrote(apitest.Create(server, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
		}
	}
	certificates := func(data string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "certificates"}, Data: map[string]string{"ca.crt": data}}
	}
	return steps(
		create("red"), create("blue"), good(2),
		create("green"), good(3),
		func() error {
			say("delete blue/certificates")
			return wrote(apitest.Delete(server, certificates("")))
		},
		good(3),
		func() error {
			say("spoil blue/certificates")
			return wrote(apitest.Update(server, certificates("spoilt")))
		},
		good(3),
	)
}

// Blogger wants a website published, changes it, and loses what it was published as.
func Blogger(ctx context.Context, server *apitest.Server) error {
	site := func(text string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"text": text}}}
		u.SetGroupVersionKind(Websites.Kind)
		u.SetNamespace("default")
		u.SetName("blog")
		return u
	}
	published := func(text string) func() error {
		return func() error {
			var page *corev1.ConfigMap
			err := until(ctx, server, configMaps, func(all []*corev1.ConfigMap) bool {
				if len(all) != 1 || all[0].Data["index.html"] != text {
					return false
				}
				page = all[0]
				return true
			})
			if err != nil {
				return err
			}
			return until(ctx, server, Websites.GVR(), func(all []*unstructured.Unstructured) bool {
				status, _, _ := unstructured.NestedStringMap(all[0].Object, "status")
				return status["text"] == text && status["page"] == string(page.UID)
			})
		}
	}
	return steps(
		func() error {
			say(`create website default/blog: "hello"`)
			return wrote(apitest.Create(server, site("hello")))
		},
		published("hello"),
		func() error {
			say(`change website default/blog: "good-bye"`)
			now, err := apitest.Get[*unstructured.Unstructured](server, Websites.GVR(), "default", "blog")
			if err != nil {
				return err
			}
			if err := unstructured.SetNestedField(now.Object, "good-bye", "spec", "text"); err != nil {
				return err
			}
			return wrote(apitest.Update(server, now))
		},
		published("good-bye"),
		func() error {
			say("delete ConfigMap default/blog")
			return wrote(apitest.Delete(server, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "blog"}}))
		},
		published("good-bye"),
	)
}

// Scaler wants three pods, kills one of them, and then wants only one.
func Scaler(ctx context.Context, server *apitest.Server) error {
	app := map[string]string{"app": "web"}
	scale := func(n int32) func() error {
		return func() error {
			now, err := apitest.Get[*appsv1.ReplicaSet](server, replicaSets, "default", "web")
			if err != nil {
				return err
			}
			say("scale default/web to %d", n)
			now.Spec.Replicas = &n
			return wrote(apitest.Update(server, now))
		}
	}
	running := func(n int) func() error {
		return func() error {
			err := until(ctx, server, pods, func(all []*corev1.Pod) bool { return len(all) == n })
			if err != nil {
				return err
			}
			return until(ctx, server, replicaSets, func(all []*appsv1.ReplicaSet) bool { return all[0].Status.Replicas == int32(n) })
		}
	}
	return steps(
		func() error {
			say("create default/web with 3 replicas")
			return wrote(apitest.Create(server, &appsv1.ReplicaSet{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
				Spec: appsv1.ReplicaSetSpec{
					Replicas: ptr.To(int32(3)),
					Selector: &metav1.LabelSelector{MatchLabels: app},
					Template: corev1.PodTemplateSpec{
						ObjectMeta: metav1.ObjectMeta{Labels: app},
						Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "nginx"}}},
					},
				},
			}))
		},
		running(3),
		func() error {
			all, err := apitest.List[*corev1.Pod](server, pods, "default")
			if err != nil {
				return err
			}
			say("delete one of %d pods", len(all))
			return wrote(apitest.Delete(server, all[0]))
		},
		running(3),
		scale(1), running(1),
	)
}
