package apitest

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// OpenAPI is served as far as kubectl needs it: it leaves validation to the server where the patch operation of a kind has a
// fieldValidation parameter. There are no schemas.

func groupVersionPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

// groupVersions gives all that are served, with their endpoints.
func (s *Server) groupVersions() map[string][]endpoint {
	all := map[string][]endpoint{}
	for _, core := range []bool{true, false} {
		for _, g := range s.groups(core) {
			for _, v := range g.versions {
				all[groupVersionPath(schema.GroupVersion{Group: g.name, Version: v.version})] = v.endpoints
			}
		}
	}
	return all
}

func (c *call) serveOpenAPI() {
	paths := map[string]any{}
	for path := range c.s.groupVersions() {
		paths[path[1:]] = map[string]string{"serverRelativeURL": "/openapi/v3" + path}
	}
	c.sendBytes(http.StatusOK, jsonType, mustJSON(map[string]any{"paths": paths}))
}

func (c *call) serveOpenAPIOf(groupVersion string) error {
	endpoints, ok := c.s.groupVersions()[groupVersion]
	if !ok {
		return errNotServed()
	}
	parameters := []any{}
	for _, name := range []string{"dryRun", "fieldManager", "fieldValidation"} {
		parameters = append(parameters, map[string]any{"name": name, "in": "query", "schema": map[string]any{"type": "string"}})
	}
	paths := map[string]any{}
	for _, e := range endpoints {
		path := groupVersion
		if !e.ClusterScoped {
			path += "/namespaces/{namespace}"
		}
		paths[path+"/"+e.gvr.Resource+"/{name}"] = map[string]any{"patch": map[string]any{
			"parameters": parameters,
			"responses":  map[string]any{"200": map[string]any{"description": "OK"}},
			"x-kubernetes-group-version-kind": map[string]string{
				"group": e.gvk.Group, "version": e.gvk.Version, "kind": e.gvk.Kind,
			},
		}}
	}
	c.sendBytes(http.StatusOK, jsonType, mustJSON(map[string]any{
		"openapi": "3.0.0",
		"info":    map[string]string{"title": "apitest", "version": serverVersion.GitVersion},
		"paths":   paths,
	}))
	return nil
}
