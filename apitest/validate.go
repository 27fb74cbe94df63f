package apitest

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// placeIn puts an object into the namespace of its request, or tells why it does not belong there.
func (e endpoint) placeIn(namespace string, m metav1.Object) error {
	switch {
	case e.ClusterScoped && m.GetNamespace() != "":
		return errBadRequest("namespace %q set on a cluster-scoped %s", m.GetNamespace(), e.gvk.Kind)
	case e.ClusterScoped:
		return nil
	case m.GetNamespace() == "":
		m.SetNamespace(namespace)
	case m.GetNamespace() != namespace:
		return errBadRequest("the namespace of the object (%s) does not match the namespace on the request (%s)", m.GetNamespace(), namespace)
	}
	return nil
}

// validate checks metadata by the rules of real servers; the error is Invalid.
func (e endpoint) validate(m metav1.Object) error {
	name := apivalidation.ValidateNameFunc(apivalidation.NameIsDNSSubdomain)
	switch {
	case e.gvk.Group == "rbac.authorization.k8s.io":
		name = path.ValidatePathSegmentName
	case e.gvk.Group == "" && e.gvk.Kind == "Namespace":
		name = apivalidation.ValidateNamespaceName
	}
	if errs := apivalidation.ValidateObjectMetaAccessor(m, !e.ClusterScoped, name, field.NewPath("metadata")); len(errs) > 0 {
		return apierrors.NewInvalid(e.gvk.GroupKind(), m.GetName(), errs)
	}
	return nil
}
