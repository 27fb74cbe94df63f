package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/informerkit/informerkit/cmd/informerkit/internal/objdiff"
	"github.com/informerkit/informerkit/cmd/informerkit/internal/screen"
)

// Values of --output.
const (
	outputLines = ""
	outputWide  = "wide"
	outputJSON  = "json"
	outputDiff  = "diff"
)

var outputs = []string{outputWide, outputJSON, outputDiff}

// formatter writes records as lines. It belongs to one goroutine.
type formatter struct {
	output        string
	managedFields bool // show metadata.managedFields
	columns       *screen.Columns
}

func newFormatter(output string, managedFields bool) (*formatter, error) {
	if output != outputLines && !slices.Contains(outputs, output) {
		return nil, usagef("unknown output %q: want one of %v", output, outputs)
	}
	columns := []screen.Column{
		{Title: "TIME", Min: len(timeOfDay)}, {Title: "EVENT", Min: len(typeDeleted)}, {Title: "OBJECT", Min: 32},
		{Title: "RV", Right: true, Min: 5}, {Title: "AGE", Min: 4},
	}
	if output == outputWide {
		columns = append(columns, screen.Column{Title: "STATUS", Min: 8}, screen.Column{Title: "NODE", Min: 8}, screen.Column{Title: "LABELS"})
	}
	return &formatter{output: output, managedFields: managedFields, columns: screen.NewColumns(columns...)}, nil
}

const timeOfDay = "15:04:05.000"

// header is the line above the first record, if the output has one.
func (f *formatter) header() []screen.Line {
	if f.output == outputJSON {
		return nil
	}
	return []screen.Line{{Text: f.columns.Header(), Style: screen.Strong}}
}

// lines is one line, followed for the diff of an update by one for each change.
func (f *formatter) lines(r record) []screen.Line {
	if f.output == outputJSON {
		return []screen.Line{{Text: f.json(r)}}
	}
	cells := []string{r.at.Format(timeOfDay), r.typ, r.key, r.object.GetResourceVersion(), ageOf(r.object, r.at)}
	if f.output == outputWide {
		cells = append(cells, statusOf(r.object), nodeOf(r.object), labelsOf(r.object))
	}
	line := screen.Line{Text: f.columns.Line(cells...), Style: styleOf(r)}
	if r.lastKnown {
		line.Text += "  (last known)"
	}
	out := []screen.Line{line}
	if f.output == outputDiff && r.old != nil {
		for _, change := range objdiff.Diff(r.old.Object, r.object.Object, f.ignored()...) {
			out = append(out, screen.Line{Text: diffIndent + change.String(), Style: screen.Dim})
		}
	}
	return out
}

// diffIndent puts the lines of a diff below the event they belong to.
const diffIndent = "              "

// ignored are the paths that no diff tells of: the resource version is in the line above it.
func (f *formatter) ignored() []string {
	if f.managedFields {
		return []string{"metadata.resourceVersion"}
	}
	return []string{"metadata.resourceVersion", "metadata.managedFields"}
}

func styleOf(r record) screen.Style {
	switch {
	case r.typ == typeDeleted:
		return screen.Bad
	case r.typ == typeAdded && !r.initial:
		return screen.Good
	}
	return screen.Normal
}

// jsonRecord is the form of a record with --output json: one object per line.
type jsonRecord struct {
	Time      string         `json:"time"`
	Type      string         `json:"type"`
	Key       string         `json:"key"`
	Initial   bool           `json:"initial,omitempty"`
	LastKnown bool           `json:"lastKnown,omitempty"`
	Object    map[string]any `json:"object"`
}

func (f *formatter) json(r record) string {
	out := jsonRecord{
		Time: r.at.UTC().Format(time.RFC3339Nano), Type: r.typ, Key: r.key, Initial: r.initial, LastKnown: r.lastKnown,
		Object: r.object.Object,
	}
	if !f.managedFields {
		out.Object = withoutManagedFields(r.object)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(out); err != nil {
		panic("BUG: an object decoded from JSON can't be encoded: " + err.Error())
	}
	// The one character that JSON leaves as it is and a display does not.
	return string(bytes.ReplaceAll(bytes.TrimRight(b.Bytes(), "\n"), []byte{0x7f}, []byte(`\u007f`)))
}

// withoutManagedFields shares all else with u.
func withoutManagedFields(u *unstructured.Unstructured) map[string]any {
	metadata, ok := u.Object["metadata"].(map[string]any)
	if _, has := metadata["managedFields"]; !ok || !has {
		return u.Object
	}
	metadata = maps.Clone(metadata)
	delete(metadata, "managedFields")
	object := maps.Clone(u.Object)
	object["metadata"] = metadata
	return object
}
