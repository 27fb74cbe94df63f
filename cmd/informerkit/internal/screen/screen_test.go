package screen

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestColumnsStayAlignedAndGrow(t *testing.T) {
	c := NewColumns(Column{Title: "EVENT", Min: 7}, Column{Title: "KEY"}, Column{Title: "RV", Right: true, Min: 4}, Column{Title: "LABELS"})
	got := []string{
		c.Header(),
		c.Line("ADDED", "a", "1", "x=y"),
		c.Line("DELETED", "default/long", "12345", ""),
		c.Line("ADDED", "b", "2", "x=ä"),
		c.Line("ADDED"),
	}
	want := []string{
		"EVENT    KEY    RV  LABELS",
		"ADDED    a       1  x=y",
		"DELETED  default/long  12345  -",
		"ADDED    b                 2  x=ä",
		"ADDED    -                 -  -",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTableIsAlignedAsAWhole(t *testing.T) {
	got := Table([]Column{{Title: "KIND"}, {Title: "OBJECTS", Right: true}}, [][]string{{"pods", "12"}, {"deployments", "3"}})
	want := []string{
		"KIND         OBJECTS",
		"pods              12",
		"deployments        3",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestFit(t *testing.T) {
	for _, test := range []struct {
		line    string
		columns int
		want    string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"äöüß", 3, "äö…"},
		{"abc", 1, "…"},
		{"abc", 0, ""},
		{"abc", -1, ""},
	} {
		if got := fit(test.line, test.columns); got != test.want {
			t.Errorf("fit(%q, %d) = %q, want %q", test.line, test.columns, got, test.want)
		}
	}
}

func TestDisplayWithoutTerminalPrintsPlainLines(t *testing.T) {
	var out bytes.Buffer
	d := NewDisplay(&out, Detect(&out, func(string) string { return "" }))
	d.Refresh([]Line{{"one", Bad}}, []Line{{"panel", Strong}})
	d.Print(Line{"two", Good})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "one\ntwo\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDisplayRefreshesItsPanelInPlace(t *testing.T) {
	for _, test := range []struct {
		name  string
		color bool
		want  string
	}{
		{"plain", false, "" +
			hideCursor + "a\nP1\nP2\n" +
			"\r\x1b[2A" + clearBelow + "b\nP1\nP2\n" +
			"\r\x1b[2A" + clearBelow + "wider th…\n" +
			showCursor + "the end is not cut\n"},
		{"colors", true, "" +
			hideCursor + "a\n\x1b[1mP1\x1b[0m\nP2\n" +
			"\r\x1b[2A" + clearBelow + "\x1b[31mb\x1b[0m\n\x1b[1mP1\x1b[0m\nP2\n" +
			"\r\x1b[2A" + clearBelow + "wider th…\n" +
			showCursor + "the end is not cut\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			d := NewDisplay(&out, Terminal{Size: func() (int, int) { return 10, 3 }, Color: test.color})
			// The third line of the panel has no place on a terminal of three lines: the cursor could not get back over it.
			d.Refresh([]Line{{Text: "a"}}, []Line{{"P1", Strong}, {Text: "P2"}, {Text: "P3"}})
			d.Print(Line{"b", Bad})
			d.Refresh(nil, []Line{{Text: "wider than that"}})
			d.Close()
			d.Print(Line{Text: "the end is not cut"})
			if got := out.String(); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestDisplayShowsNothingATerminalActsOn(t *testing.T) {
	for _, term := range []Terminal{{}, {Size: func() (int, int) { return 80, 24 }}} {
		var out bytes.Buffer
		NewDisplay(&out, term).Print(Line{Text: "a\x1b[2Jb\tc\nd"})
		if got, want := out.String(), "a [2Jb c d\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

type broken struct{ writes int }

func (b *broken) Write([]byte) (int, error) { b.writes++; return 0, errors.New("broken pipe") }

func TestDisplayStopsAtAWriteError(t *testing.T) {
	w := &broken{}
	d := NewDisplay(w, Terminal{})
	if err := d.Print(Line{Text: "a"}); err == nil {
		t.Error("no error")
	}
	if err := d.Print(Line{Text: "b"}); err == nil {
		t.Error("the error is forgotten")
	}
	if w.writes != 1 {
		t.Errorf("%d writes after an error", w.writes-1)
	}
}
