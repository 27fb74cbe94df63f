package cli

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
)

// knownResources is a discovery client that knows short names, and nothing else but what a mapper of short names asks for.
type knownResources struct {
	discovery.DiscoveryInterface
	lists []*metav1.APIResourceList
}

func (k knownResources) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return nil, k.lists, nil
}

func testMapper() meta.RESTMapper {
	resource := func(plural, singular, kind, short string, namespaced bool) metav1.APIResource {
		return metav1.APIResource{Name: plural, SingularName: singular, Kind: kind, ShortNames: []string{short}, Namespaced: namespaced}
	}
	group := func(name string, versions ...string) metav1.APIGroup {
		g := metav1.APIGroup{Name: name}
		for _, v := range versions {
			gv := schema.GroupVersion{Group: name, Version: v}.String()
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: v})
		}
		g.PreferredVersion = g.Versions[0]
		return g
	}
	pods := []metav1.APIResource{resource("pods", "pod", "Pod", "po", true), resource("nodes", "node", "Node", "no", false), resource("events", "event", "Event", "ev", true)}
	deployments := []metav1.APIResource{resource("deployments", "deployment", "Deployment", "deploy", true)}
	events := []metav1.APIResource{resource("events", "event", "Event", "ev", true)}
	certificates := []metav1.APIResource{resource("certificates", "certificate", "Certificate", "cert", true)}
	groups := []*restmapper.APIGroupResources{
		{Group: group("", "v1"), VersionedResources: map[string][]metav1.APIResource{"v1": pods}},
		{Group: group("apps", "v1"), VersionedResources: map[string][]metav1.APIResource{"v1": deployments}},
		{Group: group("events.k8s.io", "v1"), VersionedResources: map[string][]metav1.APIResource{"v1": events}},
		{Group: group("cert-manager.io", "v1", "v1beta1"), VersionedResources: map[string][]metav1.APIResource{"v1": certificates, "v1beta1": certificates}},
	}
	known := knownResources{lists: []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: pods}, {GroupVersion: "apps/v1", APIResources: deployments}, {GroupVersion: "cert-manager.io/v1", APIResources: certificates},
	}}
	return restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), known, nil)
}

func TestResolve(t *testing.T) {
	for _, test := range []struct {
		arg        string
		resource   string // group/version/resource
		name       string
		namespaced bool
	}{
		{"pods", "v1/pods", "", true},
		{"pod", "v1/pods", "", true},
		{"po", "v1/pods", "", true},
		{"Pod", "v1/pods", "", true},
		{"PODS", "v1/pods", "", true},
		{"pods.v1.", "v1/pods", "", true},
		{"pods/web-1", "v1/pods", "web-1", true},
		{"no", "v1/nodes", "", false},
		{"deploy", "apps/v1/deployments", "", true},
		{"deployments.apps", "apps/v1/deployments", "", true},
		{"deployments.v1.apps", "apps/v1/deployments", "", true},
		{"Deployment.apps", "apps/v1/deployments", "", true},
		{"Deployment.v1.apps", "apps/v1/deployments", "", true},
		{"events", "v1/events", "", true},
		{"events.events.k8s.io", "events.k8s.io/v1/events", "", true},
		{"cert", "cert-manager.io/v1/certificates", "", true},
		{"certificates.cert-manager.io/frontend", "cert-manager.io/v1/certificates", "frontend", true},
		{"certificates.v1beta1.cert-manager.io", "cert-manager.io/v1beta1/certificates", "", true},
		{"Certificate.v1beta1.cert-manager.io", "cert-manager.io/v1beta1/certificates", "", true},
	} {
		t.Run(test.arg, func(t *testing.T) {
			got, err := resolve(testMapper(), test.arg)
			if err != nil {
				t.Fatal(err)
			}
			if r := got.Resource.GroupVersion().String() + "/" + got.Resource.Resource; r != test.resource || got.name != test.name || got.namespaced() != test.namespaced {
				t.Errorf("got %s, name %q, namespaced %v", r, got.name, got.namespaced())
			}
		})
	}
}

func TestResolveFails(t *testing.T) {
	for _, test := range []struct {
		arg   string
		usage bool
	}{
		{"foo", false}, {"pods.apps", false}, {"pods.v2.", false}, {"Certificate.v3.cert-manager.io", false},
		{"", true}, {"/web", true}, {"pods/", true}, {"pods/a/b", true},
	} {
		t.Run(test.arg, func(t *testing.T) {
			got, err := resolve(testMapper(), test.arg)
			if err == nil {
				t.Fatalf("got %v", got)
			}
			unknown := (*unknownResourceError)(nil)
			if errors.As(err, &unknown) == test.usage || (exitCode(err) == ExitUsage) != test.usage {
				t.Errorf("got %T %v", err, err)
			}
		})
	}
}
