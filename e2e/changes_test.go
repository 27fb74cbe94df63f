package e2e

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/informerkit/informerkit/e2e/cluster"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

func TestChangesArriveTypedAndInOrder(t *testing.T) {
	c, ns := shared(t)
	client := widgets(c, ns)
	fill(t, c, ns, 2, 10)
	inf := start(t, listwatch.For[*unstructured.Unstructured](client), informer.Options[*unstructured.Unstructured]{})
	told := newRecorder()
	h := inf.AddHandler(told.handler(), informer.HandlerOptions{})
	if err := h.WaitSynced(patient(t)); err != nil {
		t.Fatal(err)
	}
	for _, e := range told.take() {
		if e.Type != informer.Added || !e.Initial {
			t.Errorf("of the first list: %v %s, initial %v", e.Type, e.Key, e.Initial)
		}
	}

	ctx := patient(t)
	const updates = 20
	created, err := client.Create(ctx, cluster.Widget(ns, "mine", "red", 0, 10), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for size := range updates {
		if err := setSize(ctx, client, "mine", int64(size+1)); err != nil {
			t.Fatal(err)
		}
	}
	status := []byte(`{"status":{"phase":"Ready"}}`)
	if _, err := client.Patch(ctx, "mine", mergePatch, status, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	if err := client.Delete(ctx, "mine", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}

	events, err := told.wait(ctx, func(e []informer.Event[*unstructured.Unstructured]) bool { return len(e) >= updates+3 })
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range events {
		if e.Key != ns+"/mine" || e.Initial || e.Replay {
			t.Fatalf("event %d is %v of %s, initial %v, replay %v", i, e.Type, e.Key, e.Initial, e.Replay)
		}
	}
	if first := events[0]; first.Type != informer.Added || first.New.GetResourceVersion() != created.GetResourceVersion() {
		t.Errorf("first: %v at %s, want Added at %s", first.Type, first.New.GetResourceVersion(), created.GetResourceVersion())
	}
	for i, e := range events[1 : updates+1] {
		size, _, _ := unstructured.NestedInt64(e.New.Object, "spec", "size")
		if e.Type != informer.Updated || size != int64(i+1) {
			t.Errorf("update %d: %v with size %d", i+1, e.Type, size)
		}
	}
	ready := events[updates+1]
	if phase, _, _ := unstructured.NestedString(ready.New.Object, "status", "phase"); ready.Type != informer.Updated || phase != "Ready" {
		t.Errorf("status: %v with phase %q", ready.Type, phase)
	}
	gone := events[updates+2]
	if gone.Type != informer.Deleted || !gone.Final || gone.Old.GetUID() != created.GetUID() || version(gone.Old) <= version(ready.New) {
		t.Errorf("last: %v, final %v, at %d after %d", gone.Type, gone.Final, version(gone.Old), version(ready.New))
	}
	for _, wrong := range told.wrong {
		t.Error(wrong)
	}
}

func TestCutWatchIsResumedWithoutAList(t *testing.T) {
	c, ns := shared(t)
	client := widgets(c, ns)
	fill(t, c, ns, 50, 10)
	inf := start(t, listwatch.For[*unstructured.Unstructured](client), informer.Options[*unstructured.Unstructured]{})
	told := newRecorder()
	inf.AddHandler(told.handler(), informer.HandlerOptions{})
	waitSynced(t, inf)
	catchUp(t, inf, client)
	c.Gate.Requests()
	for round := range 5 {
		if c.Gate.CutWatches() == 0 {
			t.Error("there was no watch to cut")
		}
		if err := client.Delete(patient(t), fmt.Sprintf("w%d", round), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		catchUp(t, inf, client)
	}
	for _, r := range c.Gate.Requests() {
		if r.Lists() || r.Streams() {
			t.Errorf("listed again: %s?%s", r.Path, r.Query.Encode())
		}
	}
	checkCopy(t, inf, client)
	for _, e := range told.take() {
		if e.Type == informer.Deleted && !e.Final {
			t.Errorf("deletion of %s is not final", e.Key)
		}
	}
	for _, wrong := range told.wrong {
		t.Error(wrong)
	}
}

func TestCopyIsRightAgainWhenHistoryIsGone(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Logs: *serverLogs})
	fill(t, c, "default", 200, 100)
	client := widgets(c, "default")
	inf := start(t, listwatch.For[*unstructured.Unstructured](client), informer.Options[*unstructured.Unstructured]{})
	testHistoryGone(t, c, client, inf, c.RestartServer)
}

// testHistoryGone changes everything behind an informer's back, makes the server forget how, and checks what the informer makes of it.
// forget completes the compaction of etcd.
func testHistoryGone(t *testing.T, c *cluster.Cluster, client dynamic.ResourceInterface, inf *informer.Informer[*unstructured.Unstructured], forget func() error) {
	told := newRecorder()
	h := inf.AddHandler(told.handler(), informer.HandlerOptions{})
	if err := h.WaitSynced(patient(t)); err != nil {
		t.Fatal(err)
	}
	catchUp(t, inf, client)
	ctx := patient(t)
	if err := told.has(ctx, "default/mark", version(mustGet(t, inf, "default/mark"))); err != nil {
		t.Fatal(err)
	}
	before := told.states()
	told.take()

	c.Gate.Hold(true)
	c.Gate.CutWatches()
	for i := range 10 {
		name := func(prefix int) string { return fmt.Sprintf("w%d", prefix+i) }
		steps := []error{
			client.Delete(ctx, name(0), metav1.DeleteOptions{}),
			setSize(ctx, client, name(10), 5000),
			client.Delete(ctx, name(20), metav1.DeleteOptions{}),
		}
		_, err := client.Create(ctx, cluster.Widget("", name(20), "red", 1, 10), metav1.CreateOptions{})
		steps = append(steps, err)
		_, err = client.Create(ctx, cluster.Widget("", fmt.Sprintf("new%d", i), "red", 1, 10), metav1.CreateOptions{})
		for _, err := range append(steps, err) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Compact(ctx); err != nil {
		t.Fatal(err)
	}
	if err := forget(); err != nil {
		t.Fatal(err)
	}
	if got := told.take(); len(got) != 0 {
		t.Fatalf("%d events came through while the gate held them", len(got))
	}
	lists := inf.Status().Reflector.Lists
	c.Gate.Hold(false)
	checkCopy(t, inf, client)
	if now := inf.Status().Reflector.Lists; now != lists+1 {
		t.Errorf("%d lists for one loss of history", now-lists)
	}

	want := map[string]string{"default/mark": "Deleted Added"}
	for i := range 10 {
		want[fmt.Sprintf("default/w%d", i)] = "Deleted"
		want[fmt.Sprintf("default/w%d", 10+i)] = "Updated"
		want[fmt.Sprintf("default/w%d", 20+i)] = "Deleted Added"
		want[fmt.Sprintf("default/new%d", i)] = "Added"
	}
	got := map[string]string{}
	if err := told.has(ctx, "default/mark", version(mustGet(t, inf, "default/mark"))); err != nil {
		t.Fatal(err)
	}
	for _, e := range told.take() {
		if got[e.Key] != "" {
			got[e.Key] += " "
		}
		got[e.Key] += e.Type.String()
		if e.Type == informer.Deleted && e.Key != "default/mark" {
			if e.Final {
				t.Errorf("the deletion of %s was missed, yet it is final", e.Key)
			}
			if e.Old == nil {
				t.Errorf("%s deleted without its last known state", e.Key)
			}
		}
	}
	for key, types := range want {
		if got[key] != types {
			t.Errorf("%s: told %q, want %q", key, got[key], types)
		}
	}
	if len(got) != len(want) {
		t.Errorf("told of %d objects, want %d: the others did not change", len(got), len(want))
	}
	for key := range want {
		delete(before, key)
	}
	for key, old := range before {
		if now := mustGet(t, inf, key); now != old {
			t.Errorf("%s did not change, but was replaced by another copy", key)
		}
	}
	for _, wrong := range told.wrong {
		t.Error(wrong)
	}
}

func mustGet(t testing.TB, inf *informer.Informer[*unstructured.Unstructured], key string) *unstructured.Unstructured {
	t.Helper()
	u, ok := inf.Get(key)
	if !ok {
		t.Fatalf("%s is not in the copy", key)
	}
	return u
}
