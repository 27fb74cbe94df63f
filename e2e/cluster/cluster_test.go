package cluster

import (
	"context"
	"fmt"
	"reflect"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
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

func TestCluster(t *testing.T) {
	c := Start(t, Options{})
	client := dynamic.NewForConfigOrDie(c.Config())
	t.Run("creates many widgets at once", func(t *testing.T) { fill(t, client, 300) })
	t.Run("reports the first error of creating", func(t *testing.T) {
		err := CreateWidgets(testContext(t), client, 2, func(int) *unstructured.Unstructured {
			return Widget("other", "same", "red", 1, 0)
		})
		if !apierrors.IsAlreadyExists(err) {
			t.Errorf("creating a widget twice: %v", err)
		}
	})
	t.Run("pages, watches, and cuts watches", func(t *testing.T) { testListAndWatch(t, c, client) })
	t.Run("answers discovery", func(t *testing.T) { testDiscovery(t, c) })
	t.Run("refuses what it is told to refuse", func(t *testing.T) { testRefusals(t, c) })
	t.Run("keeps its data when restarted", func(t *testing.T) { testRestarts(t, c, client) })
	t.Run("loses history when compacted and restarted", func(t *testing.T) { testHistoryLoss(t, c, client, c.RestartServer) })
}

func TestClusterWithoutWatchCacheLosesHistoryWhenCompacted(t *testing.T) {
	c := Start(t, Options{NoWatchCache: true})
	testHistoryLoss(t, c, dynamic.NewForConfigOrDie(c.Config()), func() error { return nil })
}

func testListAndWatch(t *testing.T, c *Cluster, client dynamic.Interface) {
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
	w, err := client.Resource(Widgets).Watch(testContext(t), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	late := Widget("default", "late", "blue", 1, 0)
	if _, err := client.Resource(Widgets).Namespace("default").Create(testContext(t), late, metav1.CreateOptions{}); err != nil {
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

func testDiscovery(t *testing.T, c *Cluster) {
	cached := memory.NewMemCacheClient(discovery.NewDiscoveryClientForConfigOrDie(c.Config()))
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	for _, name := range []string{"widgets", "widget", "wd"} {
		got, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: name})
		if err != nil || got != Widgets {
			t.Errorf("%s is %v, %v; want %v", name, got, err, Widgets)
		}
	}
	if _, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: "gadgets"}); !meta.IsNoMatchError(err) {
		t.Errorf("gadgets: %v", err)
	}
}

func testRefusals(t *testing.T, c *Cluster) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig(t, clientcmdapi.AuthInfo{Token: "mine"}))
	if err != nil {
		t.Fatal(err)
	}
	client := dynamic.NewForConfigOrDie(config)
	defer c.Gate.Authenticate(nil)
	c.Gate.Authenticate(func(token string) bool { return token == "mine" })
	try := func() error {
		w, err := client.Resource(Widgets).Watch(testContext(t), metav1.ListOptions{})
		if err == nil {
			w.Stop()
		}
		return err
	}
	c.Gate.Hold(true)
	if err := try(); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("held: %v", err)
	}
	c.Gate.Hold(false)
	c.Gate.Expire(1)
	if err := try(); !apierrors.IsResourceExpired(err) {
		t.Errorf("expired: %v", err)
	}
	if err := try(); err != nil {
		t.Errorf("after the expiry: %v", err)
	}
	c.Gate.Authenticate(func(token string) bool { return token == "other" })
	if err := try(); !apierrors.IsUnauthorized(err) {
		t.Errorf("wrong token: %v", err)
	}
}

func testRestarts(t *testing.T, c *Cluster, client dynamic.Interface) {
	before, err := client.Resource(Widgets).List(testContext(t), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.StopServer()
	if _, err := client.Resource(Widgets).List(testContext(t), metav1.ListOptions{}); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("list while the server is down: %v", err)
	}
	if err := c.RestartEtcd(testContext(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.StartServer(); err != nil {
		t.Fatal(err)
	}
	after, err := client.Resource(Widgets).List(testContext(t), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(after.Items) == 0 || !reflect.DeepEqual(before.Items, after.Items) {
		t.Errorf("%d widgets before the restart, %d after, or others", len(before.Items), len(after.Items))
	}
}

// testHistoryLoss watches from before a compaction that forget completes.
func testHistoryLoss(t *testing.T, c *Cluster, client dynamic.Interface, forget func() error) {
	old, err := client.Resource(Widgets).List(testContext(t), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = CreateWidgets(testContext(t), client, 10, func(i int) *unstructured.Unstructured {
		return Widget("new", fmt.Sprintf("n%d", i), "red", int64(i), 10)
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing left to do
		if err := c.Compact(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
	if err := forget(); err != nil {
		t.Fatal(err)
	}
	w, err := client.Resource(Widgets).Watch(testContext(t), metav1.ListOptions{ResourceVersion: old.GetResourceVersion()})
	if err == nil {
		defer w.Stop()
		err = apierrors.FromObject((<-w.ResultChan()).Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("watch from before the compaction: %v", err)
	}
}
