package examples

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// What is gained by one statement is shown by two programs that differ in one.
func TestExamplesDifferFromTheirOriginalsInOneStatement(t *testing.T) {
	for folder, want := range map[string]string{
		"factory":  "clientgo.Register(factory, ",
		"operator": "cache.Options{NewInformer: clientgo.NewInformer}",
	} {
		found, err := differences(parse(t, folder+"/original/main.go", nil), parse(t, folder+"/main.go", nil))
		if err != nil || len(found) != 1 || !strings.Contains(found[0], want) {
			t.Errorf("%s differs from its original in %q (error %v), want one statement with %q", folder, found, err, want)
		}
	}
}

func TestDifferences(t *testing.T) {
	const program = `package p
		import "fmt"
		const answer = 42
		func f() error {
			if err := g(1); err != nil { return err }
			go func() { fmt.Println("a"); fmt.Println("b") }()
			return g(answer)
		}`
	for name, c := range map[string]struct {
		old, new string
		want     int // -1: an error
	}{
		"nothing":                    {"", "", 0},
		"an import":                  {`"fmt"`, `("fmt"; "os")`, 0},
		"a comment":                  {"const", "// Life.\nconst", 0},
		"one more":                   {"go func", "if err := h(); err != nil { return err }\ngo func", 1},
		"one like its neighbour":     {"go func", "if err := g(1); err != nil { return err }\ngo func", 1},
		"one less":                   {"return g(answer)", "", 1},
		"one changed":                {"g(answer)", "g(41)", 1},
		"one changed inside another": {`Println("b")`, `Println("c")`, 1},
		"two more":                   {"go func", "h(); h()\ngo func", 2},
		"two apart":                  {`go func() {`, `h(); go func() { h();`, 2},
		"a declaration":              {"42", "43", -1},
		"a signature":                {"f() error", "f(int) error", -1},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(program, c.old) {
				t.Fatal("nothing to replace")
			}
			changed := strings.Replace(program, c.old, c.new, 1)
			found, err := differences(parse(t, "", program), parse(t, "", changed))
			if want := c.want; (err != nil) != (want < 0) || err == nil && len(found) != want {
				t.Errorf("%d differences %q, error %v, want %d", len(found), found, err, want)
			}
		})
	}
}

func parse(t *testing.T, name string, src any) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// differences are the statements of b that are not in a, or of a that are not in b. Of one that changed inside there are those
// inside. Imports and comments don't count; any other difference outside of function bodies is an error.
func differences(a, b *ast.File) ([]string, error) {
	declared := func(f *ast.File) []ast.Decl {
		return slices.DeleteFunc(slices.Clone(f.Decls), func(d ast.Decl) bool {
			g, ok := d.(*ast.GenDecl)
			return ok && g.Tok == token.IMPORT
		})
	}
	before, after := declared(a), declared(b)
	if len(before) != len(after) {
		return nil, fmt.Errorf("%d and %d declarations", len(before), len(after))
	}
	var found []string
	for i := range before {
		if text(before[i]) == text(after[i]) {
			continue
		}
		inside, ok := within(before[i], after[i])
		if !ok {
			return nil, fmt.Errorf("declared otherwise: %s", text(after[i]))
		}
		found = append(found, inside...)
	}
	return found, nil
}

// within are the differences inside blocks of two nodes that are the same but for those.
func within(a, b ast.Node) (found []string, ok bool) {
	before, after := blocks(a), blocks(b)
	if len(before) == 0 || len(before) != len(after) {
		return nil, false
	}
	var lists [][2][]ast.Stmt
	for i := range before {
		lists = append(lists, [2][]ast.Stmt{before[i].List, after[i].List})
		before[i].List, after[i].List = nil, nil
	}
	if text(a) != text(b) {
		return nil, false
	}
	for _, list := range lists {
		found = append(found, compare(list[0], list[1])...)
	}
	return found, true
}

// blocks are the outermost blocks of statements in a node.
func blocks(n ast.Node) []*ast.BlockStmt {
	var found []*ast.BlockStmt
	ast.Inspect(n, func(n ast.Node) bool {
		block, ok := n.(*ast.BlockStmt)
		if ok {
			found = append(found, block)
		}
		return !ok
	})
	return found
}

func compare(a, b []ast.Stmt) []string {
	for len(a) > 0 && len(b) > 0 && text(a[0]) == text(b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && text(a[len(a)-1]) == text(b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 1 && len(b) == 1 {
		was := text(b[0])
		if inside, ok := within(a[0], b[0]); ok {
			return inside
		}
		return []string{was}
	}
	longer := a
	if len(b) > len(a) {
		longer = b
	}
	var found []string
	for _, stmt := range longer {
		found = append(found, text(stmt))
	}
	return found
}

func text(n ast.Node) string {
	var out bytes.Buffer
	if err := printer.Fprint(&out, token.NewFileSet(), n); err != nil {
		panic(err)
	}
	return strings.Join(strings.Fields(out.String()), " ")
}
