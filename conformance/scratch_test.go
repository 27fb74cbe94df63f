package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStagedModulesAreReplacedByReleases(t *testing.T) {
	modfile := []byte(`{"Replace":[
		{"Old":{"Path":"k8s.io/api"},"New":{"Path":"./staging/src/k8s.io/api"}},
		{"Old":{"Path":"k8s.io/client-go"},"New":{"Path":"./staging/src/k8s.io/client-go"}},
		{"Old":{"Path":"example.org/other"},"New":{"Path":"example.org/fork","Version":"v1.0.0"}}]}`)
	got, err := staged(modfile, "v1.37.2")
	want := []replacement{{"k8s.io/api", "k8s.io/api v0.37.2"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	if _, err := staged(modfile, "v2.0.0"); err == nil {
		t.Error("a version that is not Kubernetes' is taken")
	}
}

func TestGoMod(t *testing.T) {
	got := string(goMod([]string{"a.org/a@v1.2.3"}, []replacement{{"b.org/b", "/somewhere"}}))
	want := "module scratch\n\ngo 1.26.0\n\nrequire a.org/a v1.2.3\n\nreplace b.org/b => /somewhere\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestJoinSums(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	if err := errors.Join(os.WriteFile(a, []byte("z 1\nm 1\n"), 0o600), os.WriteFile(b, []byte("a 1\nm 1\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	got, err := joinSums([]string{a, filepath.Join(dir, "absent"), b})
	if want := "a 1\nm 1\nz 1\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestFindRoot(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := findRoot(here); err != nil || got != filepath.Dir(here) {
		t.Errorf("from %s: %s, %v", here, got, err)
	}
	if got, err := findRoot(t.TempDir()); err == nil {
		t.Errorf("outside of a clone: %s", got)
	}
}

func TestCopyClientGoLeavesOutTheFilesOfItsCache(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for _, file := range []string{"go.mod", "rest/client.go", "tools/cache/store.go", "tools/cache/store_test.go", "tools/cache/testing/source.go"} {
		path := filepath.Join(from, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(file), 0o400)); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyClientGo(from, to); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := filepath.WalkDir(to, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			rel, _ := filepath.Rel(to, path)
			got = append(got, filepath.ToSlash(rel))
		}
		return err
	})
	if want := []string{"go.mod", "rest/client.go", "tools/cache/testing/source.go"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("copied %v, %v; want %v", got, err, want)
	}
	if err := os.WriteFile(filepath.Join(to, "go.mod"), nil, 0o600); err != nil {
		t.Errorf("the copy can't be changed: %v", err)
	}
}

func TestChosen(t *testing.T) {
	all, err := chosen("client-go,kubernetes", "")
	if err != nil || len(all) != 2 || all[0].name != "client-go" || len(all[1].suites) != len(kubernetesSuites()) {
		t.Errorf("all: %v, %v", all, err)
	}
	one, err := chosen("client-go,controller-runtime", "tools/watch")
	if err != nil || len(one) != 1 || len(one[0].suites) != 1 || one[0].suites[0].name != "tools/watch" {
		t.Errorf("one: %v, %v", one, err)
	}
	for _, tc := range []struct{ names, only string }{{"client-gone", ""}, {"client-go", "scheduler/backend"}} {
		if got, err := chosen(tc.names, tc.only); err == nil {
			t.Errorf("%v is taken: %v", tc, got)
		}
	}
}

func TestRunPattern(t *testing.T) {
	if got, want := runPattern("TestA/b.c"), `^TestA$/^b\.c$`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSpecParent(t *testing.T) {
	if got := specParent(results{{"p", ""}: passed, {"p", "TestSuite"}: passed, {"p", "TestSuite/x"}: passed}); got != "TestSuite" {
		t.Errorf("one test: %s", got)
	}
	if got := specParent(results{{"p", "TestSuite"}: passed, {"p", "TestOther"}: passed}); got != "Specs" {
		t.Errorf("two tests: %s", got)
	}
}

func TestRecordsKeepResults(t *testing.T) {
	r := results{{"p", ""}: failed, {"p", "TestB"}: passed, {"a", "TestA"}: skipped}
	back := fromRecords(toRecords(r))
	if len(back) != len(r) {
		t.Fatalf("%v became %v", r, back)
	}
	for name, o := range r {
		if back[name] != o {
			t.Errorf("%v: %v became %v", name, o, back[name])
		}
	}
}

func TestTableNamesWhatIsLost(t *testing.T) {
	var out strings.Builder
	err := printTable(&out, []row{{
		family: "f", suite: "s",
		theirs:      results{{"p", "TestA"}: passed, {"p", "TestB"}: passed, {"p", "TestC"}: failed, {"p", ""}: passed},
		ours:        results{{"p", "TestA"}: passed, {"p", "TestB"}: failed, {"p", "TestC"}: failed, {"p", ""}: failed},
		regressions: []test{{"p", "TestB"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if got, want := strings.Join(strings.Fields(lines[1]), " "), "f s 2 1 1 0 1"; got != want {
		t.Errorf("row %q, want %q", got, want)
	}
	if lines[2] != "LOST   p TestB" {
		t.Errorf("then %q", lines[2])
	}
}
