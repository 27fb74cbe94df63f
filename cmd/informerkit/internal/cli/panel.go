package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/informerkit/informerkit/cmd/informerkit/internal/objdiff"
	"github.com/informerkit/informerkit/cmd/informerkit/internal/screen"
)

// row is one line of the demo's table.
type row struct {
	kind          string
	objects       int
	rv            string
	rate          float64 // events per second
	lag           time.Duration
	backlog, slow int // changes that the handlers have not been told yet
	lists         int
	state         string
}

var rowColumns = []screen.Column{
	{Title: "KIND", Min: 11}, {Title: "OBJECTS", Right: true}, {Title: "RV", Right: true, Min: 5}, {Title: "EVENTS/S", Right: true},
	{Title: "LAG", Right: true, Min: 5}, {Title: "BACKLOG", Right: true}, {Title: "SLOW", Right: true}, {Title: "LISTS", Right: true},
	{Title: "STATE", Min: 11},
}

func (r row) cells() []string {
	return []string{
		r.kind, strconv.Itoa(r.objects), r.rv, strconv.FormatFloat(r.rate, 'f', 1, 64), lagText(r.lag), strconv.Itoa(r.backlog),
		strconv.Itoa(r.slow), strconv.Itoa(r.lists), r.state,
	}
}

// lagText is a duration in three digits or so.
func lagText(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return fmt.Sprintf("%.1fms", max(float64(d)/float64(time.Millisecond), 0.1))
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}

// tableLines is the demo's table.
func tableLines(rows []row) []screen.Line {
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, r.cells())
	}
	var out []screen.Line
	for i, text := range screen.Table(rowColumns, cells) {
		style := screen.Strong
		if i > 0 && rows[i-1].state != "watching" {
			style = screen.Notable
		} else if i > 0 {
			style = screen.Normal
		}
		out = append(out, screen.Line{Text: text, Style: style})
	}
	return out
}

// streamLine is one change in the demo's stream: "12:00:00.000  UPDATED  pods  shop/web-1  spec.nodeName: <none> -> "node-1"".
func streamLine(resource string, r record) screen.Line {
	detail := ""
	switch {
	case r.old != nil:
		detail = headline(objdiff.Diff(r.old.Object, r.object.Object, "metadata.resourceVersion", "metadata.generation", "metadata.managedFields"))
	case r.lastKnown:
		detail = "(last known: the deletion itself was not seen)"
	case statusOf(r.object) == "":
	case r.typ == typeDeleted:
		detail = "was " + statusOf(r.object)
	default:
		detail = statusOf(r.object)
	}
	text := fmt.Sprintf("%s  %-7s  %-11s  %-20s  %s", r.at.Format(timeOfDay), r.typ, resource, r.key, detail)
	return screen.Line{Text: strings.TrimRight(text, " "), Style: styleOf(r)}
}

// headline is the most telling change, and how many more there are: spec before status before the rest, and what is a plain value before what is
// an object or list.
func headline(changes []objdiff.Change) string {
	best, bestRank := -1, 0
	for i, c := range changes {
		rank := 1
		switch path := c.Path.String(); {
		case strings.HasPrefix(path, "spec."):
			rank = 4
		case path == "status.phase":
			rank = 3
		case strings.HasPrefix(path, "status."):
			rank = 2
		}
		rank *= 2
		switch c.New.(type) {
		case map[string]any, []any:
			rank--
		}
		if rank > bestRank {
			best, bestRank = i, rank
		}
	}
	switch {
	case best < 0:
		return ""
	case len(changes) == 1:
		return changes[best].String()
	}
	return fmt.Sprintf("%s, and %d more", changes[best], len(changes)-1)
}

// eventLine is a line of the stream about what goes on around the changes.
func eventLine(at time.Time, word, text string, style screen.Style) screen.Line {
	return screen.Line{Text: fmt.Sprintf("%s  %-7s  %s", at.Format(timeOfDay), word, text), Style: style}
}

// meter tells a rate from a growing count. The zero value works.
type meter struct {
	samples []sample
}

type sample struct {
	count int
	at    time.Time
}

// meterWindow is the time that a rate is taken over.
const meterWindow = 2 * time.Second

// perSecond notes the count at now and is how fast it grew lately.
func (m *meter) perSecond(count int, now time.Time) float64 {
	m.samples = append(m.samples, sample{count, now})
	for len(m.samples) > 2 && now.Sub(m.samples[1].at) >= meterWindow {
		m.samples = m.samples[1:]
	}
	first := m.samples[0]
	elapsed := now.Sub(first.at)
	if elapsed <= 0 {
		return 0
	}
	return float64(count-first.count) / elapsed.Seconds()
}
