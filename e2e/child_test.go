package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/go-logr/logr"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/e2e/cluster"
)

// childEnv, when set, makes the test binary a client in a process of its own, so that the server's memory isn't in what it measures.
const childEnv = "INFORMERKIT_E2E_CHILD"

// childMain is the child's main function. It talks to the parent in lines: it says "synced", reads one line when it is to be ready for
// a relist, says "ready", and answers with its figures as JSON when it has seen the widget endMark.
func childMain(role string) int {
	klog.SetLogger(logr.Discard())
	figures, err := measureRelist(context.Background(), role, os.Getenv("KUBECONFIG"), os.Getenv("NAMESPACE"),
		bufio.NewReader(os.Stdin), os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(figures); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// child is a client in a process of its own.
type child struct {
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

func startChild(tb testing.TB, c *cluster.Cluster, namespace, role string, env ...string) *child {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), childEnv+"="+role, "KUBECONFIG="+c.Kubeconfig(tb, clientcmdapi.AuthInfo{}), "NAMESPACE="+namespace), env...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	return &child{cmd, in, bufio.NewReader(out)}
}

// expect reads a line that the child must say next.
func (c *child) expect(tb testing.TB, line string) {
	tb.Helper()
	if got, err := c.out.ReadString('\n'); err != nil || got != line+"\n" {
		tb.Fatalf("the child said %q (%v), want %q", got, err, line)
	}
}

func (c *child) say(tb testing.TB, line string) {
	tb.Helper()
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		tb.Fatal(err)
	}
}

// finish reads the child's figures and waits until it has ended.
func (c *child) finish(tb testing.TB) figures {
	tb.Helper()
	var f figures
	if err := json.NewDecoder(c.out).Decode(&f); err != nil {
		tb.Fatalf("the child's figures: %v", err)
	}
	if err := c.cmd.Wait(); err != nil {
		tb.Fatalf("the child: %v", err)
	}
	return f
}
