package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

// WriteReport writes results as Markdown.
func (r *Results) WriteReport(out io.Writer, m Machine) error {
	verdicts, err := r.judge()
	if err != nil {
		return err
	}
	var b strings.Builder
	r.writeHead(&b, m)
	writeTargets(&b, verdicts)
	b.WriteString("\n## All workloads\n\nMedians of the rounds. The ratio is client-go's figure over this one's, in the unit that is set in bold: " +
		"over 1 is better than client-go; in parentheses its smallest and its largest over the rounds.\n")
	for i := range r.Workloads {
		r.Workloads[i].write(&b)
	}
	_, err = io.WriteString(out, b.String())
	return err
}

func (r *Results) writeHead(b *strings.Builder, m Machine) {
	b.WriteString("# Results of the benchmarks\n\nWritten by `go run ./bench/cmd/bench`: don't edit. What is measured and how is said in [doc.go](doc.go).\n\n")
	var memory []string
	for _, l := range m.Memory {
		memory = append(memory, fmt.Sprintf("%s ns within %s KB", number(l.ns), thousands(l.bytes>>10)))
	}
	fmt.Fprintf(b, "- Machine: %s, %d cores in use, %s/%s, Go %s\n", m.CPU, m.Cores, m.OS, m.Arch, m.Go)
	fmt.Fprintf(b, "- Memory: a read that waits for the one before takes %s\n", strings.Join(memory, ", "))
	fmt.Fprintf(b, "- Versions: %s\n", strings.Join(m.Versions, ", "))
	fmt.Fprintf(b, "- Objects: %s pods of 3 to 5 KB of JSON with 7 labels, in %s namespaces on %s nodes, of %s owners\n",
		thousands(r.Config.Objects), thousands(r.Config.Objects/perNamespace), thousands(r.Config.Objects/perNode), thousands(r.Config.Objects/perOwner))
	fmt.Fprintf(b, "- Rounds: up to %d, turns of about %s; the whole run took %s\n", r.Config.Count, r.Config.Time, r.Took.Round(time.Second))
}

func writeTargets(b *strings.Builder, verdicts []verdict) {
	if len(verdicts) == 0 {
		return
	}
	met := 0
	for _, v := range verdicts {
		if v.met {
			met++
		}
	}
	fmt.Fprintf(b, "\n## Targets: %d of %d met\n\n", met, len(verdicts))
	b.WriteString("By `typed` (packages informer and store) unless said.\n\n")
	b.WriteString("| workload | client-go | this module | ratio (least to greatest) | target | met |\n|---|--:|--:|--:|--:|---|\n")
	for _, v := range verdicts {
		want := fmt.Sprintf("%sx", number(v.times))
		if v.times == 0 {
			want = "at most " + value(v.atMost, v.unit)
		}
		answer := "yes"
		if !v.met {
			answer = "**no**"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", v.what, known(v.model, v.unit), value(v.measured.median, v.unit), ratio(v.ratio), want, answer)
	}
	for _, v := range verdicts {
		if !v.met && v.missed != "" {
			fmt.Fprintf(b, "\n*%s*: %s\n", v.what, v.missed)
		}
		if !v.met && len(v.profile) > 0 {
			fmt.Fprintf(b, "\nProfile (%s): %s.\n", v.contender, profileText(v.profile))
		}
	}
}

func profileText(shares []share) string {
	var parts []string
	for _, s := range shares {
		parts = append(parts, fmt.Sprintf("`%s` %.0f %%", s.function, s.part*100))
	}
	return strings.Join(parts, ", ")
}

func (r *Result) write(b *strings.Builder) {
	units := r.units()
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n|  | ratio |", r.Name, sentence(r.About))
	for _, unit := range units {
		if unit == r.Metric {
			unit = "**" + unit + "**"
		}
		fmt.Fprintf(b, " %s |", unit)
	}
	b.WriteString("\n|---|--:|" + strings.Repeat("--:|", len(units)) + "\n")
	for _, contender := range contenders {
		if _, ok := r.spread(contender, r.Metric); !ok {
			continue
		}
		compared := spread{}
		if contender != clientGo {
			compared, _ = r.ratio(contender, r.Metric)
		}
		fmt.Fprintf(b, "| %s | %s |", contender, ratio(compared))
		for _, unit := range units {
			measured, ok := r.spread(contender, unit)
			if !ok {
				b.WriteString(" – |")
				continue
			}
			fmt.Fprintf(b, " %s |", value(measured.median, unit))
		}
		b.WriteString("\n")
	}
}

// units are those that some contender reported, the one compared first. Where an operation is not what is measured, its time and
// allocations are not shown.
func (r *Result) units() []string {
	all := figures{}
	for _, round := range r.Rounds {
		for _, found := range round {
			for unit := range found {
				all[unit] = 0
			}
		}
	}
	units := sortedUnits(all)
	if r.Metric != "ns/op" {
		units = slices.DeleteFunc(units, func(unit string) bool { return unit == "ns/op" || unit == r.Metric })
		if slices.Contains([]string{"heap-MB", "B/object", "heap/live", "p99-ns", "longest-ns", "cpu-ns/op"}, r.Metric) {
			units = slices.DeleteFunc(units, func(unit string) bool { return unit == "B/op" || unit == "allocs/op" })
		}
		units = append([]string{r.Metric}, units...)
	}
	return units
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

// known is a median, "–" if there is none.
func known(s spread, unit string) string {
	if s == (spread{}) {
		return "–"
	}
	return value(s.median, unit)
}

func ratio(s spread) string {
	if s == (spread{}) {
		return "–"
	}
	return fmt.Sprintf("%sx (%s to %s)", number(s.median), number(s.least), number(s.greatest))
}

// value is a figure for people. Units of time and size are spelt out, others are known from the column.
func value(v float64, unit string) string {
	switch {
	case unit == "ns/op" || strings.HasSuffix(unit, "-ns") || unit == "cpu-ns/op":
		return duration(v)
	case unit == "heap-MB" || unit == "live-MB":
		return number(v) + " MB"
	case unit == "B/op" || unit == "B/object":
		return number(v) + " B"
	}
	return number(v)
}

func duration(ns float64) string {
	switch {
	case ns < 1e3:
		return number(ns) + " ns"
	case ns < 1e6:
		return number(ns/1e3) + " µs"
	case ns < 1e9:
		return number(ns/1e6) + " ms"
	}
	return number(ns/1e9) + " s"
}

// number has three digits that count, or all before the point.
func number(v float64) string {
	switch abs := math.Abs(v); {
	case abs >= 100:
		return thousands(int(math.Round(v)))
	case abs >= 10:
		return trimZeros(fmt.Sprintf("%.1f", v))
	}
	return trimZeros(fmt.Sprintf("%.2f", v))
}

func trimZeros(s string) string { return strings.TrimRight(strings.TrimRight(s, "0"), ".") }

func thousands(n int) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
