package docs

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documents are the Markdown files of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".md") && !strings.Contains(path, "testdata") {
			name, _ := filepath.Rel(root, path)
			names = append(names, name)
		}
		return err
	})
	if err != nil || len(names) < 4 {
		t.Fatalf("documents %v, error %v", names, err)
	}
	return names
}

// The README's Go code stands, word for word, in an example that the tests run.
func TestReadmeCodeIsAnExample(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, "README.md"), -1)
	if len(blocks) == 0 {
		t.Fatal("the README has no Go code")
	}
	example := read(t, "informer/example_test.go")
	for _, block := range blocks {
		var indented bytes.Buffer
		for line := range strings.Lines(block[1]) {
			if strings.TrimSpace(line) != "" {
				indented.WriteString("\t")
			}
			indented.WriteString(line)
		}
		if !strings.Contains(example, indented.String()) {
			t.Errorf("this code of the README is no part of informer/example_test.go:\n%s", block[1])
		}
	}
}

// The Go code of docs/migration.md stands, word for word, in an example that is compiled and run.
func TestMigrationCodeIsAnExample(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(read(t, "docs/migration.md"), -1)
	if len(blocks) == 0 {
		t.Fatal("docs/migration.md has no Go code")
	}
	examples := read(t, "examples/factory/main.go") + read(t, "examples/operator/main.go")
	for _, block := range blocks {
		if !strings.Contains(examples, block[1]) {
			t.Errorf("this code of docs/migration.md is in no example:\n%s", block[1])
		}
	}
}

// The README's commands are those that .ci/run runs.
func TestReadmeCommandsAreChecked(t *testing.T) {
	readme, checks := read(t, "README.md"), read(t, ".ci/run")+read(t, "Makefile")
	for _, command := range []string{"go run ./cmd/informerkit demo --for 10s", "go test ./..."} {
		if !strings.Contains(readme, "\n    "+command+"\n") {
			t.Errorf("the README lacks the command %q", command)
		}
		if !strings.Contains(strings.ReplaceAll(checks, "$(GO)", "go"), command) {
			t.Errorf(".ci/run and the Makefile lack the command %q", command)
		}
	}
}

var (
	link = regexp.MustCompile(`\]\(([^)#:]+)\)`)
	code = regexp.MustCompile("(?s)```.*?```")
)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, name := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(read(t, name), ""), -1) {
			target := filepath.Join(root, filepath.Dir(name), m[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	}
}

// ARCHITECTURE.md names every folder that has Go files directly below the root, and no other.
func TestArchitectureNamesTheFolders(t *testing.T) {
	text := read(t, "ARCHITECTURE.md")
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), ".") || entry.Name() == "docs" {
			continue
		}
		checked++
		if !strings.Contains(text, "`"+entry.Name()+"/") {
			t.Errorf("ARCHITECTURE.md does not name %s", entry.Name())
		}
	}
	if checked < 8 {
		t.Errorf("only %d folders found", checked)
	}
	for _, m := range regexp.MustCompile("`([a-z/]+)/`").FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("ARCHITECTURE.md names %s/, which is not there", m[1])
		}
	}
}
