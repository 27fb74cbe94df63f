package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	caseRow  = regexp.MustCompile(`(?m)^\| (\d+) \| ([^|]+) \| (.+) \|$`)
	caseTest = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz|Benchmark)[A-Za-z0-9_]+)`")
)

// checkCases says what is wrong with a table of cases: has reports whether a package has a test.
func checkCases(text string, has func(pkg, test string) bool) (cases int, wrong []string) {
	for i, row := range caseRow.FindAllStringSubmatch(text, -1) {
		cases++
		if row[1] != strconv.Itoa(i+1) {
			wrong = append(wrong, fmt.Sprintf("case %s where %d is due", row[1], i+1))
		}
		tests := caseTest.FindAllStringSubmatch(row[3], -1)
		for _, m := range tests {
			if !has(m[1], m[2]) {
				wrong = append(wrong, fmt.Sprintf("case %s: package %s has no %s", row[1], m[1], m[2]))
			}
		}
		if rest := strings.ReplaceAll(caseTest.ReplaceAllString(row[3], ""), "<br>", ""); len(tests) > 0 && rest != "" {
			wrong = append(wrong, fmt.Sprintf("case %s: %q is no test", row[1], rest))
		}
		told := strings.Contains(row[3], "not built") && strings.Contains(text, "\n- "+row[1]+": ")
		if len(tests) == 0 && !told {
			wrong = append(wrong, fmt.Sprintf("case %s: neither a test nor a word why not", row[1]))
		}
	}
	return cases, wrong
}

// Every test that docs/cases.md names is there.
func TestCasesHaveTheirTests(t *testing.T) {
	sources := map[string]string{} // of a package's tests
	has := func(pkg, test string) bool {
		if _, ok := sources[pkg]; !ok {
			files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				sources[pkg] += string(text)
			}
		}
		return strings.Contains(sources[pkg], "\nfunc "+test+"(")
	}
	cases, wrong := checkCases(read(t, "docs/cases.md"), has)
	if cases != 47 {
		t.Errorf("%d cases, want 47", cases)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

func TestCheckCases(t *testing.T) {
	has := func(pkg, test string) bool { return pkg+"."+test == "store.TestGood" }
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"good":             {"| 1 | a | `store.TestGood` |", 0},
		"two":              {"| 1 | a | `store.TestGood`<br>`store.TestGood` |", 0},
		"no such test":     {"| 1 | a | `store.TestBad` |", 1},
		"no such package":  {"| 1 | a | `feed.TestGood` |", 1},
		"no test":          {"| 1 | a | |", 0}, // is no row
		"nothing said":     {"| 1 | a | later |", 1},
		"not built":        {"| 1 | a | not built |\n\n- 1: nobody needs it", 0},
		"not said why":     {"| 1 | a | not built |", 1},
		"words in between": {"| 1 | a | `store.TestGood`, or so |", 1},
		"missing number":   {"| 1 | a | `store.TestGood` |\n| 3 | c | `store.TestGood` |", 1},
	} {
		if _, wrong := checkCases(c.text, has); len(wrong) != c.want {
			t.Errorf("%s: %q, want %d", name, wrong, c.want)
		}
	}
}
