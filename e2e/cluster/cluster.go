package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	servertesting "k8s.io/apiextensions-apiserver/pkg/cmd/server/testing"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
)

// startTimeout bounds every start of a server; it takes about a second.
const startTimeout = 60 * time.Second

// Options configures [Start]. The zero value works.
type Options struct {
	// NoWatchCache makes the API server answer lists and watches from etcd, as it does for types whose watch cache is off:
	// it pages, and it has no streaming lists.
	NoWatchCache bool
	// Sharding turns the feature gate ShardedListAndWatch on, so that the server gives shards. Gates are the process's, so it
	// is on for the servers of other clusters from then on, too.
	Sharding bool
	// Logs lets the servers write their logs to standard error.
	Logs bool
}

// Cluster is a running API server with its etcd and its [Gate]. The methods that start and stop things are safe for
// concurrent use: they follow one another.
type Cluster struct {
	Gate *Gate

	opts Options
	dir  string

	mu   sync.Mutex // guards what follows, and is held while a server starts or stops
	etcd etcd
	api  *servertesting.TestServer // nil while stopped
}

// Start brings a cluster up, with the [Widgets] resource served, and takes it down when the test has ended.
func Start(tb testing.TB, opts Options) *Cluster {
	tb.Helper()
	c, err := New(tb.TempDir(), opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Stop)
	return c
}

// New is [Start] for a cluster that outlives a test: it keeps its data in dir, and runs until [Cluster.Stop].
func New(dir string, opts Options) (*Cluster, error) {
	if !opts.Logs {
		klog.SetLoggerWithOptions(logr.Discard(), klog.ContextualLogger(true))
	}
	c := &Cluster{opts: opts, dir: dir, etcd: etcd{dir: filepath.Join(dir, "etcd"), logs: opts.Logs}}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if err := c.etcd.start(ctx); err != nil {
		return nil, err
	}
	c.Gate = newGate()
	if err := c.startServer(); err != nil {
		c.Stop()
		return nil, err
	}
	if err := Define(ctx, c.Config(), Widgets, WidgetKind.Kind, "wd"); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// Stop stops everything, for good.
func (c *Cluster) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopServer()
	c.Gate.close()
	c.etcd.stop()
}

// Config is a client configuration for the gate, without a client-side rate limit. The caller owns it.
func (c *Cluster) Config() *rest.Config { return c.Gate.config() }

// Kubeconfig writes a kubeconfig file for the gate whose user is user, and returns its path. The zero AuthInfo stands for a
// user whom the gate accepts unless [Gate.Authenticate] says otherwise.
func (c *Cluster) Kubeconfig(tb testing.TB, user clientcmdapi.AuthInfo) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	cfg := c.Config()
	err := clientcmd.WriteToFile(kubeconfig(cfg.Host, cfg.CAData, user), path)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func kubeconfig(server string, ca []byte, user clientcmdapi.AuthInfo) clientcmdapi.Config {
	out := clientcmdapi.NewConfig()
	out.Clusters["e2e"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	out.AuthInfos["e2e"] = &user
	out.Contexts["e2e"] = &clientcmdapi.Context{Cluster: "e2e", AuthInfo: "e2e", Namespace: "default"}
	out.CurrentContext = "e2e"
	return *out
}

// Compact drops etcd's history before now. The API server's watch cache still has it; see [Cluster.RestartServer].
func (c *Cluster) Compact(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.etcd.compact(ctx)
}

// RestartEtcd stops etcd and starts it again on the same data and address. Requests fail meanwhile.
func (c *Cluster) RestartEtcd(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.etcd.stop()
	return c.etcd.start(ctx)
}

// RestartServer stops the API server, which ends all watches, and starts it again. The gate answers 503 meanwhile.
func (c *Cluster) RestartServer() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopServer()
	return c.startServer()
}

// StopServer stops the API server; the gate answers 503 until [Cluster.StartServer].
func (c *Cluster) StopServer() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopServer()
}

// StartServer starts a stopped API server.
func (c *Cluster) StartServer() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startServer()
}

func (c *Cluster) stopServer() {
	if c.api == nil {
		return
	}
	c.Gate.setBackend(nil, nil)
	c.Gate.CutWatches() // the server waits a minute for them
	c.api.TearDownFn()
	c.api = nil
}

func (c *Cluster) startServer() error {
	if c.api != nil {
		return errors.New("start the API server: it is running")
	}
	// The server insists on a kubeconfig for delegated checks, which its own loopback client never needs.
	unused := filepath.Join(c.dir, "unused-kubeconfig")
	nobody := kubeconfig("http://127.0.0.1:1", nil, clientcmdapi.AuthInfo{})
	if err := clientcmd.WriteToFile(nobody, unused); err != nil {
		return fmt.Errorf("start the API server: %w", err)
	}
	if c.opts.Sharding {
		if err := utilfeature.DefaultMutableFeatureGate.Set("ShardedListAndWatch=true"); err != nil {
			return fmt.Errorf("start the API server: %w", err)
		}
	}
	api, err := servertesting.StartTestServer(serverLogger{c.opts.Logs}, nil, []string{
		"--etcd-servers=" + c.etcd.url(),
		"--watch-cache=" + strconv.FormatBool(!c.opts.NoWatchCache),
		"--authentication-skip-lookup",
		"--authentication-kubeconfig=" + unused,
		"--authorization-kubeconfig=" + unused,
		"--kubeconfig=" + unused,
		"--enable-priority-and-fairness=false",
		"--disable-admission-plugins=NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook," +
			"ValidatingAdmissionPolicy,MutatingAdmissionPolicy",
	}, nil)
	if err != nil {
		return fmt.Errorf("start the API server: %w", err)
	}
	transport, err := rest.TransportFor(api.ClientConfig)
	if err != nil {
		api.TearDownFn()
		return fmt.Errorf("start the API server: %w", err)
	}
	backend, err := url.Parse(api.ClientConfig.Host)
	if err != nil {
		api.TearDownFn()
		return fmt.Errorf("start the API server: %w", err)
	}
	c.api = &api
	c.Gate.setBackend(backend, transport)
	return nil
}

// serverLogger is what the server's test harness logs to, from goroutines that may outlive a test.
type serverLogger struct{ on bool }

func (l serverLogger) Logf(format string, args ...any) {
	if l.on {
		fmt.Fprintf(os.Stderr, format+"\n", args...)
	}
}
func (l serverLogger) Errorf(format string, args ...any) { l.Logf(format, args...) }
func (l serverLogger) Fatalf(format string, args ...any) {
	panic("start the API server: " + fmt.Sprintf(format, args...))
}
