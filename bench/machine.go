package bench

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Machine is where something was measured, and what with.
type Machine struct {
	CPU, OS, Arch, Go string
	Cores             int
	Versions          []string
	Memory            []latency
}

// ThisMachine is the one the program runs on.
func ThisMachine() Machine {
	m := Machine{CPU: cpuModel(), OS: runtime.GOOS, Arch: runtime.GOARCH, Go: strings.TrimPrefix(runtime.Version(), "go"), Cores: runtime.GOMAXPROCS(0), Memory: latencies()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return m
	}
	for _, path := range []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "github.com/cilium/statedb", "github.com/hashicorp/go-memdb"} {
		for _, dep := range info.Deps {
			if dep.Path == path {
				m.Versions = append(m.Versions, path[strings.LastIndex(path, "/")+1:]+" "+dep.Version)
			}
		}
	}
	return m
}

// cpuModel is what the system calls the processor; its architecture where it does not say.
func cpuModel() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, model, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return runtime.GOARCH
}
