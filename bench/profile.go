package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	pprofile "github.com/google/pprof/profile"
)

// share is a function's part of the processor time of a trial, from 0 to 1.
type share struct {
	function string
	part     float64
}

const (
	// profileTime is how long a trial is watched. Samples are 10 ms apart.
	profileTime = 3 * time.Second
	// leastShare is the least that is told.
	leastShare = 0.03
)

// profileOf repeats a trial and returns where the time went, the most first. What is not said is below leastShare each.
func profileOf(t trial, n int, atLeast time.Duration) ([]share, error) {
	var raw bytes.Buffer
	if err := pprof.StartCPUProfile(&raw); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	for began := time.Now(); ; {
		measure(t, n)
		if time.Since(began) >= atLeast {
			break
		}
	}
	pprof.StopCPUProfile()
	p, err := pprofile.Parse(&raw)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return shares(p), nil
}

// unmeasured are the functions that make what a trial needs, in time that does not count.
var unmeasured = map[string]bool{"bench.receive": true, "bench.(*lists).next": true, "bench.(*source).states": true}

// runtimeItself stands for what nobody called.
const runtimeItself = "garbage collector and scheduler"

// shares adds up what each function takes of all samples that count.
func shares(p *pprofile.Profile) []share {
	taken, all := map[string]int64{}, int64(0)
	for _, s := range p.Sample {
		if function, measured := takerOf(s); measured {
			taken[function] += s.Value[0]
			all += s.Value[0]
		}
	}
	var found []share
	for function, samples := range taken {
		if part := float64(samples) / float64(all); part >= leastShare {
			found = append(found, share{function, part})
		}
	}
	slices.SortFunc(found, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.part, a.part), cmp.Compare(a.function, b.function))
	})
	return found
}

// takerOf gives a sample to the innermost function that is not of Go's own packages: what those take, the one that calls them
// takes. measured: no function of unmeasured called it.
func takerOf(s *pprofile.Sample) (function string, measured bool) {
	function = runtimeItself
	for _, location := range s.Location { // from the innermost out, as are the lines of one, which are inlined calls
		for _, line := range location.Line {
			name, own := functionOf(line.Function.Name)
			switch {
			case unmeasured[name]:
				return "", false
			case own && function == runtimeItself:
				function = name
			}
		}
	}
	return function, true
}

// functionOf is a function's name for people: the last element of its package's path, no type arguments. own: it is not of
// Go's own packages.
func functionOf(symbol string) (name string, own bool) {
	var b strings.Builder
	depth := 0
	for _, r := range symbol {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	name = b.String()
	first, _, isPath := strings.Cut(name, "/")
	own = isPath && strings.Contains(first, ".")
	return name[strings.LastIndex(name, "/")+1:], own
}
