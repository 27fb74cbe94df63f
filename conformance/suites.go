package main

import (
	"fmt"
	"slices"
	"strings"
)

// Versions of the dependants. client-go's own is the one that the root module requires.
const (
	controllerRuntimeVersion = "v0.25.2"
	kubernetesVersion        = "v1.37.2"
)

// family is a set of suites that are built in one scratch module.
type family struct {
	name string
	// requires are the modules to add to the scratch module, as path@version.
	requires []string
	// staging names the module whose replacements by ./staging folders become released versions, or is empty.
	staging string
	suites  []suite
}

// suite is a row of the table.
type suite struct {
	name     string
	packages []string // patterns for go list: whose tests are run
	builds   []string // patterns of packages that must build, tested or not
	envtest  bool     // needs a kube-apiserver and an etcd
}

var families = []family{
	{
		name: "client-go",
		suites: []suite{
			{name: "tools/watch", packages: []string{"k8s.io/client-go/tools/watch"}},
			{name: "tools/cache/testing", packages: []string{"k8s.io/client-go/tools/cache/testing"}},
			{name: "informers", packages: []string{"k8s.io/client-go/informers/..."}, builds: []string{"k8s.io/client-go/informers/..."}},
			{name: "listers", packages: []string{"k8s.io/client-go/listers/..."}, builds: []string{"k8s.io/client-go/listers/..."}},
			{name: "everything", builds: []string{"k8s.io/client-go/..."}},
			{name: "dynamicinformer", packages: []string{"k8s.io/client-go/dynamic/dynamicinformer"}},
			{name: "dynamiclister", packages: []string{"k8s.io/client-go/dynamic/dynamiclister"}},
			{name: "metadatainformer", packages: []string{"k8s.io/client-go/metadata/metadatainformer"}},
			{name: "metadatalister", packages: []string{"k8s.io/client-go/metadata/metadatalister"}},
			{name: "fake", packages: []string{"k8s.io/client-go/testing/...", "k8s.io/client-go/kubernetes_test",
				"k8s.io/client-go/examples/fake-client"}},
			{name: "leaderelection", packages: []string{"k8s.io/client-go/tools/leaderelection"}},
		},
	},
	{
		name:     "controller-runtime",
		requires: []string{"sigs.k8s.io/controller-runtime@" + controllerRuntimeVersion},
		suites: []suite{
			{name: "everything", builds: []string{"sigs.k8s.io/controller-runtime/pkg/..."}},
			{name: "cache", envtest: true, packages: []string{"sigs.k8s.io/controller-runtime/pkg/cache"}},
			{name: "cache/internal", packages: []string{"sigs.k8s.io/controller-runtime/pkg/cache/internal"}},
			{name: "source", envtest: true, packages: []string{"sigs.k8s.io/controller-runtime/pkg/source"}},
			{name: "handler", envtest: true, packages: []string{"sigs.k8s.io/controller-runtime/pkg/handler"}},
			{name: "internal/source", packages: []string{"sigs.k8s.io/controller-runtime/pkg/internal/source"}},
			{name: "internal/controller", envtest: true, packages: []string{"sigs.k8s.io/controller-runtime/pkg/internal/controller/..."}},
			{name: "internal/recorder", envtest: true, packages: []string{"sigs.k8s.io/controller-runtime/pkg/internal/recorder"}},
			{name: "internal/others", packages: []string{"sigs.k8s.io/controller-runtime/pkg/internal/metrics",
				"sigs.k8s.io/controller-runtime/pkg/internal/syncs"}},
			{name: "client/fake", packages: []string{"sigs.k8s.io/controller-runtime/pkg/client/fake"}},
			{name: "client/internal", packages: []string{"sigs.k8s.io/controller-runtime/pkg/client/internal/..."}},
		},
	},
	{
		name:     "kubernetes",
		requires: []string{"k8s.io/kubernetes@" + kubernetesVersion},
		staging:  "k8s.io/kubernetes@" + kubernetesVersion,
		suites:   kubernetesSuites(),
	},
}

func kubernetesSuites() []suite {
	var out []suite
	for _, name := range []string{"deployment", "replicaset", "statefulset", "daemon", "job", "cronjob", "garbagecollector",
		"endpointslice", "namespace", "resourcequota", "nodelifecycle", "disruption", "ttlafterfinished", "volume"} {
		out = append(out, suite{name: "controller/" + name, packages: []string{"k8s.io/kubernetes/pkg/controller/" + name + "/..."}})
	}
	return append(out, suite{name: "scheduler/backend", packages: []string{"k8s.io/kubernetes/pkg/scheduler/backend/..."}})
}

// chosen returns the families named by a comma-separated list, cut down to the suites named by only, which is a comma-separated list
// of suite names, or all.
func chosen(names, only string) ([]family, error) {
	var out []family
	wanted := splitList(only)
	found := map[string]bool{}
	for _, name := range splitList(names) {
		at := slices.IndexFunc(families, func(f family) bool { return f.name == name })
		if at < 0 {
			return nil, fmt.Errorf("no suites named %q; there are client-go, controller-runtime and kubernetes", name)
		}
		f := families[at]
		if len(wanted) > 0 {
			f.suites = slices.DeleteFunc(slices.Clone(f.suites), func(s suite) bool { return !slices.Contains(wanted, s.name) })
			for _, s := range f.suites {
				found[s.name] = true
			}
		}
		if len(f.suites) > 0 {
			out = append(out, f)
		}
	}
	for _, name := range wanted {
		if !found[name] {
			return nil, fmt.Errorf("the chosen suites have none called %q", name)
		}
	}
	return out, nil
}

func splitList(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
