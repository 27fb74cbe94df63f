package main

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestReadTestEvents(t *testing.T) {
	in := `{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestA","Output":"hello\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestB/sub"}
go: something else
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
`
	var out strings.Builder
	got, err := readTestEvents(strings.NewReader(in), &out)
	if err != nil {
		t.Fatal(err)
	}
	want := results{{"p", "TestA"}: passed, {"p", "TestB/sub"}: failed, {"p", "TestC"}: skipped, {"p", ""}: failed}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for name, o := range want {
		if got[name] != o {
			t.Errorf("%v: %q, want %q", name, got[name], o)
		}
	}
	if want := "hello\ngo: something else\n"; out.String() != want {
		t.Errorf("output %q, want %q", out.String(), want)
	}
	if got.count(passed) != 1 || got.count(failed) != 1 || got.count(skipped) != 1 {
		t.Errorf("counts: %d passed, %d failed, %d skipped", got.count(passed), got.count(failed), got.count(skipped))
	}
}

func TestReadGinkgoReport(t *testing.T) {
	in := `[{"SpecReports":[
		{"LeafNodeType":"BeforeSuite","State":"passed"},
		{"ContainerHierarchyTexts":["cache","list"],"LeafNodeText":"works","LeafNodeType":"It","State":"passed"},
		{"ContainerHierarchyTexts":["twice"],"LeafNodeText":"named","LeafNodeType":"It","State":"failed"},
		{"ContainerHierarchyTexts":["twice"],"LeafNodeText":"named","LeafNodeType":"It","State":"passed"},
		{"LeafNodeText":"later","LeafNodeType":"It","State":"pending"},
		{"LeafNodeText":"broke","LeafNodeType":"It","State":"panicked"}]}]`
	got, err := readGinkgoReport("p", strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	want := results{{"p", "cache list works"}: passed, {"p", "twice named"}: failed, {"p", "later"}: skipped, {"p", "broke"}: failed}
	for name, o := range want {
		if got[name] != o {
			t.Errorf("%v: %q, want %q", name, got[name], o)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	if _, err := readGinkgoReport("p", strings.NewReader("not json")); err == nil || !strings.Contains(err.Error(), "p") {
		t.Errorf("broken report: %v", err)
	}
}

func TestLost(t *testing.T) {
	base := results{
		{"p", ""}: passed, {"p", "TestA"}: passed, {"p", "TestB"}: passed, {"p", "TestB/one"}: passed, {"p", "TestB/two"}: passed,
		{"p", "TestFlop"}: failed, {"p", "TestS"}: skipped, {"q", ""}: passed, {"q", "TestQ"}: passed, {"r", ""}: passed, {"r", "TestR"}: passed,
		{"p", "TestBB"}: passed,
	}
	ours := results{
		{"p", ""}: failed, {"p", "TestA"}: passed, {"p", "TestB"}: failed, {"p", "TestB/one"}: failed, {"p", "TestB/two"}: passed,
		{"p", "TestFlop"}: failed, {"p", "TestBB"}: passed, {"q", ""}: failed, {"r", ""}: passed, {"r", "TestR"}: skipped,
	}
	var got []string
	for _, t := range lost(base, ours) {
		got = append(got, t.String())
	}
	want := []string{"p TestB/one", "q TestQ", "r TestR"}
	if !slices.Equal(got, want) {
		t.Errorf("lost %q, want %q", got, want)
	}
	if none := lost(base, base); len(none) != 0 {
		t.Errorf("lost against itself: %v", none)
	}
}

func TestReadTestEventsLongLine(t *testing.T) {
	in := `{"Action":"output","Output":"` + strings.Repeat("x", 1<<20) + `"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA"}`
	got, err := readTestEvents(strings.NewReader(in), io.Discard)
	if err != nil || got[test{"p", "TestA"}] != passed {
		t.Errorf("got %v, %v", got, err)
	}
}
