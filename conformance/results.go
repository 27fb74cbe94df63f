package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// outcome is what became of one test.
type outcome string

const (
	passed  outcome = "pass"
	failed  outcome = "fail"
	skipped outcome = "skip"
)

// test names a test. With an empty name it stands for the package's run as a whole.
type test struct {
	Package string
	Name    string
}

func (t test) String() string {
	if t.Name == "" {
		return t.Package
	}
	return t.Package + " " + t.Name
}

func compareTests(a, b test) int {
	if c := strings.Compare(a.Package, b.Package); c != 0 {
		return c
	}
	return strings.Compare(a.Name, b.Name)
}

// results is what became of the tests of a run.
type results map[test]outcome

func (r results) count(o outcome) int {
	n := 0
	for t, got := range r {
		if t.Name != "" && got == o {
			n++
		}
	}
	return n
}

// lost lists the tests that passed in base and did not in ours, however that came about.
func lost(base, ours results) []test {
	var out []test
	for t, was := range base {
		if is, ok := ours[t]; was == passed && (!ok || is != passed) {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, compareTests)
	return dropParents(out)
}

// dropParents leaves out tests that did badly only because a subtest of theirs did, and packages of which a test did.
// The list is sorted.
func dropParents(list []test) []test {
	return slices.DeleteFunc(slices.Clone(list), func(parent test) bool {
		return slices.ContainsFunc(list, func(t test) bool {
			if t.Package != parent.Package || t.Name == parent.Name {
				return false
			}
			return parent.Name == "" || strings.HasPrefix(t.Name, parent.Name+"/")
		})
	})
}

// readTestEvents reads the output of go test -json and writes what the tests printed to out.
func readTestEvents(in io.Reader, out io.Writer) (results, error) {
	r := results{}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Bytes()
		var event struct {
			Action, Package, ImportPath, Test, Output string
		}
		if len(line) == 0 || line[0] != '{' || json.Unmarshal(line, &event) != nil {
			fmt.Fprintf(out, "%s\n", line) // what go itself says outside of the protocol
			continue
		}
		switch event.Action {
		case "output", "build-output":
			io.WriteString(out, event.Output)
		case "pass", "fail", "skip":
			r[test{event.Package, event.Test}] = outcome(event.Action)
		}
	}
	return r, lines.Err()
}

// readGinkgoReport reads what -ginkgo.json-report wrote about the suites of a package.
func readGinkgoReport(pkg string, in io.Reader) (results, error) {
	var reports []struct {
		SpecReports []struct {
			ContainerHierarchyTexts []string
			LeafNodeText            string
			LeafNodeType            string
			State                   string
		}
	}
	if err := json.NewDecoder(in).Decode(&reports); err != nil {
		return nil, fmt.Errorf("ginkgo report of %s: %w", pkg, err)
	}
	r := results{}
	for _, report := range reports {
		for _, spec := range report.SpecReports {
			name := strings.Join(append(slices.Clone(spec.ContainerHierarchyTexts), spec.LeafNodeText), " ")
			if spec.LeafNodeType != "It" {
				name = "[" + spec.LeafNodeType + "] " + name
			}
			t := test{pkg, strings.TrimSpace(name)}
			switch spec.State {
			case "passed":
				if spec.LeafNodeType == "It" && r[t] != failed { // two specs of one name: both must pass
					r[t] = passed
				}
			case "skipped", "pending":
				if _, known := r[t]; !known {
					r[t] = skipped
				}
			default:
				r[t] = failed
			}
		}
	}
	return r, nil
}
