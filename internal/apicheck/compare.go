package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// result is how the facts of two packages differ. All lists are sorted.
type result struct {
	missing   []string // keys
	different []string // keys
	intended  []string // keys, missing or different, with a reason
	stale     []string // keys with a reason that are neither missing nor different
	added     []string // keys

	want, got facts
	reasons   map[string]string
}

func (r *result) ok() bool {
	return len(r.missing) == 0 && len(r.different) == 0 && len(r.stale) == 0
}

// compare finds what got lacks of want. reasons are those for intended differences, by key.
func compare(want, got facts, reasons map[string]string) *result {
	r := &result{want: want, got: got, reasons: reasons}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		offered, ok := got[key]
		_, intended := reasons[key]
		switch {
		case ok && offered == want[key]:
			if intended {
				r.stale = append(r.stale, key)
			}
		case intended:
			r.intended = append(r.intended, key)
		case ok:
			r.different = append(r.different, key)
		default:
			r.missing = append(r.missing, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(reasons)) {
		if _, ok := want[key]; !ok {
			r.stale = append(r.stale, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			r.added = append(r.added, key)
		}
	}
	return r
}

func (r *result) print(out io.Writer) {
	for _, key := range r.missing {
		fmt.Fprintf(out, "missing: %s\n\twant %s\n", key, r.want[key])
	}
	for _, key := range r.different {
		fmt.Fprintf(out, "different: %s\n\twant %s\n\tgot  %s\n", key, r.want[key], r.got[key])
	}
	for _, key := range r.stale {
		fmt.Fprintf(out, "stale: %s is no difference any more, though differences.txt says so\n", key)
	}
	for _, key := range r.intended {
		got, ok := r.got[key]
		if !ok {
			got = "nothing"
		}
		fmt.Fprintf(out, "intended: %s (%s)\n\twant %s\n\tgot  %s\n", key, r.reasons[key], r.want[key], got)
	}
	for _, key := range r.added {
		fmt.Fprintf(out, "added: %s %s\n", key, r.got[key])
	}
}

// parseIntended reads the list of intended differences: lines of "KEY: REASON". Empty lines and those that begin with #
// say nothing.
func parseIntended(file string) (map[string]string, error) {
	reasons := map[string]string{}
	number := 0
	for line := range strings.Lines(file) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, reason, ok := strings.Cut(line, ": ")
		if !ok || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("differences.txt:%d: want KEY: REASON", number)
		}
		if _, ok := reasons[key]; ok {
			return nil, fmt.Errorf("differences.txt:%d: a second line for %q", number, key)
		}
		reasons[key] = strings.TrimSpace(reason)
	}
	return reasons, nil
}
