package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/informerkit/informerkit/e2e/cluster"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

// plugin is an exec credential plugin that a test controls.
type plugin struct {
	binary, tokenFile, callsFile string
}

func newPlugin(t *testing.T, token string) *plugin {
	t.Helper()
	dir := t.TempDir()
	p := &plugin{filepath.Join(dir, "execplugin"), filepath.Join(dir, "token"), filepath.Join(dir, "calls")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", p.binary, "./testdata/execplugin")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, out)
	}
	p.login(t, token)
	return p
}

// login makes the plugin print token from now on; "" makes it fail.
func (p *plugin) login(t *testing.T, token string) {
	t.Helper()
	if err := os.WriteFile(p.tokenFile, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p *plugin) calls(t *testing.T) int {
	t.Helper()
	calls, err := os.ReadFile(p.callsFile)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Count(string(calls), "\n")
}

// user is the kubeconfig's user who authenticates with the plugin.
func (p *plugin) user(validFor time.Duration) clientcmdapi.AuthInfo {
	return clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion:      "client.authentication.k8s.io/v1",
		Command:         p.binary,
		Args:            []string{p.tokenFile, validFor.String(), p.callsFile},
		InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
	}}
}

// source is what a kubeconfig that names the plugin gives: clientcmd, rest and the dynamic client are client-go's.
func (p *plugin) source(t *testing.T, c *cluster.Cluster, namespace string, validFor time.Duration) listwatch.Source[*unstructured.Unstructured] {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig(t, p.user(validFor)))
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return listwatch.For[*unstructured.Unstructured](client.Resource(cluster.Widgets).Namespace(namespace))
}

// admin is a token that the gate always takes, for what a test does itself.
const admin = "admin"

// asAdmin is the client of one namespace that authenticates as admin.
func asAdmin(c *cluster.Cluster, namespace string) dynamic.ResourceInterface {
	config := c.Config()
	config.BearerToken = admin
	return dynamic.NewForConfigOrDie(config).Resource(cluster.Widgets).Namespace(namespace)
}

func TestExecCredentialIsUsedAndRenewed(t *testing.T) {
	c, ns := shared(t)
	fill(t, c, ns, 20, 10)
	p := newPlugin(t, "first")
	accept := func(valid string) {
		c.Gate.Authenticate(func(token string) bool { return token == admin || token == valid })
	}
	accept("first")
	defer c.Gate.Authenticate(nil)
	client := asAdmin(c, ns)

	c.Gate.Requests()
	inf := start(t, p.source(t, c, ns, time.Hour), informer.Options[*unstructured.Unstructured]{})
	waitSynced(t, inf)
	checkCopy(t, inf, client)
	if n := p.calls(t); n != 1 {
		t.Errorf("the plugin was called %d times, want once: its token is valid for an hour", n)
	}
	if lists, watches := byToken(c.Gate.Requests(), "first"); lists+watches < 1 || watches < 1 {
		t.Errorf("%d lists and %d watches with the plugin's token", lists, watches)
	}

	// The server stops taking the token although it has not expired: a 401 makes the client ask the plugin again.
	p.login(t, "second")
	accept("second")
	c.Gate.CutWatches()
	checkCopy(t, inf, client)
	if n := p.calls(t); n != 2 {
		t.Errorf("the plugin was called %d times, want twice", n)
	}
	if _, watches := byToken(c.Gate.Requests(), "second"); watches < 1 {
		t.Error("no watch with the plugin's second token")
	}
	if err := inf.Status().Reflector.LastError; err != nil {
		t.Errorf("an error is still reported: %v", err)
	}
}

func TestExecCredentialIsRenewedWhenItExpires(t *testing.T) {
	c, ns := shared(t)
	fill(t, c, ns, 5, 10)
	p := newPlugin(t, "short")
	c.Gate.Authenticate(func(token string) bool { return token == admin || token == "short" })
	defer c.Gate.Authenticate(nil)
	inf := start(t, p.source(t, c, ns, 0), informer.Options[*unstructured.Unstructured]{})
	waitSynced(t, inf)
	before := p.calls(t)
	c.Gate.CutWatches()
	checkCopy(t, inf, asAdmin(c, ns))
	if after := p.calls(t); after <= before {
		t.Errorf("the plugin was called %d times before the expired token was needed again, and %d after", before, after)
	}
}

func TestFailingExecPluginIsOneClearError(t *testing.T) {
	c, ns := shared(t)
	fill(t, c, ns, 5, 10)
	p := newPlugin(t, "")
	c.Gate.Authenticate(func(token string) bool { return token == admin || token == "late" })
	defer c.Gate.Authenticate(nil)
	inf := start(t, p.source(t, c, ns, time.Hour), informer.Options[*unstructured.Unstructured]{Name: "my widgets"})

	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	err := inf.WaitSynced(ctx)
	var notSynced *informer.NotSyncedError
	if !errors.As(err, &notSynced) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("WaitSynced: %v", err)
	}
	if !strings.Contains(err.Error(), "my widgets") {
		t.Errorf("WaitSynced does not name the informer: %v", err)
	}
	for _, what := range []string{p.binary, "exit code 7"} {
		if strings.Count(err.Error(), what) != 1 {
			t.Errorf("WaitSynced says %q %d times, want once: %v", what, strings.Count(err.Error(), what), err)
		}
	}
	if last := inf.Status().Reflector.LastError; last == nil || !strings.Contains(last.Error(), "exit code 7") {
		t.Errorf("Status: %v", last)
	}

	p.login(t, "late")
	waitSynced(t, inf)
	checkCopy(t, inf, asAdmin(c, ns))
}

// byToken counts the lists and watches that came with a token.
func byToken(requests []cluster.Request, token string) (lists, watches int) {
	for _, r := range requests {
		switch {
		case r.Token != token:
		case r.Watch():
			watches++
		case r.Lists():
			lists++
		}
	}
	return lists, watches
}
