package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Widgets is a custom resource that every cluster serves: namespaced, with a status, printer columns and the selectable
// field spec.color; kind Widget, short name wd.
var Widgets = schema.GroupVersionResource{Group: "e2e.informerkit.io", Version: "v1", Resource: "widgets"}

// WidgetKind is the kind of [Widgets].
var WidgetKind = Widgets.GroupVersion().WithKind("Widget")

// writers is how many requests [CreateWidgets] keeps in flight.
const writers = 16

func widgetsCRD() *apiextensionsv1.CustomResourceDefinition {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	object := func(fields map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: fields}
	}
	schema := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec": object(map[string]apiextensionsv1.JSONSchemaProps{
			"size": {Type: "integer"}, "color": text, "payload": text,
		}),
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{"phase": text}),
	})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: Widgets.GroupResource().String()},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: Widgets.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: Widgets.Resource, Singular: "widget", Kind: WidgetKind.Kind, ListKind: "WidgetList",
				ShortNames: []string{"wd"},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: Widgets.Version, Served: true, Storage: true,
				Schema:           &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &schema},
				Subresources:     &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				SelectableFields: []apiextensionsv1.SelectableField{{JSONPath: ".spec.color"}},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
					{Name: "Color", Type: "string", JSONPath: ".spec.color"},
					{Name: "Size", Type: "integer", JSONPath: ".spec.size"},
					{Name: "Phase", Type: "string", JSONPath: ".status.phase"},
				},
			}},
		},
	}
}

// installWidgets creates the definition and waits until the resource is served.
func installWidgets(ctx context.Context, config *rest.Config) error {
	definitions, err := clientset.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("define widgets: %w", err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("define widgets: %w", err)
	}
	_, err = definitions.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, widgetsCRD(), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("define widgets: %w", err)
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, last = client.Resource(Widgets).List(ctx, metav1.ListOptions{Limit: 1})
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("define widgets: %w (%v)", err, last)
	}
	return nil
}

// Widget makes a widget that is not yet on any server, with the label color and a payload of so many bytes.
func Widget(namespace, name, color string, size int64, payload int) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"size": size, "color": color, "payload": strings.Repeat("x", payload)},
	}}
	u.SetGroupVersionKind(WidgetKind)
	u.SetNamespace(namespace)
	u.SetName(name)
	u.SetLabels(map[string]string{"color": color})
	return u
}

// CreateWidgets creates the widgets that make gives for 0 <= i < n, many at a time, and returns the first error.
func CreateWidgets(ctx context.Context, client dynamic.Interface, n int, make func(i int) *unstructured.Unstructured) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := func() func() int {
		var mu sync.Mutex // guards i
		i := -1
		return func() int { mu.Lock(); defer mu.Unlock(); i++; return i }
	}()
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for i := next(); i < n && ctx.Err() == nil; i = next() {
				widget := make(i)
				_, err := client.Resource(Widgets).Namespace(widget.GetNamespace()).Create(ctx, widget, metav1.CreateOptions{})
				if err != nil {
					cancel(fmt.Errorf("create widget %s: %w", widget.GetName(), err))
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
