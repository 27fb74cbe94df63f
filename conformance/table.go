package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// row is what came of one suite.
type row struct {
	family, suite string
	theirs, ours  results
	regressions   []test
	flaky         []test // lost at first, but not when run again; or lost on client-go's, too
	baselineOnly  bool
}

// printTable prints a line per suite, and each test that was lost.
func printTable(out io.Writer, rows []row) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "SUITE\tPASSED ON CLIENT-GO\tPASSED ON OURS\tLOST\tFLAKY\tFAILED ON BOTH\t")
	for _, r := range rows {
		if r.baselineOnly {
			fmt.Fprintf(w, "%s %s\t%d\t-\t-\t-\t%d\t\n", r.family, r.suite, r.theirs.count(passed), r.theirs.count(failed))
			continue
		}
		fmt.Fprintf(w, "%s %s\t%d\t%d\t%d\t%d\t%d\t\n", r.family, r.suite, r.theirs.count(passed), r.ours.count(passed),
			len(r.regressions), len(r.flaky), failedOnBoth(r.theirs, r.ours))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		for _, t := range r.regressions {
			fmt.Fprintf(out, "LOST   %s\n", t)
		}
		for _, t := range r.flaky {
			fmt.Fprintf(out, "flaky  %s\n", t)
		}
	}
	return nil
}

func failedOnBoth(theirs, ours results) int {
	n := 0
	for t, was := range theirs {
		if t.Name != "" && was == failed && ours[t] == failed {
			n++
		}
	}
	return n
}
