package e2e

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/informerkit/informerkit/e2e/cluster"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

func TestStoppedInformerRunsAgain(t *testing.T) {
	c, ns := shared(t)
	fill(t, c, ns, 10, 10)
	client := widgets(c, ns)
	inf, err := informer.New(listwatch.For[*unstructured.Unstructured](client), informer.Options[*unstructured.Unstructured]{
		Reflector: reflector.Options{Backoff: quickly},
	})
	if err != nil {
		t.Fatal(err)
	}
	told := newRecorder()
	h := inf.AddHandler(told.handler(), informer.HandlerOptions{})
	stop := run(t, inf)
	if err := h.WaitSynced(patient(t)); err != nil {
		t.Fatal(err)
	}
	stop()
	told.take()
	kept := mustGet(t, inf, ns+"/w5")

	ctx := patient(t)
	_, err = client.Create(ctx, cluster.Widget(ns, "later", "red", 1, 10), metav1.CreateOptions{})
	err = errors.Join(err, client.Delete(ctx, "w1", metav1.DeleteOptions{}), setSize(ctx, client, "w2", 200))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := inf.Get(ns + "/w1"); !ok || inf.Len() != 10 {
		t.Errorf("a stopped informer keeps what it has: %d objects", inf.Len())
	}

	run(t, inf)
	checkCopy(t, inf, client)
	if err := told.has(ctx, ns+"/mark", version(mustGet(t, inf, ns+"/mark"))); err != nil {
		t.Fatal(err)
	}
	got := map[string]informer.EventType{}
	for _, e := range told.take() {
		got[e.Key] = e.Type
	}
	want := map[string]informer.EventType{
		ns + "/later": informer.Added, ns + "/w1": informer.Deleted, ns + "/w2": informer.Updated, ns + "/mark": informer.Added,
	}
	for key, typ := range want {
		if got[key] != typ {
			t.Errorf("%s: told %v, want %v", key, got[key], typ)
		}
	}
	if len(got) != len(want) {
		t.Errorf("told of %v, want of %v only", got, want)
	}
	if mustGet(t, inf, ns+"/w5") != kept {
		t.Error("an object that did not change is another one after the restart")
	}
	for _, wrong := range told.wrong {
		t.Error(wrong)
	}
}

func TestDefinitionComesAndGoes(t *testing.T) {
	c, ns := shared(t)
	gizmos := schema.GroupVersionResource{Group: cluster.Widgets.Group, Version: "v1", Resource: "gizmos"}
	client := dynamic.NewForConfigOrDie(c.Config()).Resource(gizmos).Namespace(ns)
	follow := func(policy reflector.NotFoundPolicy) (*informer.Informer[*unstructured.Unstructured], <-chan error) {
		inf, err := informer.New(listwatch.For[*unstructured.Unstructured](client), informer.Options[*unstructured.Unstructured]{
			Name: "gizmos", Reflector: reflector.Options{Backoff: quickly, OnNotFound: policy},
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done, ended := make(chan error, 1), make(chan struct{})
		go func() { done <- inf.Run(ctx); close(ended) }()
		t.Cleanup(func() { cancel(); <-ended })
		return inf, done
	}
	define := func() {
		t.Helper()
		if err := cluster.Define(patient(t), c.Config(), gizmos, "Gizmo"); err != nil {
			t.Fatal(err)
		}
		gizmo := cluster.Widget(ns, "g", "red", 1, 10)
		gizmo.SetGroupVersionKind(gizmos.GroupVersion().WithKind("Gizmo"))
		if _, err := client.Create(patient(t), gizmo, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}

	// Not there yet: whoever waits is told so, and served once it comes.
	clearing, _ := follow(reflector.NotFoundClear)
	ctx, cancel := context.WithCancelCause(t.Context())
	impatient := errors.New("waited long enough")
	go func() {
		for clearing.Status().Reflector.LastError == nil && t.Context().Err() == nil {
			pause(t.Context(), quickly.Initial)
		}
		cancel(impatient)
	}()
	if err := clearing.WaitSynced(ctx); !apierrors.IsNotFound(err) || !errors.Is(err, impatient) {
		t.Errorf("before the definition: %v", err)
	}
	told := newRecorder()
	clearing.AddHandler(told.handler(), informer.HandlerOptions{})
	define()
	waitSynced(t, clearing)
	first := len(told.wrong)
	if _, err := told.wait(patient(t), func(e []informer.Event[*unstructured.Unstructured]) bool { return len(e) == 1 }); err != nil {
		t.Fatal(err)
	}
	stopping, stopped := follow(reflector.NotFoundStop)
	waitSynced(t, stopping)

	if err := cluster.Undefine(patient(t), c.Config(), gizmos); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-stopped:
		if !apierrors.IsNotFound(err) {
			t.Errorf("Run with NotFoundStop: %v", err)
		}
	case <-patient(t).Done():
		t.Error("Run with NotFoundStop goes on without the definition")
	}
	events, err := told.wait(patient(t), func(e []informer.Event[*unstructured.Unstructured]) bool { return len(e) >= 2 })
	if err != nil {
		t.Fatal(err)
	}
	if e := events[1]; e.Type != informer.Deleted || e.Key != ns+"/g" || clearing.Len() != 0 {
		t.Errorf("after the definition: %v of %s, %d objects", e.Type, e.Key, clearing.Len())
	}

	define()
	events, err = told.wait(patient(t), func(e []informer.Event[*unstructured.Unstructured]) bool { return len(e) >= 3 })
	if err != nil {
		t.Fatal(err)
	}
	if e := events[2]; e.Type != informer.Added || e.New.GetUID() == events[0].New.GetUID() {
		t.Errorf("after its return: %v of %s", e.Type, e.Key)
	}
	if len(told.wrong) > first {
		t.Error(told.wrong)
	}
	if err := cluster.Undefine(patient(t), c.Config(), gizmos); err != nil {
		t.Fatal(err)
	}
}
