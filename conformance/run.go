package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// runner runs suites in one scratch module.
type runner struct {
	tool    goTool
	timeout time.Duration // of one package's tests
	race    bool
}

// run runs a suite's tests and writes what they print to log. A suite that does not even build is a result, too: its packages failed.
func (r runner) run(ctx context.Context, s suite, log io.Writer) (results, error) {
	all := results{}
	for _, pattern := range s.builds {
		o, err := r.build(ctx, pattern, log)
		if err != nil {
			return nil, err
		}
		all[test{pattern, buildTest}] = o
	}
	plain, ginkgo, err := r.packages(ctx, s)
	if err != nil {
		return nil, err
	}
	if len(plain) > 0 {
		got, err := r.test(ctx, log, plain)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, got)
	}
	for _, pkg := range ginkgo {
		got, err := r.testGinkgo(ctx, log, pkg, "")
		if err != nil {
			return nil, err
		}
		maps.Copy(all, got)
	}
	return all, nil
}

// buildTest is the name of a test that is no more than a build.
const buildTest = "[build]"

func (r runner) build(ctx context.Context, pattern string, log io.Writer) (outcome, error) {
	fmt.Fprintf(log, "\n$ go build %s\n", pattern)
	cmd := r.tool.command(ctx, "build", pattern)
	cmd.Stdout, cmd.Stderr = log, log
	var exit interface{ ExitCode() int }
	switch err := cmd.Run(); {
	case err == nil:
		return passed, nil
	case errors.As(err, &exit) && ctx.Err() == nil:
		return failed, nil
	default:
		return failed, fmt.Errorf("go build %s: %w", pattern, errors.Join(err, ctx.Err()))
	}
}

// rerun runs one test n times and reports whether it passed each time.
func (r runner) rerun(ctx context.Context, t test, ginkgo bool, n int, log io.Writer) (bool, error) {
	for range n {
		var got results
		var err error
		switch {
		case t.Name == buildTest:
			o, err := r.build(ctx, t.Package, log)
			return o == passed, err
		case t.Name == "":
			got, err = r.test(ctx, log, []string{t.Package})
		case ginkgo:
			_, spec, _ := strings.Cut(t.Name, "/")
			got, err = r.testGinkgo(ctx, log, t.Package, spec)
		default:
			got, err = r.test(ctx, log, []string{t.Package}, "-run", runPattern(t.Name))
		}
		if err != nil || got[t] != passed {
			return false, err
		}
	}
	return true, nil
}

// runPattern selects one test or subtest by its full name.
func runPattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

func (r runner) flags() []string {
	flags := []string{"-count=1", "-timeout=" + r.timeout.String()}
	if r.race {
		flags = append(flags, "-race")
	}
	return flags
}

func (r runner) test(ctx context.Context, log io.Writer, packages []string, flags ...string) (results, error) {
	args := append(append([]string{"test", "-json"}, r.flags()...), flags...)
	return r.execute(ctx, log, append(args, packages...))
}

// testGinkgo runs the specs of one package, or the one of that name.
func (r runner) testGinkgo(ctx context.Context, log io.Writer, pkg, spec string) (results, error) {
	dir, err := os.MkdirTemp("", "ginkgo")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "report.json")
	args := append(append([]string{"test", "-json"}, r.flags()...), pkg, "-args", "-ginkgo.json-report="+file)
	if spec != "" {
		args = append(args, "-ginkgo.focus="+regexp.QuoteMeta(spec)+"$")
	}
	whole, err := r.execute(ctx, log, args)
	if err != nil {
		return nil, err
	}
	report, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) { // it did not build, or the process died
		return whole, nil
	}
	if err != nil {
		return nil, err
	}
	defer report.Close()
	specs, err := readGinkgoReport(pkg, report)
	if err != nil {
		return nil, err
	}
	parent := specParent(whole)
	for t, o := range specs {
		whole[test{pkg, parent + "/" + t.Name}] = o
	}
	return whole, nil
}

// specParent names the test function that ran the specs of a package, if there is but one it can be.
func specParent(whole results) string {
	parent := ""
	for t := range whole {
		if t.Name != "" && !strings.Contains(t.Name, "/") {
			if parent != "" {
				return "Specs"
			}
			parent = t.Name
		}
	}
	return parent
}

func (r runner) execute(ctx context.Context, log io.Writer, args []string) (results, error) {
	fmt.Fprintf(log, "\n$ go %s\n", strings.Join(args, " "))
	var out bytes.Buffer
	cmd := r.tool.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &out, log
	err := cmd.Run()
	var exit interface{ ExitCode() int }
	if err != nil && (!errors.As(err, &exit) || ctx.Err() != nil) {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), errors.Join(err, ctx.Err()))
	}
	got, readErr := readTestEvents(&out, log)
	if readErr != nil {
		return nil, fmt.Errorf("go %s: %w", strings.Join(args, " "), readErr)
	}
	if err != nil && len(got) == 0 {
		return nil, fmt.Errorf("go %s: %w, and no test ran", strings.Join(args, " "), err)
	}
	return got, nil
}

// packages splits a suite's packages that have tests into plain ones and those that use Ginkgo.
func (r runner) packages(ctx context.Context, s suite) (plain, ginkgo []string, err error) {
	if len(s.packages) == 0 {
		return nil, nil, nil
	}
	const format = `{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{join .TestImports ","}},{{join .XTestImports ","}}{{end}}`
	out, err := r.tool.output(ctx, append([]string{"list", "-f", format}, s.packages...)...)
	if err != nil {
		return nil, nil, err
	}
	for line := range strings.Lines(string(out)) {
		pkg, imports, ok := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case !ok:
		case strings.Contains(imports, "github.com/onsi/ginkgo/v2"):
			ginkgo = append(ginkgo, pkg)
		default:
			plain = append(plain, pkg)
		}
	}
	return plain, ginkgo, nil
}
