package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func fill(t *testing.T, client dynamic.Interface, n int) {
	t.Helper()
	start := time.Now()
	err := CreateWidgets(testContext(t), client, n, func(i int) *unstructured.Unstructured {
		return Widget("default", fmt.Sprintf("w%d", i), "red", int64(i), 10)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d widgets in %v", n, time.Since(start).Round(time.Millisecond))
}

// open opens a watch from rv and fails the test if it is refused.
func open(t *testing.T, client dynamic.Interface, rv string) watch.Interface {
	t.Helper()
	w, err := client.Resource(Widgets).Watch(testContext(t), metav1.ListOptions{ResourceVersion: rv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

func TestClusterServesListsAndWatches(t *testing.T) {
	c := Start(t, Options{})
	client := dynamic.NewForConfigOrDie(c.Config())
	fill(t, client, 300)
	c.Gate.Requests()
	list, err := client.Resource(Widgets).List(testContext(t), metav1.ListOptions{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 100 || list.GetContinue() == "" {
		t.Fatalf("first page: %d items, continue %q", len(list.Items), list.GetContinue())
	}
	if asked := c.Gate.Requests(); len(asked) != 1 || !asked[0].Lists() || asked[0].Query.Get("limit") != "100" {
		t.Fatalf("the gate noted %+v", asked)
	}
	w := open(t, client, list.GetResourceVersion())
	fill2 := Widget("default", "late", "blue", 1, 0)
	if _, err := client.Resource(Widgets).Namespace("default").Create(testContext(t), fill2, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	event := <-w.ResultChan()
	if u, ok := event.Object.(*unstructured.Unstructured); !ok || event.Type != watch.Added || u.GetName() != "late" {
		t.Fatalf("got %v %v", event.Type, event.Object)
	}
	if n := c.Gate.CutWatches(); n != 1 {
		t.Fatalf("cut %d watches, want 1", n)
	}
	for range w.ResultChan() { // ends because the watch was cut
	}
}

func TestCompactionAndRestartExpireHistory(t *testing.T) {
	for _, opts := range []Options{{}, {NoWatchCache: true}} {
		t.Run(fmt.Sprintf("NoWatchCache=%v", opts.NoWatchCache), func(t *testing.T) {
			c := Start(t, opts)
			client := dynamic.NewForConfigOrDie(c.Config())
			old, err := client.Resource(Widgets).List(testContext(t), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			fill(t, client, 10)
			if err := c.Compact(testContext(t)); err != nil {
				t.Fatal(err)
			}
			if err := c.RestartServer(); err != nil {
				t.Fatal(err)
			}
			w, err := client.Resource(Widgets).Watch(testContext(t), metav1.ListOptions{ResourceVersion: old.GetResourceVersion()})
			if err == nil {
				defer w.Stop()
				err = apierrors.FromObject((<-w.ResultChan()).Object)
			}
			if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
				t.Fatalf("watch from before the compaction: %v", err)
			}
		})
	}
}

func TestDataSurvivesRestarts(t *testing.T) {
	c := Start(t, Options{})
	client := dynamic.NewForConfigOrDie(c.Config())
	fill(t, client, 20)
	c.StopServer()
	if _, err := client.Resource(Widgets).List(testContext(t), metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Fatalf("list while the server is down: %v", err)
	}
	if err := c.RestartEtcd(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.StartServer(); err != nil {
		t.Fatal(err)
	}
	list, err := client.Resource(Widgets).List(testContext(t), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 20 {
		t.Fatalf("%d widgets after the restart, want 20", len(list.Items))
	}
}

func TestGateRefusesWhatItIsToldToRefuse(t *testing.T) {
	c := Start(t, Options{})
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig(t, clientcmdapi.AuthInfo{Token: "mine"}))
	if err != nil {
		t.Fatal(err)
	}
	client := dynamic.NewForConfigOrDie(config)
	watchError := func(opts metav1.ListOptions) error {
		w, err := client.Resource(Widgets).Watch(testContext(t), opts)
		if err == nil {
			w.Stop()
		}
		return err
	}
	c.Gate.Authenticate(func(token string) bool { return token == "mine" })
	c.Gate.HoldWatches(true)
	if err := watchError(metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("held: %v", err)
	}
	c.Gate.HoldWatches(false)
	c.Gate.Expire(1)
	if err := watchError(metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("expired: %v", err)
	}
	if err := watchError(metav1.ListOptions{}); err != nil {
		t.Errorf("after the expiry: %v", err)
	}
	c.Gate.Authenticate(func(token string) bool { return token == "other" })
	if err := watchError(metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("wrong token: %v", err)
	}
}

func TestCreateWidgetsReportsTheFirstError(t *testing.T) {
	c := Start(t, Options{})
	client := dynamic.NewForConfigOrDie(c.Config())
	err := CreateWidgets(testContext(t), client, 2, func(int) *unstructured.Unstructured {
		return Widget("default", "same", "red", 1, 0)
	})
	var status *apierrors.StatusError
	if !errors.As(err, &status) || status.Status().Code != http.StatusConflict {
		t.Fatalf("creating a widget twice: %v", err)
	}
}
