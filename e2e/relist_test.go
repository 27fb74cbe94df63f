package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/informerkit/informerkit/e2e/cluster"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// The roles of a child.
const (
	oursStreaming     = "informer=ours,list=streaming"
	oursPages         = "informer=ours,list=pages"
	clientGoStreaming = "informer=client-go,list=streaming"
	clientGoPages     = "informer=client-go,list=pages"
)

// relistPage is the page size of a relist of so many objects: a hundredth, so that a page more in memory is a hundredth more.
func relistPage(objects int) int64 { return int64(objects) / 100 }

// pageEnv tells a child the page size.
const pageEnv = "INFORMERKIT_E2E_PAGE"

// endMark is a widget that a relist lists last: who is told of it has been told of all.
const endMark = "zz-mark"

// figures are what a child measured over a forced relist in which nothing had changed.
type figures struct {
	Objects  int
	Live     uint64 // bytes reachable before it
	PeakLive uint64 // most bytes that a collection found reachable during it
	PeakHeap uint64 // most bytes of objects in the heap, garbage included
	Updates  int64  // updates told to the handler
}

func (f figures) peak() float64 { return float64(f.PeakLive) / float64(f.Live) }

// TestForcedRelistNeedsNoSecondCopy holds the promise on relists to a real server's.
func TestForcedRelistNeedsNoSecondCopy(t *testing.T) {
	objects := 4000
	if testing.Short() {
		objects = 1500
	}
	c, ns := shared(t)
	fill(t, c, ns, objects, 2000)
	for _, role := range []string{oursStreaming, oursPages} {
		t.Run(role, func(t *testing.T) {
			f := forceRelist(t, c, ns, role, objects)
			t.Logf("%d objects, live %d MB, peak %.2f of it (with garbage %.2f), %d updates",
				f.Objects, f.Live>>20, f.peak(), float64(f.PeakHeap)/float64(f.Live), f.Updates)
			if f.Objects != objects {
				t.Errorf("%d objects, want %d", f.Objects, objects)
			}
			if f.Updates != 0 {
				t.Errorf("%d updates although nothing changed", f.Updates)
			}
			if f.peak() > 1.15 {
				t.Errorf("peak is %.2f of the live set", f.peak())
			}
		})
	}
}

// BenchmarkForcedRelist reports the memory that a relist of unchanged objects takes, ours and client-go's beside it.
func BenchmarkForcedRelist(b *testing.B) {
	const objects, ns = 20000, "benchmarkforcedrelist"
	c, _ := shared(b)
	fill(b, c, ns, objects, 2000)
	for _, role := range []string{oursStreaming, clientGoStreaming, oursPages, clientGoPages} {
		b.Run(fmt.Sprintf("objects=%d,%s", objects, role), func(b *testing.B) {
			var sum figures
			for b.Loop() {
				f := forceRelist(b, c, ns, role, objects)
				sum.Live += f.Live
				sum.PeakLive += f.PeakLive
				sum.PeakHeap += f.PeakHeap
				sum.Updates += f.Updates
			}
			b.ReportMetric(float64(sum.Live)/float64(b.N)/(1<<20), "live-MB")
			b.ReportMetric(sum.peak(), "peak/live")
			b.ReportMetric(float64(sum.PeakHeap)/float64(sum.Live), "heap/live")
			b.ReportMetric(float64(sum.Updates)/float64(b.N), "updates")
		})
	}
}

// forceRelist makes a child list again by answering 410 to its watch.
func forceRelist(tb testing.TB, c *cluster.Cluster, namespace, role string, objects int) figures {
	tb.Helper()
	env := []string{pageEnv + "=" + strconv.FormatInt(relistPage(objects), 10)}
	if role == clientGoPages {
		env = append(env, "KUBE_FEATURE_WatchListClient=false")
	}
	child := startChild(tb, c, namespace, role, env...)
	child.expect(tb, "synced")
	client := widgets(c, namespace)
	child.say(tb, "relist")
	child.expect(tb, "ready")
	c.Gate.Requests()
	c.Gate.Expire(1)
	c.Gate.CutWatches() // after a paged list it may be about to open its first one, which is then refused
	// The child must have been refused before it can see the mark without a relist.
	mark := cluster.Widget(namespace, endMark, "grey", 0, 0)
	if _, err := client.Create(tb.Context(), mark, metav1.CreateOptions{}); err != nil {
		tb.Fatal(err)
	}
	f := child.finish(tb)
	listed := false
	for _, r := range c.Gate.Requests() {
		listed = listed || r.Lists() || r.Streams()
	}
	if !listed {
		tb.Error("the child did not list again")
	}
	if err := client.Delete(tb.Context(), endMark, metav1.DeleteOptions{}); err != nil {
		tb.Fatal(err)
	}
	return f
}

