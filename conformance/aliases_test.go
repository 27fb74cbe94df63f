package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

// source has one of every kind of declaration that aliases treats differently.
const source = `package sample

import "fmt"

const Limit = 3
var ErrGone = fmt.Errorf("gone")
type Plain struct{ A int }
type Pair[K comparable, V fmt.Stringer] struct{ Key K; Value V }
type Same = Plain
type Set[T comparable] = map[T]struct{}
func New(n int, s ...fmt.Stringer) (*Plain, error) { return nil, nil }
func Make[K comparable, V fmt.Stringer](k K, vs ...V) (*Pair[K, V], error) { return nil, nil }
func Drop[T any](T) {}
func hidden() {}
type secret struct{}
`

func check(t *testing.T, path string, src string, imp types.Importer) *types.Package {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path+".go", src, 0)
	if err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	pkg, err := (&types.Config{Importer: imp}).Check(path, fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatalf("%v in\n%s", err, src)
	}
	return pkg
}

// withPackages imports some packages from memory and the rest from std.
type withPackages struct {
	std  types.Importer
	some []*types.Package
}

func (w withPackages) Import(path string) (*types.Package, error) {
	for _, pkg := range w.some {
		if pkg.Path() == path {
			return pkg, nil
		}
	}
	return w.std.Import(path)
}

func TestAliasesHaveTheTypesOfTheOriginal(t *testing.T) {
	std := importer.Default()
	sample := check(t, "example.org/sample", source, std)
	src, err := aliases(sample, "copied")
	if err != nil {
		t.Fatal(err)
	}
	copied := check(t, "example.org/copied", string(src), withPackages{std, []*types.Package{sample}})
	if copied.Name() != "copied" {
		t.Errorf("package name %q", copied.Name())
	}
	want := []string{"Drop", "ErrGone", "Limit", "Make", "New", "Pair", "Plain", "Same", "Set"}
	if got := copied.Scope().Names(); !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	for _, name := range want {
		theirs, ours := sample.Scope().Lookup(name).Type(), copied.Scope().Lookup(name).Type()
		if typeParamsOf(ours) != nil && typeParamsOf(ours).Len() > 0 {
			continue // the user below instantiates it
		}
		if !types.Identical(theirs, types.Unalias(ours)) && !types.Identical(theirs, ours) {
			t.Errorf("%s is %v, want %v", name, ours, theirs)
		}
	}
	user := `package user
import ("example.org/copied"; "example.org/sample"; "fmt")
var _ *sample.Plain = &copied.Plain{A: copied.Limit}
var _ sample.Pair[string, fmt.Stringer] = copied.Pair[string, fmt.Stringer]{}
var _ sample.Set[int] = copied.Set[int]{}
func use() {
	pair, err := copied.Make("k", fmt.Stringer(nil), nil)
	var _ *sample.Pair[string, fmt.Stringer] = pair
	_ = err
	copied.Drop(1)
	copied.New(1, nil, nil)
}
`
	check(t, "example.org/user", user, withPackages{std, []*types.Package{sample, copied}})
}

func TestMissing(t *testing.T) {
	std := importer.Default()
	full := check(t, "example.org/full", source, std)
	part := check(t, "example.org/part", "package part\nconst Limit = 3\ntype Plain int\n", std)
	want := []string{"Drop", "ErrGone", "Make", "New", "Pair", "Same", "Set"}
	if got := missing(full, part); !slices.Equal(got, want) {
		t.Errorf("missing %q, want %q", got, want)
	}
	if got := missing(part, full); len(got) != 0 {
		t.Errorf("missing %q, want none", got)
	}
}
