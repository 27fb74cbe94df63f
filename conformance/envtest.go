package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const etcdVersion = "v3.7.0"

// envtestBinaries builds what controller-runtime's envtest starts into dir, unless it is there, and returns the environment that
// points envtest to it.
func (w *workshop) envtestBinaries(ctx context.Context, dir string) ([]string, error) {
	binaries := []struct {
		name, pkg string
		family    family
	}{
		{"etcd", "go.etcd.io/etcd/server/v3", family{name: "etcd", requires: []string{"go.etcd.io/etcd/server/v3@" + etcdVersion}}},
		{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", families[2]},
	}
	for _, b := range binaries {
		target := filepath.Join(dir, b.name)
		if _, err := os.Stat(target); err == nil {
			continue
		}
		tool, err := w.module(ctx, b.family, false)
		if err != nil {
			return nil, err
		}
		// Built aside, so that an interrupted build leaves nothing that looks complete.
		if _, err := tool.output(ctx, "build", "-o", target+".new", b.pkg); err != nil {
			return nil, fmt.Errorf("build %s for envtest: %w", b.name, err)
		}
		if err := os.Rename(target+".new", target); err != nil {
			return nil, err
		}
	}
	return []string{"KUBEBUILDER_ASSETS=" + dir, w.mark()}, nil
}

// mark is what tells a run's processes from others, in their environment.
func (w *workshop) mark() string { return "INFORMERKIT_CONFORMANCE=" + w.dir }

// stopLeftovers kills the servers that this run's tests started and did not stop: they have process groups of their own. It finds
// them where there is a /proc with environments.
func (w *workshop) stopLeftovers() {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range environments {
		env, err := os.ReadFile(file)
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"), w.mark()) {
			continue // ended meanwhile, or somebody else's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		if process, err := os.FindProcess(pid); err == nil && process.Kill() == nil {
			log.Printf("process %d was left over by a test and is stopped", pid)
		}
	}
}
