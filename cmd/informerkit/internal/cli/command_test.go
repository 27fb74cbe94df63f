package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/informerkit/informerkit/apitest"
)

// patience is how long a command may take for what it does at once: much more than it needs on a busy machine.
const patience = 30 * time.Second

// output is what a command has written so far.
type output struct {
	mu      sync.Mutex // guards what follows
	buf     bytes.Buffer
	changed chan struct{} // closed and made anew by each write
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// command is a command line at work.
type command struct {
	t        *testing.T
	out, err *output
	code     chan int
	cancel   context.CancelFunc
}

// begin runs a command line with an environment of its own.
func begin(t *testing.T, args ...string) *command {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := &command{t: t, out: newOutput(), err: newOutput(), code: make(chan int, 1), cancel: cancel}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.code <- Run(ctx, Streams{Out: c.out, Err: c.err, Getenv: func(string) string { return "" }}, args)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return c
}

// see waits until out has text.
func (c *command) see(o *output, text string) {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		o.mu.Lock()
		found, changed := strings.Contains(o.buf.String(), text), o.changed
		o.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case code := <-c.code:
			c.code <- code
			if !strings.Contains(o.String(), text) {
				c.t.Fatalf("ended with %d, without %q\nout:\n%s\nerr:\n%s", code, text, c.out, c.err)
			}
		case <-timeout:
			c.t.Fatalf("no %q\nout:\n%s\nerr:\n%s", text, c.out, c.err)
		}
	}
}

// end waits for the exit code.
func (c *command) end(want int) {
	c.t.Helper()
	select {
	case code := <-c.code:
		c.code <- code
		if code != want {
			c.t.Fatalf("exit code %d, want %d\nout:\n%s\nerr:\n%s", code, want, c.out, c.err)
		}
	case <-time.After(patience):
		c.t.Fatalf("does not end\nout:\n%s\nerr:\n%s", c.out, c.err)
	}
}

// run runs a command line to its end.
func run(t *testing.T, want int, args ...string) (out, err string) {
	t.Helper()
	c := begin(t, args...)
	c.end(want)
	return c.out.String(), c.err.String()
}

// startServer is a served API server, and the flags that make it a command's cluster.
func startServer(t *testing.T, opts apitest.Options) (*apitest.Server, []string) {
	t.Helper()
	server := apitest.NewServer(opts)
	t.Cleanup(server.Close)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	return server, clusterFlags(t, server.Config().Host)
}

// clusterFlags name the cluster at an address, current namespace "shop".
func clusterFlags(t *testing.T, host string) []string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: host}
	config.AuthInfos["test"] = clientcmdapi.NewAuthInfo()
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test", Namespace: "shop"}
	config.CurrentContext = "test"
	file := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return []string{"--kubeconfig", file, "--cache-dir", t.TempDir()}
}

func watchArgs(flags []string, args ...string) []string {
	return append(append([]string{"watch"}, args...), flags...)
}

func newPod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": strings.TrimRight(name, "-0123456789")}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
}

func create(t *testing.T, s *apitest.Server, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod, err := apitest.Create(s, pod)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func update(t *testing.T, s *apitest.Server, pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	change(pod)
	pod, err := apitest.Update(s, pod)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func remove(t *testing.T, s *apitest.Server, pod *corev1.Pod) {
	t.Helper()
	if _, err := apitest.Delete(s, pod); err != nil {
		t.Fatal(err)
	}
}

// events are the event and object of each line of a watch's output.
func events(out string) []string {
	var got []string
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) >= 3 && strings.Contains(f[0], ":") && !strings.HasPrefix(line, " ") {
			got = append(got, f[1]+" "+f[2])
		}
	}
	return got
}

