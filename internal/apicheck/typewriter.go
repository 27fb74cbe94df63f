package main

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// typeWriter writes types so that the same type in two packages reads the same: without the names of parameters and
// type parameters, and without that of the package itself.
type typeWriter struct {
	pkg *types.Package
}

func (w typeWriter) typ(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return t.Name()
	case *types.Named:
		return w.named(t)
	case *types.TypeParam:
		return fmt.Sprintf("$%d", t.Index())
	case *types.Pointer:
		return "*" + w.typ(t.Elem())
	case *types.Slice:
		return "[]" + w.typ(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), w.typ(t.Elem()))
	case *types.Map:
		return "map[" + w.typ(t.Key()) + "]" + w.typ(t.Elem())
	case *types.Chan:
		return [...]string{types.SendRecv: "chan ", types.SendOnly: "chan<- ", types.RecvOnly: "<-chan "}[t.Dir()] + "(" + w.typ(t.Elem()) + ")"
	case *types.Signature:
		return w.signature(t)
	case *types.Struct:
		return w.structure(t)
	case *types.Interface:
		return w.interfaceType(t)
	case *types.Union:
		return w.union(t)
	}
	panic(fmt.Sprintf("BUG: a type of a kind that is not known: %T", t))
}

func (w typeWriter) named(t *types.Named) string {
	name := t.Obj().Name()
	if pkg := t.Obj().Pkg(); pkg != nil && pkg != w.pkg {
		name = pkg.Path() + "." + name
	}
	if t.TypeArgs().Len() == 0 {
		return name
	}
	var args []string
	for arg := range t.TypeArgs().Types() {
		args = append(args, w.typ(arg))
	}
	return name + "[" + strings.Join(args, ", ") + "]"
}

// typeParams writes the constraints of type parameters; "" if there are none.
func (w typeWriter) typeParams(params *types.TypeParamList) string {
	if params.Len() == 0 {
		return ""
	}
	var constraints []string
	for param := range params.TypeParams() {
		constraints = append(constraints, w.typ(param.Constraint()))
	}
	return "[" + strings.Join(constraints, ", ") + "]"
}

func (w typeWriter) signature(t *types.Signature) string {
	params := w.tuple(t.Params())
	if t.Variadic() {
		last := len(params) - 1
		params[last] = "..." + strings.TrimPrefix(params[last], "[]")
	}
	return "func" + w.typeParams(t.TypeParams()) + "(" + strings.Join(params, ", ") + ")" +
		" (" + strings.Join(w.tuple(t.Results()), ", ") + ")"
}

func (w typeWriter) tuple(vars *types.Tuple) []string {
	all := []string{}
	for v := range vars.Variables() {
		all = append(all, w.typ(v.Type()))
	}
	return all
}

func (w typeWriter) structure(t *types.Struct) string {
	var fields []string
	for i := range t.NumFields() {
		field := t.Field(i)
		name := field.Name()
		if field.Embedded() {
			name = "embedded"
		}
		fields = append(fields, fmt.Sprintf("%s %s %q", name, w.typ(field.Type()), t.Tag(i)))
	}
	return "struct{" + strings.Join(fields, "; ") + "}"
}

func (w typeWriter) interfaceType(t *types.Interface) string {
	if t.Empty() {
		return "any"
	}
	var methods []string
	for method := range t.Methods() {
		methods = append(methods, method.Name()+" "+w.typ(method.Type()))
	}
	slices.Sort(methods)
	return "interface{" + strings.Join(methods, "; ") + w.constraint(t) + "}"
}

// constraint writes what an interface says about types beyond their methods.
func (w typeWriter) constraint(t *types.Interface) string {
	constraint := ""
	if t.IsComparable() && !t.IsMethodSet() {
		constraint += "; comparable"
	}
	for embedded := range t.EmbeddedTypes() {
		if union, ok := embedded.(*types.Union); ok {
			constraint += "; " + w.union(union)
		}
	}
	return constraint
}

func (w typeWriter) union(t *types.Union) string {
	var terms []string
	for term := range t.Terms() {
		tilde := ""
		if term.Tilde() {
			tilde = "~"
		}
		terms = append(terms, tilde+w.typ(term.Type()))
	}
	return strings.Join(terms, " | ")
}
