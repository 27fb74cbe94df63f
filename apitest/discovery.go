package apitest

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

var verbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
var statusVerbs = []string{"get", "patch", "update"}

// serverVersion is the Kubernetes version whose API types are served.
var serverVersion = version.Info{Major: "1", Minor: "37", GitVersion: "v1.37.2+apitest", Platform: "linux/amd64"}

// serveDiscovery answers what tells clients about the server; done tells that the request was about that.
func (c *call) serveDiscovery() (done bool, err error) {
	path := strings.TrimSuffix(c.r.URL.Path, "/")
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	switch {
	case path == "/version":
		c.sendBytes(http.StatusOK, jsonType, mustJSON(serverVersion))
	case path == "/healthz" || path == "/livez" || path == "/readyz":
		c.sendBytes(http.StatusOK, "text/plain", []byte("ok"))
	case path == "/openapi/v3":
		c.serveOpenAPI()
	case strings.HasPrefix(path, "/openapi/v3/"):
		return true, c.serveOpenAPIOf(strings.TrimPrefix(path, "/openapi/v3"))
	case path == "/api" || path == "/apis":
		return true, c.serveGroups(path == "/api")
	case len(parts) == 2 && parts[0] == "api":
		return true, c.serveResources(schema.GroupVersion{Version: parts[1]})
	case len(parts) == 2 && parts[0] == "apis":
		return true, c.serveGroup(parts[1])
	case len(parts) == 3 && parts[0] == "apis":
		return true, c.serveResources(schema.GroupVersion{Group: parts[1], Version: parts[2]})
	default:
		return false, nil
	}
	return true, nil
}

// groups gives the endpoints served, by group and version; core tells whether of the core group alone or of all others.
func (s *Server) groups(core bool) []group {
	s.mu.Lock()
	defer s.mu.Unlock()
	byName := map[string]map[string][]endpoint{}
	for gvr, e := range s.served {
		if (gvr.Group == "") != core {
			continue
		}
		if byName[gvr.Group] == nil {
			byName[gvr.Group] = map[string][]endpoint{}
		}
		byName[gvr.Group][gvr.Version] = append(byName[gvr.Group][gvr.Version], e)
	}
	var groups []group
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		g := group{name: name}
		for _, v := range slices.SortedFunc(maps.Keys(byName[name]), newestFirst) {
			endpoints := byName[name][v]
			slices.SortFunc(endpoints, func(a, b endpoint) int { return cmp.Compare(a.gvr.Resource, b.gvr.Resource) })
			g.versions = append(g.versions, groupVersion{version: v, endpoints: endpoints})
		}
		groups = append(groups, g)
	}
	return groups
}

// newestFirst orders versions as clients prefer them.
func newestFirst(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) }

type group struct {
	name     string
	versions []groupVersion
}

type groupVersion struct {
	version   string
	endpoints []endpoint
}

func (g group) api() metav1.APIGroup {
	api := metav1.APIGroup{Name: g.name}
	for _, v := range g.versions {
		gv := schema.GroupVersion{Group: g.name, Version: v.version}
		api.Versions = append(api.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: v.version})
	}
	api.PreferredVersion = api.Versions[0]
	return api
}

func (c *call) serveGroups(core bool) error {
	f, err := negotiate(c.r.Header.Get("Accept"), true)
	if err != nil {
		return err
	}
	groups := c.s.groups(core)
	switch {
	case f.as == asDiscovery:
		c.sendBytes(http.StatusOK, jsonType+";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", mustJSON(aggregated(groups)))
	case core:
		c.send(http.StatusOK, f.mediaType, &metav1.APIVersions{
			TypeMeta:                   metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"},
			Versions:                   []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: c.r.Host}},
		})
	default:
		list := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for _, g := range groups {
			list.Groups = append(list.Groups, g.api())
		}
		c.send(http.StatusOK, f.mediaType, list)
	}
	return nil
}

func (c *call) serveGroup(name string) error {
	for _, g := range c.s.groups(false) {
		if g.name == name {
			f, err := negotiate(c.r.Header.Get("Accept"), true)
			if err != nil {
				return err
			}
			api := g.api()
			api.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
			c.send(http.StatusOK, f.mediaType, &api)
			return nil
		}
	}
	return errNotServed()
}

func (c *call) serveResources(gv schema.GroupVersion) error {
	for _, g := range c.s.groups(gv.Group == "") {
		for _, v := range g.versions {
			if g.name != gv.Group || v.version != gv.Version {
				continue
			}
			f, err := negotiate(c.r.Header.Get("Accept"), true)
			if err != nil {
				return err
			}
			c.send(http.StatusOK, f.mediaType, resourceList(gv, v.endpoints))
			return nil
		}
	}
	return errNotServed()
}

func resourceList(gv schema.GroupVersion, endpoints []endpoint) *metav1.APIResourceList {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for _, e := range endpoints {
		r := metav1.APIResource{
			Name: e.gvr.Resource, SingularName: e.singular(), Namespaced: !e.ClusterScoped, Kind: e.gvk.Kind,
			Verbs: verbs, ShortNames: e.ShortNames,
		}
		list.APIResources = append(list.APIResources, r)
		if e.hasStatus {
			r.Name, r.SingularName, r.Verbs, r.ShortNames = r.Name+"/status", "", statusVerbs, nil
			list.APIResources = append(list.APIResources, r)
		}
	}
	return list
}

// aggregated is the discovery of all resources of the groups in one document.
func aggregated(groups []group) *apidiscoveryv2.APIGroupDiscoveryList {
	list := &apidiscoveryv2.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2"}}
	for _, g := range groups {
		out := apidiscoveryv2.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: g.name}}
		for _, v := range g.versions {
			av := apidiscoveryv2.APIVersionDiscovery{Version: v.version, Freshness: apidiscoveryv2.DiscoveryFreshnessCurrent}
			for _, e := range v.endpoints {
				kind := metav1.GroupVersionKind{Group: e.gvk.Group, Version: e.gvk.Version, Kind: e.gvk.Kind}
				r := apidiscoveryv2.APIResourceDiscovery{
					Resource: e.gvr.Resource, SingularResource: e.singular(), ResponseKind: &kind, Scope: apidiscoveryv2.ScopeNamespace,
					Verbs: verbs, ShortNames: e.ShortNames,
				}
				if e.ClusterScoped {
					r.Scope = apidiscoveryv2.ScopeCluster
				}
				if e.hasStatus {
					r.Subresources = []apidiscoveryv2.APISubresourceDiscovery{{Subresource: "status", ResponseKind: &kind, Verbs: statusVerbs}}
				}
				av.Resources = append(av.Resources, r)
			}
			out.Versions = append(out.Versions, av)
		}
		list.Items = append(list.Items, out)
	}
	return list
}