// measureRelist is the child's part: see childMain.
func measureRelist(ctx context.Context, role, kubeconfig, namespace string, in *bufio.Reader, out io.Writer) (figures, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return figures{}, err
	}
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return figures{}, err
	}
	w := &watcher{marked: make(chan struct{})}
	follow := w.followOurs
	if role == clientGoStreaming || role == clientGoPages {
		follow = w.followClientGo
	}
	ctx, cancel := context.WithCancel(ctx)
	stop, err := follow(ctx, client.Resource(cluster.Widgets).Namespace(namespace), role)
	if err != nil {
		cancel()
		return figures{}, err
	}
	defer stop()
	defer cancel()
	fmt.Fprintln(out, "synced")
	if _, err := in.ReadString('\n'); err != nil {
		return figures{}, err
	}
	// Collections that come often leave no time for a peak to go unseen.
	debug.SetGCPercent(10)
	runtime.GC()
	runtime.GC()
	f := figures{Objects: w.count(), Live: sample().live}
	w.updates.Store(0)
	peaks := startSampling()
	fmt.Fprintln(out, "ready")
	<-w.marked
	peak := peaks()
	f.PeakLive, f.PeakHeap, f.Updates = peak.live, peak.heap, w.updates.Load()
	return f, nil
}

// watcher follows widgets with one informer or the other.
type watcher struct {
	count   func() int
	updates atomic.Int64
	once    sync.Once
	marked  chan struct{} // closed when the handler is told of the mark
}

func (w *watcher) added(u *unstructured.Unstructured) {
	if u.GetName() == endMark {
		w.once.Do(func() { close(w.marked) })
	}
}

func (w *watcher) followOurs(ctx context.Context, client dynamic.ResourceInterface, role string) (stop func(), err error) {
	opts := reflector.Options{Streaming: reflector.StreamingOn, Backoff: quickly}
	if role == oursPages {
		size, err := strconv.ParseInt(os.Getenv(pageEnv), 10, 64)
		if err != nil {
			return nil, err
		}
		opts.Streaming, opts.PageSize = reflector.StreamingOff, size
	}
	inf, err := informer.New(listwatch.For[*unstructured.Unstructured](client), informer.Options[*unstructured.Unstructured]{Reflector: opts})
	if err != nil {
		return nil, err
	}
	h := inf.AddHandler(informer.Handler[*unstructured.Unstructured]{
		Added:   w.added,
		Updated: func(_, _ *unstructured.Unstructured) { w.updates.Add(1) },
	}, informer.HandlerOptions{})
	w.count = inf.Len
	done := make(chan error, 1)
	go func() { done <- inf.Run(ctx) }()
	return func() { <-done }, h.WaitSynced(ctx)
}

func (w *watcher) followClientGo(ctx context.Context, client dynamic.ResourceInterface, role string) (stop func(), err error) {
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (kruntime.Object, error) {
			return client.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, opts)
		},
	}
	inf := cache.NewSharedIndexInformer(source, &unstructured.Unstructured{}, 0, cache.Indexers{})
	h, err := inf.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { w.added(obj.(*unstructured.Unstructured)) },
		UpdateFunc: func(_, _ any) { w.updates.Add(1) },
	})
	if err != nil {
		return nil, err
	}
	w.count = func() int { return len(inf.GetStore().ListKeys()) }
	var done sync.WaitGroup
	done.Go(func() { inf.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), h.HasSynced) {
		return nil, context.Cause(ctx)
	}
	return done.Wait, nil
}

// heapSample is a reading of the runtime's counters.
type heapSample struct{ live, heap uint64 }

func sample() heapSample {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return heapSample{s[0].Value.Uint64(), s[1].Value.Uint64()}
}

// startSampling samples until the function it returns is called, which returns the highest readings.
func startSampling() (stop func() heapSample) {
	quit, done := make(chan struct{}), make(chan heapSample)
	go func() {
		var peak heapSample
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			now := sample()
			peak = heapSample{max(peak.live, now.live), max(peak.heap, now.heap)}
			select {
			case <-tick.C:
			case <-quit:
				done <- peak
				return
			}
		}
	}()
	return func() heapSample { close(quit); return <-done }
}
