package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// definition defines a resource whose objects look like widgets.
func definition(resource schema.GroupVersionResource, kind string, shortNames ...string) *apiextensionsv1.CustomResourceDefinition {
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
		ObjectMeta: metav1.ObjectMeta{Name: resource.GroupResource().String()},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: resource.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: resource.Resource, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List",
				ShortNames: shortNames,
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: resource.Version, Served: true, Storage: true,
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

// Define makes the server serve a custom resource, whose objects have the fields of widgets, and waits until it does.
func Define(ctx context.Context, config *rest.Config, resource schema.GroupVersionResource, kind string, shortNames ...string) error {
	return define(ctx, config, resource, func(definitions definitionsClient) error {
		_, err := definitions.Create(ctx, definition(resource, kind, shortNames...), metav1.CreateOptions{})
		return err
	}, func(err error) bool { return err == nil })
}

// Undefine removes a custom resource that [Define] made, with all its objects, and waits until the server knows it no more.
func Undefine(ctx context.Context, config *rest.Config, resource schema.GroupVersionResource) error {
	return define(ctx, config, resource, func(definitions definitionsClient) error {
		return definitions.Delete(ctx, resource.GroupResource().String(), metav1.DeleteOptions{})
	}, apierrors.IsNotFound)
}

type definitionsClient = apiextensionsclient.CustomResourceDefinitionInterface

// define changes a definition and waits until a list of the resource ends as it should.
func define(ctx context.Context, config *rest.Config, resource schema.GroupVersionResource, change func(definitionsClient) error, done func(error) bool) error {
	definitions, err := apiextensionsclient.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("definition of %s: %w", resource.Resource, err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("definition of %s: %w", resource.Resource, err)
	}
	if err := change(definitions.CustomResourceDefinitions()); err != nil {
		return fmt.Errorf("definition of %s: %w", resource.Resource, err)
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		_, last = client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		return done(last), nil
	})
	if err != nil {
		return fmt.Errorf("definition of %s: %w (%v)", resource.Resource, err, last)
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
				if err := create(ctx, client.Resource(Widgets).Namespace(widget.GetNamespace()), widget); err != nil {
					cancel(fmt.Errorf("create widget %s: %w", widget.GetName(), err))
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// create tries again when a busy etcd times out, which leaves open whether the object was made.
func create(ctx context.Context, client dynamic.ResourceInterface, widget *unstructured.Unstructured) error {
	const attempts = 5
	for attempt := 1; ; attempt++ {
		_, err := client.Create(ctx, widget, metav1.CreateOptions{})
		var status apierrors.APIStatus
		switch {
		case attempt > 1 && apierrors.IsAlreadyExists(err):
			return nil
		case err == nil, attempt == attempts, !errors.As(err, &status) || status.Status().Code < 500:
			return err
		}
	}
}
