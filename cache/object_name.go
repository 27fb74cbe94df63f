package cache

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ObjectName names an object of a kind that the context tells.
type ObjectName struct {
	// Namespace is empty for a cluster-scoped object.
	Namespace string
	Name      string
}

// NewObjectName returns the ObjectName of its two parts.
func NewObjectName(namespace, name string) ObjectName {
	return ObjectName{Namespace: namespace, Name: name}
}

// Parts is the inverse of [NewObjectName].
func (objName ObjectName) Parts() (namespace, name string) {
	return objName.Namespace, objName.Name
}

// String is the key of an object of this name, as [MetaNamespaceKeyFunc] makes it: "namespace/name", or only "name"
// without a namespace. (A types.NamespacedName writes the slash always.)
func (objName ObjectName) String() string {
	if objName.Namespace == "" {
		return objName.Name
	}
	return objName.Namespace + "/" + objName.Name
}

// ParseObjectName is the inverse of [ObjectName.String]. It fails on a key of more than two parts.
func ParseObjectName(str string) (ObjectName, error) {
	first, rest, namespaced := strings.Cut(str, "/")
	if !namespaced {
		return ObjectName{Name: first}, nil
	}
	if strings.Contains(rest, "/") {
		return ObjectName{}, fmt.Errorf("unexpected key format: %q", str)
	}
	return ObjectName{Namespace: first, Name: rest}, nil
}

// NamespacedNameAsObjectName converts from apimachinery's type.
func NamespacedNameAsObjectName(nn types.NamespacedName) ObjectName {
	return NewObjectName(nn.Namespace, nn.Name)
}

// AsNamespacedName converts to apimachinery's type.
func (objName ObjectName) AsNamespacedName() types.NamespacedName {
	return types.NamespacedName{Namespace: objName.Namespace, Name: objName.Name}
}

// MetaObjectToName returns the name of obj.
func MetaObjectToName(obj metav1.Object) ObjectName {
	return ObjectName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// ObjectToName returns the name of obj, which has to be a metav1.Object or give access to one.
func ObjectToName(obj any) (ObjectName, error) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ObjectName{}, fmt.Errorf("object has no meta: %w", err)
	}
	return MetaObjectToName(accessor), nil
}

// DeletionHandlingObjectToName is [ObjectToName] that also takes a [DeletedFinalStateUnknown], whose key it parses.
func DeletionHandlingObjectToName(obj any) (ObjectName, error) {
	if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
		return ParseObjectName(tombstone.Key)
	}
	return ObjectToName(obj)
}
