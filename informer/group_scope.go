package informer

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Scope says which objects an informer of a [Group] holds: those of one resource, in one namespace or all, that match the
// selectors. Selectors that
// differ only in order, spaces or "==" for "=" are the same.
type Scope struct {
	// Resource is required, with its version.
	Resource schema.GroupVersionResource
	// Namespace is "" for all namespaces, and for cluster-scoped resources.
	Namespace string
	// Labels and Fields are selectors as the API server takes them, "app=web,tier!=db" for example; "" selects everything.
	Labels, Fields string
}

// String is for people: "apps/v1/deployments in default, labels app=web".
func (s Scope) String() string {
	var b strings.Builder
	if s.Resource.Group != "" {
		b.WriteString(s.Resource.Group + "/")
	}
	b.WriteString(s.Resource.Version + "/" + s.Resource.Resource)
	if s.Namespace != "" {
		b.WriteString(" in " + s.Namespace)
	}
	if s.Labels != "" {
		b.WriteString(", labels " + s.Labels)
	}
	if s.Fields != "" {
		b.WriteString(", fields " + s.Fields)
	}
	return b.String()
}

// normalized spells the selectors in one way.
func (s Scope) normalized() (Scope, error) {
	if s.Resource.Resource == "" || s.Resource.Version == "" {
		return s, fmt.Errorf("scope %q: %w", s, errNoResource)
	}
	byLabel, err := labels.Parse(s.Labels)
	if err != nil {
		return s, fmt.Errorf("scope %q: labels: %w", s, err)
	}
	byField, err := fields.ParseSelector(s.Fields)
	if err != nil {
		return s, fmt.Errorf("scope %q: fields: %w", s, err)
	}
	// No key or value has an "=".
	s.Labels, s.Fields = strings.ReplaceAll(byLabel.String(), "==", "="), byField.String()
	return s, nil
}

var errNoResource = errors.New("resource or version is empty")

// View is a form that objects are held or shown in.
type View uint8

const (
	// MetadataView is *metav1.PartialObjectMetadata.
	MetadataView View = iota + 1
	// UnstructuredView is *unstructured.Unstructured.
	UnstructuredView
	// TypedView is the Go type of the kind.
	TypedView
)

// String is the view in a word.
func (v View) String() string {
	switch v {
	case MetadataView:
		return "metadata"
	case UnstructuredView:
		return "unstructured"
	case TypedView:
		return "typed"
	}
	return "unknown"
}

// full reports that objects are there whole.
func (v View) full() bool { return v != MetadataView }
