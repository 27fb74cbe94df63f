package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/informerkit/informerkit/cmd/informerkit/internal/objdiff"
	"github.com/informerkit/informerkit/cmd/informerkit/internal/screen"
)

// verdict is how a copy compares with the server's objects.
type verdict struct {
	kind    string
	objects int // of the server
	// stored and told say, a line each, where what the store holds and what the handler was told differ from them.
	stored, told []string
}

func (v verdict) equal() bool { return len(v.stored)+len(v.told) == 0 }

// maxDifferences bounds what the summary tells of each copy.
const maxDifferences = 10

// summary is the demo's last words. The error says which copies differ.
func summary(took time.Duration, seen counts, faults int, verdicts []verdict) ([]screen.Line, error) {
	lines := []screen.Line{{Text: fmt.Sprintf("%.1fs: %d writes by the workload, %d events told, %d faults, %d problems noticed, %d lists",
		took.Seconds(), seen.writes, seen.events, faults, seen.problems, seen.lists)}}
	var same, other []string
	for _, v := range verdicts {
		if v.equal() {
			same = append(same, fmt.Sprintf("%d %s", v.objects, v.kind))
			continue
		}
		other = append(other, v.kind)
		for _, part := range []struct {
			what  string
			lines []string
		}{{"the store", v.stored}, {"what the handler was told", v.told}} {
			for i, text := range part.lines {
				if i == maxDifferences {
					text = fmt.Sprintf("and %d more", len(part.lines)-i)
				}
				lines = append(lines, screen.Line{Text: fmt.Sprintf("%s, %s: %s", v.kind, part.what, text), Style: screen.Bad})
				if i == maxDifferences {
					break
				}
			}
		}
	}
	if len(same) > 0 {
		lines = append(lines, screen.Line{Style: screen.Good, Text: "equal to the server's, object by object, in the store and as told to the handler: " +
			strings.Join(same, ", ")})
	}
	if len(other) > 0 {
		return lines, fmt.Errorf("copies differ from the server's objects: %s", strings.Join(other, ", "))
	}
	return lines, nil
}

// differences compares objects one by one, field by field.
func differences[T object](want, got map[string]T) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		obj, ok := got[key]
		if !ok {
			out = append(out, key+" is missing")
			continue
		}
		for _, c := range objdiff.Diff(wholeContent(want[key]), wholeContent(obj)) {
			out = append(out, fmt.Sprintf("%s: %s", key, c))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			out = append(out, key+" does not exist any more")
		}
	}
	return out
}

// wholeContent is obj without the kind that some ways of decoding fill in and others don't.
func wholeContent[T object](obj T) map[string]any {
	object := content(obj).Object
	delete(object, "kind")
	delete(object, "apiVersion")
	return object
}
