package e2e

import (
	"context"
	"maps"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/informerkit/informerkit/e2e/cluster"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

type widget = *unstructured.Unstructured

// counting counts the objects that a source gives.
type counting struct {
	listwatch.Source[widget]
	objects *atomic.Int64
}

func (c counting) List(ctx context.Context, opts metav1.ListOptions) (listwatch.Page[widget], error) {
	page, err := c.Source.List(ctx, opts)
	c.objects.Add(int64(len(page.Items)))
	return page, err
}

func (c counting) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[widget], error) {
	stream, err := c.Source.Watch(ctx, opts)
	if err != nil {
		return nil, err
	}
	return countingStream{stream, c.objects}, nil
}

type countingStream struct {
	listwatch.Stream[widget]
	objects *atomic.Int64
}

func (c countingStream) Next(ctx context.Context) ([]listwatch.Event[widget], error) {
	events, err := c.Stream.Next(ctx)
	for n := range events {
		if events[n].Type != listwatch.Bookmark {
			c.objects.Add(1)
		}
	}
	return events, err
}

// A real server sends a shard and no more, in lists and watches, also to an informer that moves from one to another; and what is
// held agrees with the server.
func TestServerSendsTheShardOnly(t *testing.T) {
	c := cluster.Start(t, cluster.Options{Sharding: true, Logs: *serverLogs})
	ctx := patient(t)
	fill(t, c, "shards", 200, 100)
	client := widgets(c, "shards")
	all, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	part := func(index, count int) listwatch.Shard {
		shard, err := listwatch.EqualShard(listwatch.ShardByUID, index, count)
		if err != nil {
			t.Fatal(err)
		}
		return shard
	}
	want := func(shard listwatch.Shard) map[string]string {
		m := map[string]string{}
		for _, w := range all.Items {
			if shard.Has(string(w.GetUID()), w.GetNamespace()) {
				m[w.GetNamespace()+"/"+w.GetName()] = w.GetResourceVersion()
			}
		}
		return m
	}

	var sent atomic.Int64
	source := counting{listwatch.For[widget](dynamic.NewForConfigOrDie(c.Config()).Resource(cluster.Widgets).Namespace("shards")), &sent}
	inf := start[widget](t, source, informer.Options[widget]{Shard: part(0, 4)})
	check := func(shard listwatch.Shard, objects int) {
		t.Helper()
		got := map[string]string{}
		for key, w := range inf.Snapshot().All() {
			got[key] = w.GetResourceVersion()
		}
		if !maps.Equal(got, want(shard)) {
			t.Errorf("%v: %d objects, want %d", shard, len(got), len(want(shard)))
		}
		if n := sent.Swap(0); n != int64(objects) {
			t.Errorf("%v: the server sent %d objects, want %d", shard, n, objects)
		}
	}
	if err := inf.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
	check(part(0, 4), len(want(part(0, 4))))

	if err := inf.Reshard(ctx, part(0, 2)); err != nil {
		t.Fatal(err)
	}
	check(part(0, 2), len(want(part(1, 4))))

	if err := inf.Reshard(ctx, part(1, 4)); err != nil {
		t.Fatal(err)
	}
	check(part(1, 4), 0)

	for _, w := range all.Items[:50] {
		if err := setSize(ctx, client, w.GetName(), 1000); err != nil {
			t.Fatal(err)
		}
	}
	if all, err = client.List(ctx, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	updated := 0
	for _, w := range all.Items {
		if size, _, _ := unstructured.NestedInt64(w.Object, "spec", "size"); size == 1000 && part(1, 4).Has(string(w.GetUID()), "") {
			updated++
			if err := inf.WaitFor(ctx, w.GetResourceVersion()); err != nil {
				t.Fatal(err)
			}
		}
	}
	check(part(1, 4), updated)

	found, err := inf.Verify(ctx)
	if err != nil || len(found.Drift) != 0 || found.Objects != len(want(part(1, 4))) {
		t.Errorf("verified: %+v, %v", found, err)
	}
}
