package main

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/apitest"
)

// build builds the program and returns how to run it. Everything together is bounded by the context.
func build(t *testing.T) func(args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	program := filepath.Join(t.TempDir(), "informerkit")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.WaitDelay = time.Second
		cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(t.TempDir(), "none"))
		return cmd
	}
}

func TestProgram(t *testing.T) {
	informerkit := build(t)

	t.Run("demo in a pipe", func(t *testing.T) {
		out, err := informerkit("demo", "--for", "1s").Output()
		if err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsRune(out, '\x1b') {
			t.Error("escape sequences in a pipe")
		}
		if !bytes.Contains(out, []byte("equal to the server's")) {
			t.Errorf("no summary:\n%s", out)
		}
	})

	t.Run("exit codes", func(t *testing.T) {
		for _, test := range []struct {
			args string
			code int
		}{{"version", 0}, {"watch pods --server http://127.0.0.1:1", 1}, {"watch", 2}} {
			cmd := informerkit(strings.Fields(test.args)...)
			out, _ := cmd.CombinedOutput()
			if got := cmd.ProcessState.ExitCode(); got != test.code {
				t.Errorf("%s: exit code %d\n%s", test.args, got, out)
			}
		}
	})

	t.Run("demo interrupted", func(t *testing.T) {
		out := interrupt(t, informerkit("demo"), "  ADDED  ")
		if !strings.Contains(out, "equal to the server's") {
			t.Errorf("no summary:\n%s", out)
		}
	})

	t.Run("watch interrupted", func(t *testing.T) {
		server := apitest.NewServer(apitest.Options{})
		defer server.Close()
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
		if _, err := apitest.Create(server, node); err != nil {
			t.Fatal(err)
		}
		out := interrupt(t, informerkit("watch", "nodes", "--server", server.Config().Host, "--cache-dir", t.TempDir()), "node-1")
		if strings.Count(out, "\n") != 2 {
			t.Errorf("more than a header and a node:\n%s", out)
		}
	})
}

// interrupt starts cmd, sends it SIGINT when it has printed text, and expects it to end well with nothing on stderr. It returns the whole output.
func interrupt(t *testing.T, cmd *exec.Cmd, text string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	sent := false
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		out.WriteString(lines.Text() + "\n")
		if !sent && strings.Contains(lines.Text(), text) {
			sent = true
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !sent || stderr.Len() > 0 {
		t.Errorf("%v, interrupted: %v\nstdout:\n%s\nstderr:\n%s", err, sent, &out, &stderr)
	}
	return out.String()
}
