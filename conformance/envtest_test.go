package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A server that a test left running is stopped, and nothing else is.
func TestLeftoversAreStopped(t *testing.T) {
	if _, err := os.Stat(filepath.Join("/proc", "self", "environ")); err != nil {
		t.Skip("needs /proc")
	}
	w, other := &workshop{dir: t.TempDir()}, &workshop{dir: t.TempDir()}
	start := func(env string) (*exec.Cmd, io.Closer) {
		cmd := exec.Command("sh", "-c", "echo up; read line; exit 0")
		cmd.Env = append(os.Environ(), env)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close() })
		if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		return cmd, in
	}
	left, _ := start(w.mark())
	others, end := start(other.mark())
	w.stopLeftovers()
	if err := left.Wait(); err == nil {
		t.Error("the process of this run is not stopped")
	}
	end.Close()
	if err := others.Wait(); err != nil {
		t.Errorf("the process of another run is stopped: %v", err)
	}
}