func TestUsageErrorsAreOneLineAndExitWith2(t *testing.T) {
	for _, test := range []struct {
		args string
		want string
	}{
		{"wach", `unknown command "wach", did you mean watch? (see informerkit --help)`},
		{"watch", `watch takes one RESOURCE, as in: informerkit watch pods (see informerkit watch --help)`},
		{"watch pods nodes", `watch takes one RESOURCE, as in: informerkit watch pods (see informerkit watch --help)`},
		{"watch pods --foo", `unknown flag: --foo (see informerkit watch --help)`},
		{"watch pods -l a=b=c", `--selector "a=b=c": found '=', expected: ',' or 'end of string' (see informerkit watch --help)`},
		{"watch pods --field-selector a", `--field-selector "a": invalid selector: 'a'; can't understand 'a' (see informerkit watch --help)`},
		{"watch pods -o xml", `unknown output "xml": want one of [wide json diff] (see informerkit watch --help)`},
		{"watch pods --for -1s", `--for -1s: must not be negative (see informerkit watch --help)`},
		{"watch pods --embedded --rate -1", `--rate -1: want 0 to 10000 (see informerkit watch --help)`},
		{"watch pods/a -A --embedded", `pods/a: an object's name means nothing in all namespaces; name one with -n (see informerkit watch --help)`},
		{"watch pods/ --embedded", `"pods/" is not a resource: want RESOURCE, RESOURCE.GROUP or RESOURCE/NAME (see informerkit watch --help)`},
		{"demo now", `demo takes no arguments, got ["now"] (see informerkit demo --help)`},
		{"demo --for x", `invalid argument "x" for "--for" flag: time: invalid duration "x" (see informerkit demo --help)`},
		{"demo --for -1s", `--for and --slow must not be negative (see informerkit demo --help)`},
		{"demo --rate NaN", `--rate NaN: want 0 to 10000 (see informerkit demo --help)`},
		{"demo --deployments 0", `--deployments 0: want 1 to 1000 (see informerkit demo --help)`},
		{"version x", `version takes no arguments, got ["x"] (see informerkit version --help)`},
	} {
		t.Run(test.args, func(t *testing.T) {
			out, err := run(t, ExitUsage, strings.Fields(test.args)...)
			if want := "informerkit: " + test.want + "\n"; err != want || out != "" {
				t.Errorf("got  %swant %sout %s", err, want, out)
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, args := range []string{"", "--help", "help", "demo --help", "watch -h", "help watch", "completion bash"} {
		out, err := run(t, ExitOK, strings.Fields(args)...)
		if err != "" || !strings.Contains(out, "informerkit") {
			t.Errorf("%q: out %q, err %q", args, out, err)
		}
	}
	out, _ := run(t, ExitOK, "help", "watch")
	for _, promised := range []string{"--kubeconfig", "--context", "--field-selector", "--embedded", "Examples:"} {
		if !strings.Contains(out, promised) {
			t.Errorf("help of watch lacks %s", promised)
		}
	}
	if out, _ := run(t, ExitOK, "version"); !strings.HasPrefix(out, "informerkit  ") || strings.Count(out, "\n") != 3 {
		t.Errorf("version: %s", out)
	}
}

func TestVersionTellsWhatTheBuildKnows(t *testing.T) {
	for _, test := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, "informerkit  (unknown)\nclient-go    (unknown)\n"},
		{&debug.BuildInfo{
			Main:     debug.Module{Version: "v1.2.3"},
			Deps:     []*debug.Module{{Path: "k8s.io/client-go", Version: "v0.37.2"}},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}},
		}, "informerkit  v1.2.3  abc (modified)\nclient-go    v0.37.2\n"},
	} {
		var out strings.Builder
		if err := writeVersion(&out, test.info); err != nil {
			t.Fatal(err)
		}
		lines := slices.DeleteFunc(strings.SplitAfter(out.String(), "\n"), func(l string) bool { return strings.HasPrefix(l, "go  ") })
		if got := strings.Join(lines, ""); got != test.want {
			t.Errorf("got\n%s", got)
		}
	}
}

func TestEnvironmentNamesTheCluster(t *testing.T) {
	server, flags := startServer(t, apitest.Options{})
	create(t, server, newPod("shop", "web-1"))
	t.Setenv("KUBECONFIG", flags[1])
	out, err := run(t, ExitOK, "watch", "pods", "--once", "--no-headers", "--cache-dir", t.TempDir())
	if got := events(out); len(got) != 1 || got[0] != "ADDED shop/web-1" || err != "" {
		t.Errorf("out %s err %s", out, err)
	}
}

func TestWithoutKubeconfigTheErrorSaysWhatToDo(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	for _, test := range []struct {
		args         []string
		unconfigured bool
	}{{nil, true}, {[]string{"--server", "http://127.0.0.1:1"}, false}} {
		flags := genericclioptions.NewConfigFlags(true)
		set := pflag.NewFlagSet("test", pflag.ContinueOnError)
		flags.AddFlags(set)
		if err := set.Parse(test.args); err != nil {
			t.Fatal(err)
		}
		c, err := configured(flags, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		got := describe(c.explain(unreachable()))
		if hint := strings.Contains(got, "KUBECONFIG") && strings.Contains(got, "--embedded"); hint != test.unconfigured || strings.Contains(got, "\n") {
			t.Errorf("%v: got %q", test.args, got)
		}
	}
}

func TestBadKubeconfig(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("{bad: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	_, flags := startServer(t, apitest.Options{})
	for _, test := range []struct{ name, flags, want string }{
		{"missing", "--kubeconfig " + filepath.Join(dir, "none"), "no such file or directory"},
		{"no YAML", "--kubeconfig " + bad, "error loading config file"},
		{"unknown context", "--context nope --kubeconfig " + flags[1], `context was not found for specified context: nope`},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := run(t, ExitFailed, append([]string{"watch", "pods"}, strings.Fields(test.flags)...)...)
			if !strings.HasPrefix(err, "informerkit: kubeconfig: ") || !strings.Contains(err, test.want) || strings.Count(err, "\n") != 1 || out != "" {
				t.Errorf("out %q err %q", out, err)
			}
		})
	}
}
