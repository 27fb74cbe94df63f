package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/informerkit/informerkit/e2e/cluster"
)

// buildCommand builds the informerkit command as its users do.
func buildCommand(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "informerkit")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir = filepath.Join("..", "cmd", "informerkit")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the command: %v\n%s", err, out)
	}
	return binary
}

// running is the command at work.
type running struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

func startCommand(t *testing.T, binary, kubeconfig string, args ...string) *running {
	t.Helper()
	r := &running{cmd: exec.CommandContext(patient(t), binary, args...)}
	r.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir())
	r.cmd.Stderr = &r.stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.lines = bufio.NewScanner(out)
	r.lines.Buffer(nil, 1<<20)
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return r
}

// next reads the next line that the command prints.
func (r *running) next(t *testing.T) string {
	t.Helper()
	if !r.lines.Scan() {
		err := r.cmd.Wait()
		t.Fatalf("the command ended: %v, %v\n%s", r.lines.Err(), err, r.stderr.String())
	}
	return r.lines.Text()
}

// interrupt ends the command as Ctrl-C does.
func (r *running) interrupt(t *testing.T) {
	t.Helper()
	if err := r.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for r.lines.Scan() { // Wait must not close the pipe under the reader
	}
	if err := r.cmd.Wait(); err != nil {
		t.Errorf("interrupted: %v\n%s", err, r.stderr.String())
	}
}

// changeLine is what the command prints of a change with -o json.
type changeLine struct {
	Type      string
	Key       string
	Initial   bool
	LastKnown bool
	Object    struct {
		Spec struct{ Size int64 }
	}
}

func (r *running) nextChange(t *testing.T) changeLine {
	t.Helper()
	var c changeLine
	if line := r.next(t); json.Unmarshal([]byte(line), &c) != nil {
		t.Fatalf("not JSON: %s", line)
	}
	return c
}

func TestWatchCommandPrintsWhatChangesOnTheServer(t *testing.T) {
	binary := buildCommand(t)
	c, ns := shared(t)
	fill(t, c, ns, 3, 10)
	client := widgets(c, ns)
	kubeconfig := c.Kubeconfig(t, clientcmdapi.AuthInfo{})
	ctx := patient(t)

	t.Run("as JSON", func(t *testing.T) {
		r := startCommand(t, binary, kubeconfig, "watch", "widgets", "-n", ns, "-o", "json")
		var first []string
		for range 3 {
			change := r.nextChange(t)
			if change.Type != "ADDED" || !change.Initial {
				t.Errorf("of the first list: %+v", change)
			}
			first = append(first, change.Key)
		}
		slices.Sort(first)
		if want := []string{ns + "/w0", ns + "/w1", ns + "/w2"}; !slices.Equal(first, want) {
			t.Errorf("first %v, want %v", first, want)
		}
		if _, err := client.Create(ctx, cluster.Widget(ns, "mine", "red", 1, 10), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := setSize(ctx, client, "mine", 2); err != nil {
			t.Fatal(err)
		}
		if err := client.Delete(ctx, "mine", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct {
			typ  string
			size int64
		}{{"ADDED", 1}, {"UPDATED", 2}, {"DELETED", 2}} {
			got := r.nextChange(t)
			if got.Type != want.typ || got.Object.Spec.Size != want.size || got.Key != ns+"/mine" || got.Initial || got.LastKnown {
				t.Errorf("got %+v, want %+v of mine", got, want)
			}
		}
		r.interrupt(t)
	})

	t.Run("as a diff, by short name and selectors, across a loss of history", func(t *testing.T) {
		r := startCommand(t, binary, kubeconfig, "watch", "wd", "-A", "-l", "color=green", "--field-selector", "metadata.namespace="+ns, "-o", "diff", "--no-headers")
		if line := r.next(t); !strings.Contains(line, "ADDED") || !strings.Contains(line, ns+"/w1") {
			t.Errorf("first: %q", line)
		}
		c.Gate.Expire(1)
		c.Gate.CutWatches()
		if err := setSize(ctx, client, "w0", 70); err != nil { // it is red
			t.Fatal(err)
		}
		if err := setSize(ctx, client, "w1", 71); err != nil {
			t.Fatal(err)
		}
		if line := r.next(t); !strings.Contains(line, "UPDATED") || !strings.Contains(line, ns+"/w1") {
			t.Errorf("update: %q", line)
		}
		changed := r.next(t)
		for !strings.Contains(changed, "spec.size") { // the generation changes, too
			changed = r.next(t)
		}
		if !strings.Contains(changed, "1") || !strings.Contains(changed, "71") {
			t.Errorf("diff: %q", changed)
		}
		r.interrupt(t)
		if said := strings.TrimSpace(r.stderr.String()); strings.Count(said, "\n") > 2 {
			t.Errorf("a lost watch takes more than a few lines: %s", said)
		}
	})

	t.Run("through a credential plugin", func(t *testing.T) {
		p := newPlugin(t, "cli")
		c.Gate.Authenticate(func(token string) bool { return token == "cli" })
		defer c.Gate.Authenticate(nil)
		path := c.Kubeconfig(t, p.user(time.Hour))
		r := startCommand(t, binary, path, "watch", "widgets", "-n", ns, "--once", "--no-headers")
		lines := 0
		for r.lines.Scan() {
			lines++
		}
		if err := r.cmd.Wait(); err != nil || lines != 3 {
			t.Errorf("%d lines, %v\n%s", lines, err, r.stderr.String())
		}
		p.login(t, "")
		failWithOneLine(t, binary, path, "exit code 7", "watch", "widgets", "-n", ns)
	})

	t.Run("an unknown resource", func(t *testing.T) {
		failWithOneLine(t, binary, kubeconfig, "gadgets", "watch", "gadgets", "-n", ns)
	})

	t.Run("nobody there", func(t *testing.T) {
		failWithOneLine(t, binary, kubeconfig, "127.0.0.1:1", "watch", "widgets", "-n", ns, "--server", "https://127.0.0.1:1")
	})
}

// failWithOneLine runs a command that must fail and say why in one line.
func failWithOneLine(t *testing.T, binary, kubeconfig, why string, args ...string) {
	t.Helper()
	r := startCommand(t, binary, kubeconfig, args...)
	out := new(strings.Builder)
	for r.lines.Scan() {
		io.WriteString(out, r.lines.Text()+"\n")
	}
	err := r.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%v: %v, want exit code 1", args, err)
	}
	said := strings.TrimSpace(r.stderr.String())
	if strings.Count(said, "\n") > 0 || !strings.Contains(said, why) || out.Len() > 0 {
		t.Errorf("%v: printed %q and said %q, want one line with %q", args, out, said, why)
	}
}
