package listwatch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Resource is a resource that a server serves, in one version.
type Resource struct {
	GVR  schema.GroupVersionResource
	Kind schema.GroupVersionKind
	// Namespaced is false for a cluster-scoped resource.
	Namespaced bool
}

// DiscoveryError says that some groups and versions could not be discovered, because an aggregated API server is down for
// example. What was found of the others comes with it.
type DiscoveryError struct {
	Failed map[schema.GroupVersion]error
}

func (e *DiscoveryError) Error() string {
	var b strings.Builder
	b.WriteString("listwatch: discover resources")
	separator := ": "
	byName := func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) }
	for _, gv := range slices.SortedFunc(maps.Keys(e.Failed), byName) {
		fmt.Fprintf(&b, "%s%s: %v", separator, gv, e.Failed[gv])
		separator = "; "
	}
	return b.String()
}

// Unwrap gives the errors of all that failed.
func (e *DiscoveryError) Unwrap() []error { return slices.Collect(maps.Values(e.Failed)) }

// Discover asks the server which resources can be listed and watched, in every version it serves: of each group the preferred
// version first. The error is a [DiscoveryError] if only parts are missing.
func (c *Clients) Discover(ctx context.Context) ([]Resource, error) {
	groups, lists, err := c.discovery.ServerGroupsAndResourcesWithContext(ctx)
	if failed, ok := discovery.GroupDiscoveryFailedErrorGroups(err); ok {
		err = &DiscoveryError{Failed: failed}
	}
	var partial *DiscoveryError
	if err != nil && !errors.As(err, &partial) {
		return nil, fmt.Errorf("listwatch: discover resources: %w", err)
	}
	byVersion := make(map[string][]metav1.APIResource, len(lists))
	for _, list := range lists {
		byVersion[list.GroupVersion] = append(byVersion[list.GroupVersion], list.APIResources...)
	}
	var found []Resource
	for _, group := range groups {
		for _, gv := range preferredFirst(group) {
			for _, r := range byVersion[gv.String()] {
				if followable(&r) {
					found = append(found, resourceOf(gv, &r))
				}
			}
		}
	}
	return found, err
}

func preferredFirst(group *metav1.APIGroup) []schema.GroupVersion {
	var versions []schema.GroupVersion
	add := func(v string) {
		gv := schema.GroupVersion{Group: group.Name, Version: v}
		if v != "" && !slices.Contains(versions, gv) {
			versions = append(versions, gv)
		}
	}
	add(group.PreferredVersion.Version)
	for _, v := range group.Versions {
		add(v.Version)
	}
	return versions
}

// followable leaves out subresources and what can't be listed or watched.
func followable(r *metav1.APIResource) bool {
	return !strings.Contains(r.Name, "/") && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
}

// resourceOf fills in what a resource says only if it differs from its list.
func resourceOf(gv schema.GroupVersion, r *metav1.APIResource) Resource {
	kind := gv.WithKind(r.Kind)
	if r.Version != "" {
		kind.Group, kind.Version = r.Group, r.Version
	}
	return Resource{GVR: gv.WithResource(r.Name), Kind: kind, Namespaced: r.Namespaced}
}
