// Package website is the API of the operator: the kind Website of example.com/v1. (Yours would be generated.)
package website

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Website is a page to publish.
type Website struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec,omitempty"`
	Status Status `json:"status,omitempty"`
}

// Spec is what is wanted.
type Spec struct {
	// Text is the page's content.
	Text string `json:"text"`
}

// Status is what there is.
type Status struct {
	// Text is the content that can be read now.
	Text string `json:"text,omitempty"`
	// Page is the UID of the ConfigMap that has it.
	Page types.UID `json:"page,omitempty"`
}

// List is several websites.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Website `json:"items"`
}

// AddToScheme makes a scheme know the kind.
func AddToScheme(s *runtime.Scheme) error {
	version := schema.GroupVersion{Group: "example.com", Version: "v1"}
	s.AddKnownTypeWithName(version.WithKind("Website"), &Website{})
	s.AddKnownTypeWithName(version.WithKind("WebsiteList"), &List{})
	metav1.AddToGroupVersion(s, version)
	return nil
}

// DeepCopyObject is runtime.Object's.
func (w *Website) DeepCopyObject() runtime.Object {
	out := *w
	out.ObjectMeta = *w.ObjectMeta.DeepCopy()
	return &out
}

// DeepCopyObject is runtime.Object's.
func (l *List) DeepCopyObject() runtime.Object {
	out := *l
	out.ListMeta = *l.ListMeta.DeepCopy()
	out.Items = make([]Website, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Website)
	}
	return &out
}
