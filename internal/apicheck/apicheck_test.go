package main

import (
	"bytes"
	"go/types"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fixture(name string) string {
	return "github.com/informerkit/informerkit/internal/apicheck/testdata/" + name
}

func fixtureFacts(t *testing.T) (want, got facts) {
	t.Helper()
	packages, err := load(fixture("want"), fixture("got"))
	if err != nil {
		t.Fatal(err)
	}
	return factsOf(packages[0]), factsOf(packages[1])
}

func TestEveryKindOfDifferenceIsFound(t *testing.T) {
	want, got := fixtureFacts(t)
	r := compare(want, got, nil)
	missing := []string{
		"const Gone",
		"field Hidden.Lost",
		"func KindChanged",
		"func Missing",
		"method Hidden.Gone",
	}
	different := []string{
		"const Changed",
		"const Typed",
		"func Callback",
		"func Constrained",
		"func Variadic",
		"method Hidden.BecamePointer",
		"method Hidden.Retyped",
		"type Grown",   // a literal without field names compiles no more
		"type NoKey",   // is comparable no more
		"type Widened", // who implemented it does so no more
		"var Retyped",
	}
	added := []string{"field Grown.B", "func Extra", "method Widened.More", "var KindChanged"}
	if diff := cmp.Diff(missing, r.missing); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(different, r.different); diff != "" {
		t.Errorf("different (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(added, r.added); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
	if r.ok() {
		t.Error("all that is no reason to fail")
	}
}

func TestAPackageOffersWhatItOffers(t *testing.T) {
	want, _ := fixtureFacts(t)
	if len(want) == 0 {
		t.Fatal("no facts")
	}
	for key := range want {
		if strings.Contains(key, "unexported") || strings.HasSuffix(key, ".b") {
			t.Errorf("%s cannot be used outside", key)
		}
	}
	if r := compare(want, want, nil); !r.ok() || len(r.added) != 0 {
		t.Errorf("differs from itself: %+v", r)
	}
}

func TestIntendedDifferences(t *testing.T) {
	want := facts{"func A": "func() ()", "func B": "func() ()", "func C": "func() ()"}
	got := facts{"func A": "func(int) ()", "func B": "func() ()"}
	reasons := map[string]string{"func A": "better", "func B": "used to be better", "func C": "useless", "func D": "what is that"}
	r := compare(want, got, reasons)
	if diff := cmp.Diff([]string{"func A", "func C"}, r.intended); diff != "" {
		t.Errorf("intended (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"func B", "func D"}, r.stale); diff != "" {
		t.Errorf("stale (-want +got):\n%s", diff)
	}
	if r.ok() {
		t.Error("a stale intention has to be removed")
	}
	delete(reasons, "func B")
	delete(reasons, "func D")
	if r := compare(want, got, reasons); !r.ok() {
		t.Errorf("only intended differences, and not ok: %+v", r)
	}
}

func TestRunReports(t *testing.T) {
	var out bytes.Buffer
	ok, err := run(&out, fixture("want"), fixture("got"), "func Missing: nobody misses it\n")
	if err != nil {
		t.Fatal(err)
	}
	if ok {
		t.Error("run is content")
	}
	for _, line := range []string{
		"missing: const Gone\n",
		"different: func Callback\n\twant func(func(int, string) (bool)) ()\n\tgot  func(func(int, int) (bool)) ()\n",
		"intended: func Missing (nobody misses it)\n",
		"added: func Extra func() ()\n",
		": 4 missing, 11 different, 1 differ by intention, 0 stale intentions; 4 facts added\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("report lacks %q:\n%s", line, &out)
		}
	}
	out.Reset()
	if ok, err := run(&out, fixture("want"), fixture("want"), ""); err != nil || !ok {
		t.Errorf("want against itself: %v, %v\n%s", ok, err, &out)
	}
}

func TestPackagesThatCannotBeLoaded(t *testing.T) {
	if _, err := load(fixture("nowhere")); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("got %v, want an error that names the package", err)
	}
}

func TestParseIntended(t *testing.T) {
	got, err := parseIntended("# comment\n\nfunc A: because: of this\n  type B: and that  \n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"func A": "because: of this", "type B": "and that"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"func A\n", "func A: \n", "func A: x\nfunc A: y\n"} {
		if _, err := parseIntended(bad); err == nil || !strings.Contains(err.Error(), "differences.txt:") {
			t.Errorf("%q: got %v, want an error with the line", bad, err)
		}
	}
	if _, err := parseIntended(differencesFile); err != nil {
		t.Errorf("the file in the repository: %v", err)
	}
}

// What package cache says of itself: values of these interfaces pass from one package to the other.
func TestInterfacesThatAreTheSameOnBothSides(t *testing.T) {
	packages, err := load(theirs, ours)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Store", "ListerWatcher", "ResourceEventHandler"} {
		their, our := packages[0].Scope().Lookup(name).Type(), packages[1].Scope().Lookup(name).Type()
		if !types.AssignableTo(our, their) || !types.AssignableTo(their, our) {
			t.Errorf("%s: a value of one package does not fit the other", name)
		}
	}
}

func TestCacheDoesWithoutClientGosCache(t *testing.T) {
	exports, err := exportFiles([]string{ours})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := exports[ours]; !ok {
		t.Fatal("package cache is not among its own dependencies: the test looks at the wrong thing")
	}
	if _, ok := exports[theirs]; ok {
		t.Errorf("%s depends on %s", ours, theirs)
	}
}
