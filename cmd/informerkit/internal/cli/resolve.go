package cli

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// target is what there is to follow.
type target struct {
	*meta.RESTMapping
	// name is that of one object; "" for all.
	name string
}

func (t target) namespaced() bool { return t.Scope.Name() == meta.RESTScopeNameNamespace }

// String names the resource as people do: pods, deployments.apps.
func (t target) String() string { return t.Resource.GroupResource().String() }

// unknownResourceError says that the server has no such resource.
type unknownResourceError struct{ arg string }

func (e *unknownResourceError) Error() string {
	return fmt.Sprintf("unknown resource %q: the server has no resource or kind of this name (kubectl api-resources lists them)", e.arg)
}

// resolve tells which resource arg means: RESOURCE[.VERSION][.GROUP][/NAME], where RESOURCE is plural, singular, a short name or a kind, in
// upper or lower case, as with kubectl. Short names are up to the mapper.
func resolve(mapper meta.RESTMapper, arg string) (target, error) {
	resource, name, named := strings.Cut(arg, "/")
	if resource == "" || named && (name == "" || strings.Contains(name, "/")) {
		return target{}, usagef("%q is not a resource: want RESOURCE, RESOURCE.GROUP or RESOURCE/NAME", arg)
	}
	kind, err := kindOf(mapper, resource)
	if err != nil {
		return target{}, err
	}
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return target{}, noMatch(err, resource)
	}
	return target{RESTMapping: mapping, name: name}, nil
}

func kindOf(mapper meta.RESTMapper, arg string) (schema.GroupVersionKind, error) {
	gvr, gr := schema.ParseResourceArg(arg)
	if gvr != nil {
		kind, err := mapper.KindFor(*gvr)
		if err == nil || !isNoMatch(err) {
			return kind, err
		}
	}
	kind, err := mapper.KindFor(gr.WithVersion(""))
	if err == nil || !isNoMatch(err) {
		return kind, err
	}
	gvk, gk := schema.ParseKindArg(arg)
	if gvk != nil {
		if mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err == nil {
			return mapping.GroupVersionKind, nil
		} else if !isNoMatch(err) {
			return kind, err
		}
	}
	mapping, err := mapper.RESTMapping(gk)
	if err != nil {
		return kind, noMatch(err, arg)
	}
	return mapping.GroupVersionKind, nil
}

// isNoMatch also takes what an expander of short names wraps.
func isNoMatch(err error) bool {
	if meta.IsNoMatchError(err) {
		return true
	}
	noResource, noKind := (*meta.NoResourceMatchError)(nil), (*meta.NoKindMatchError)(nil)
	return errors.As(err, &noResource) || errors.As(err, &noKind)
}

func noMatch(err error, arg string) error {
	if isNoMatch(err) {
		return &unknownResourceError{arg: arg}
	}
	return err
}
