package apitest

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// route is what the path of a request names.
type route struct {
	gvr         schema.GroupVersionResource
	namespace   string
	name        string
	subresource string
}

// parseRoute reads a path of an object or a collection; false if it is none. Paths:
//
//	/api/v1/RESOURCE[/NAME[/SUBRESOURCE]]            and /apis/GROUP/VERSION/...
//	/api/v1/namespaces/NAMESPACE/RESOURCE[/NAME[/SUBRESOURCE]]
func parseRoute(path string) (route, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		unescaped, err := url.PathUnescape(p)
		if err != nil || unescaped == "" {
			return route{}, false
		}
		parts[i] = unescaped
	}
	var rt route
	switch {
	case len(parts) > 2 && parts[0] == "api":
		rt.gvr.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		rt.gvr.Group, rt.gvr.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return rt, false
	}
	// Namespaces themselves are served there too: /api/v1/namespaces/NAME[/status|/finalize].
	if parts[0] == "namespaces" && len(parts) > 2 && !(len(parts) == 3 && (parts[2] == "status" || parts[2] == "finalize")) {
		rt.namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 3 {
		return rt, false
	}
	rt.gvr.Resource = parts[0]
	if len(parts) > 1 {
		rt.name = parts[1]
	}
	if len(parts) > 2 {
		rt.subresource = parts[2]
	}
	return rt, true
}
