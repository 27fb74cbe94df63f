package apitest

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// crdResource holds CustomResourceDefinitions: what is created there is served, and what is deleted ceases to be.
var crdResource = Resource{
	Kind:          schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	ShortNames:    []string{"crd", "crds"},
	ClusterScoped: true,
	Status:        true,
}

// definition is what a CustomResourceDefinition says, as far as it matters here: schemas and conversion do not.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Plural     string   `json:"plural"`
			Kind       string   `json:"kind"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []struct {
			Name         string `json:"name"`
			Served       bool   `json:"served"`
			Storage      bool   `json:"storage"`
			Subresources struct {
				Status *struct{} `json:"status"`
			} `json:"subresources"`
			SelectableFields []struct {
				JSONPath string `json:"jsonPath"`
			} `json:"selectableFields"`
		} `json:"versions"`
	} `json:"spec"`
}

// resource is the resource a definition defines, and the versions it is served in.
func (d definition) resource() (Resource, []string, error) {
	names := d.Spec.Names
	if d.Spec.Group == "" || names.Plural == "" || names.Kind == "" {
		return Resource{}, nil, errors.New("spec.group, spec.names.plural and spec.names.kind are required")
	}
	r := Resource{
		Kind:          schema.GroupVersionKind{Group: d.Spec.Group, Kind: names.Kind},
		Plural:        names.Plural,
		ShortNames:    names.ShortNames,
		ClusterScoped: d.Spec.Scope == "Cluster",
	}
	var served []string
	for _, v := range d.Spec.Versions {
		if v.Served {
			served = append(served, v.Name)
		}
		if v.Storage {
			r.Kind.Version = v.Name
			r.Status = v.Subresources.Status != nil
			for _, f := range v.SelectableFields {
				r.SelectableFields = append(r.SelectableFields, f.JSONPath)
			}
		}
	}
	if r.Kind.Version == "" {
		return r, nil, errors.New("spec.versions: one must have storage true")
	}
	return r, served, nil
}

// applyCRDLocked serves, or ceases to serve, what a definition defines, and completes its status. Updates change nothing of what is served.
func (s *Server) applyCRDLocked(typ watch.EventType, obj runtime.Object) error {
	u := obj.(*unstructured.Unstructured)
	var d definition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &d); err != nil {
		return errBadRequest("CustomResourceDefinition %s: %v", u.GetName(), err)
	}
	r, versions, err := d.resource()
	if err == nil && u.GetName() != r.Plural+"."+r.Kind.Group {
		err = fmt.Errorf("metadata.name must be %q", r.Plural+"."+r.Kind.Group)
	}
	if err == nil && typ == watch.Added {
		err = s.addResourceLocked(r, versions)
	}
	if err != nil {
		invalid := apierrors.NewInvalid(crdResource.Kind.GroupKind(), u.GetName(), nil)
		invalid.ErrStatus.Message = fmt.Sprintf("CustomResourceDefinition %q is invalid: %v", u.GetName(), err)
		return invalid
	}
	switch typ {
	case watch.Added:
		names, _, err := unstructured.NestedMap(u.Object, "spec", "names")
		if err != nil {
			return errBadRequest("CustomResourceDefinition %s: %v", u.GetName(), err)
		}
		u.Object["status"] = map[string]any{
			"acceptedNames":  names,
			"storedVersions": []any{r.Kind.Version},
			"conditions": []any{
				map[string]any{"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"},
				map[string]any{"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": "the initial names have been accepted"},
			},
		}
	case watch.Deleted:
		s.removeResourceLocked(r.GVR().GroupResource())
	}
	return nil
}
