package main

import (
	"fmt"
	"go/types"
	"strings"
)

// facts say what a package offers: of each thing that code outside can name, how it can be used.
type facts map[string]string

func factsOf(pkg *types.Package) facts {
	f := facts{}
	w := typeWriter{pkg: pkg}
	scope := pkg.Scope()
	for _, name := range scope.Names() {
		obj := scope.Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Const:
			f["const "+name] = w.typ(obj.Type()) + " = " + obj.Val().ExactString()
		case *types.Var:
			f["var "+name] = w.typ(obj.Type())
		case *types.Func:
			f["func "+name] = w.typ(obj.Type())
		case *types.TypeName:
			f.addType(w, name, obj)
		}
	}
	return f
}

func (f facts) addType(w typeWriter, name string, obj *types.TypeName) {
	key := "type " + name
	if obj.IsAlias() {
		f[key] = "= " + w.typ(types.Unalias(obj.Type()))
		return
	}
	named := obj.Type().(*types.Named)
	params := w.typeParams(named.TypeParams())
	switch underlying := named.Underlying().(type) {
	case *types.Struct:
		f[key] = params + f.addFields(w, name, underlying)
	case *types.Interface:
		f[key] = params + f.addMethods(w, name, underlying)
		return // that are all its methods
	default:
		f[key] = params + w.typ(underlying)
	}
	f.addMethodSet(w, name, named)
}

// addFields adds the exported fields of a struct. What it returns says how a literal of it may be written.
func (f facts) addFields(w typeWriter, name string, s *types.Struct) string {
	var order []string
	hidden := false
	for field := range s.Fields() {
		order = append(order, field.Name())
		if !field.Exported() {
			hidden = true
			continue
		}
		how := ""
		if field.Embedded() {
			how = "embedded "
		}
		f["field "+name+"."+field.Name()] = how + w.typ(field.Type())
	}
	comparable := ""
	if types.Comparable(s) {
		comparable = ", comparable"
	}
	if hidden {
		return "struct with hidden fields" + comparable
	}
	return "struct of " + strings.Join(order, ", ") + comparable
}

// addMethods adds the methods of an interface. What it returns says who can implement it.
func (f facts) addMethods(w typeWriter, name string, i *types.Interface) string {
	var order []string
	closed := ""
	for method := range i.Methods() {
		if !method.Exported() {
			closed = ", only for the package itself to implement"
			continue
		}
		order = append(order, method.Name())
		f["method "+name+"."+method.Name()] = w.typ(method.Type())
	}
	union := ""
	if !i.IsMethodSet() {
		union = w.constraint(i)
	}
	return "interface of " + strings.Join(order, ", ") + union + closed
}

// addMethodSet adds the methods of a type that is no interface, and whether a value or only a pointer has them.
func (f facts) addMethodSet(w typeWriter, name string, named *types.Named) {
	ofValue := types.NewMethodSet(named)
	for selection := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		method := selection.Obj()
		if !method.Exported() {
			continue
		}
		receiver := "*" + name
		if ofValue.Lookup(method.Pkg(), method.Name()) != nil {
			receiver = name
		}
		f["method "+name+"."+method.Name()] = fmt.Sprintf("of %s: %s", receiver, w.typ(selection.Type()))
	}
}
