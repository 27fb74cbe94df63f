package informer

import (
	"fmt"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/listwatch"
)

// ClientSource makes the sources of a group from clients. The clients' scheme should be the group's.
func ClientSource(clients *listwatch.Clients) SourceFunc {
	return func(scope Scope, view View, kind schema.GroupVersionKind) (listwatch.Source[runtime.Object], error) {
		var source listwatch.Source[runtime.Object]
		var err error
		switch view {
		case MetadataView:
			source, err = clients.Metadata(scope.Resource, scope.Namespace)
		case UnstructuredView:
			source, err = clients.Unstructured(scope.Resource, scope.Namespace)
		case TypedView:
			source, err = clients.Typed(scope.Resource, kind, scope.Namespace)
		default:
			err = fmt.Errorf("unknown view %d", view)
		}
		if err != nil {
			return nil, err
		}
		return NarrowTo(source, scope)
	}
}

// NarrowTo applies the selectors of a scope to a source, for those who write a [SourceFunc].
func NarrowTo(source listwatch.Source[runtime.Object], scope Scope) (listwatch.Source[runtime.Object], error) {
	if scope.Labels == "" && scope.Fields == "" {
		return source, nil
	}
	byLabel, err := labels.Parse(scope.Labels)
	if err != nil {
		return nil, fmt.Errorf("labels of scope %q: %w", scope, err)
	}
	byField, err := fields.ParseSelector(scope.Fields)
	if err != nil {
		return nil, fmt.Errorf("fields of scope %q: %w", scope, err)
	}
	return listwatch.Narrow(source, byLabel, byField), nil
}
