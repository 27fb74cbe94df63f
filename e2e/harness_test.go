package e2e

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/informerkit/informerkit/e2e/cluster"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

var serverLogs = flag.Bool("server-logs", false, "let etcd and the API server write their logs")

// patience bounds every wait of a test that has only good news to wait for.
const patience = 60 * time.Second

// quickly is a back-off that doesn't keep a test waiting.
var quickly = reflector.Backoff{Initial: 20 * time.Millisecond, Max: 200 * time.Millisecond, Factor: 2, Jitter: 0.5, ResetAfter: time.Second}

func TestMain(m *testing.M) {
	flag.Parse()
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(childMain(role))
	}
	log.SetLogger(logr.Discard()) // controller-runtime's
	code := m.Run()
	if sharedCluster != nil {
		sharedCluster.Stop()
		os.RemoveAll(sharedDir)
	}
	os.Exit(code)
}

var (
	sharedOnce    sync.Once
	sharedCluster *cluster.Cluster
	sharedDir     string
	sharedErr     error
)

// shared gives the cluster that tests share, and a namespace of the test's own. No test may leave a fault in it.
func shared(t testing.TB) (c *cluster.Cluster, namespace string) {
	t.Helper()
	sharedOnce.Do(func() {
		if sharedDir, sharedErr = os.MkdirTemp("", "e2e"); sharedErr == nil {
			sharedCluster, sharedErr = cluster.New(sharedDir, cluster.Options{Logs: *serverLogs})
		}
	})
	if sharedErr != nil {
		t.Fatal(sharedErr)
	}
	return sharedCluster, strings.ToLower(strings.NewReplacer("/", "-", "_", "-", "=", "-").Replace(t.Name()))
}

func patient(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// widgets is the client of one namespace.
func widgets(c *cluster.Cluster, namespace string) dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(c.Config()).Resource(cluster.Widgets).Namespace(namespace)
}

// fill creates widgets w0 to w(n-1).
func fill(t testing.TB, c *cluster.Cluster, namespace string, n, payload int) {
	t.Helper()
	client := dynamic.NewForConfigOrDie(c.Config())
	err := cluster.CreateWidgets(t.Context(), client, n, func(i int) *unstructured.Unstructured {
		return cluster.Widget(namespace, fmt.Sprintf("w%d", i), colors[i%len(colors)], int64(i), payload)
	})
	if err != nil {
		t.Fatal(err)
	}
}

var colors = []string{"red", "green", "blue"}

// setSize updates a widget, whatever its resource version.
func setSize(ctx context.Context, client dynamic.ResourceInterface, name string, size int64) error {
	patch := fmt.Appendf(nil, `{"spec":{"size":%d}}`, size)
	_, err := client.Patch(ctx, name, mergePatch, patch, metav1.PatchOptions{})
	return err
}

// start runs an informer until the test ends, and then checks that nothing of it goes on.
func start[T any](t testing.TB, source listwatch.Source[T], opts informer.Options[T]) *informer.Informer[T] {
	t.Helper()
	if opts.Reflector.Backoff == (reflector.Backoff{}) {
		opts.Reflector.Backoff = quickly
	}
	inf, err := informer.New(source, opts)
	if err != nil {
		t.Fatal(err)
	}
	run(t, inf)
	return inf
}

// run runs inf until the test ends or stop is called.
func run[T any](t testing.TB, inf *informer.Informer[T]) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- inf.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if left := ownGoroutines(); len(left) > 0 {
			t.Errorf("%d goroutines left when Run returned:\n%s", len(left), strings.Join(left, "\n\n"))
		}
	})
	t.Cleanup(stop)
	return stop
}

// ownGoroutines returns the stacks of goroutines that are in, or were started by, the packages under test.
func ownGoroutines() []string {
	buf := make([]byte, 16<<20)
	stacks := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	return slices.DeleteFunc(stacks, func(stack string) bool {
		for _, pkg := range []string{"informer", "reflector", "feed", "store", "listwatch"} {
			if strings.Contains(stack, "github.com/informerkit/informerkit/"+pkg+".") {
				return false
			}
		}
		return true
	})
}

func waitSynced[T any](t testing.TB, inf *informer.Informer[T]) {
	t.Helper()
	if err := inf.WaitSynced(patient(t)); err != nil {
		t.Fatal(err)
	}
}

// catchUp waits until the informer has seen everything that was written before.
func catchUp[T any](t testing.TB, inf *informer.Informer[T], client dynamic.ResourceInterface) {
	t.Helper()
	ctx := patient(t)
	mark := cluster.Widget("", "mark", "grey", time.Now().UnixNano(), 0)
	if err := client.Delete(ctx, "mark", metav1.DeleteOptions{}); err != nil && !isNotFound(err) {
		t.Fatal(err)
	}
	written, err := client.Create(ctx, mark, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := inf.WaitFor(ctx, written.GetResourceVersion()); err != nil {
		t.Fatal(err)
	}
}

// onServer lists what the server has, by key.
func onServer(t testing.TB, client dynamic.ResourceInterface) map[string]*unstructured.Unstructured {
	t.Helper()
	list, err := client.List(patient(t), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		u := &list.Items[i]
		out[u.GetNamespace()+"/"+u.GetName()] = u
	}
	return out
}

// checkCopy compares the informer's copy with the server, object by object. Nobody may be writing.
func checkCopy(t testing.TB, inf *informer.Informer[*unstructured.Unstructured], client dynamic.ResourceInterface) {
	t.Helper()
	catchUp(t, inf, client)
	compare(t, "the copy", maps.Collect(inf.Snapshot().All()), onServer(t, client))
}

// compare reports each difference, up to a few.
func compare(t testing.TB, what string, got, want map[string]*unstructured.Unstructured) {
	t.Helper()
	wrong := 0
	report := func(format string, args ...any) {
		if wrong++; wrong <= 5 {
			t.Errorf("%s: "+format, append([]any{what}, args...)...)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		switch g, ok := got[key]; {
		case !ok:
			report("lacks %s", key)
		case !reflect.DeepEqual(g, want[key]):
			report("%s is\n%v\nwant\n%v", key, g, want[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			report("has %s, which is not on the server", key)
		}
	}
	if wrong > 5 {
		t.Errorf("%s: %d differences more", what, wrong-5)
	}
}
