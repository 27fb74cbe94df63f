package bench

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Config says how to run. See [Run].
type Config struct {
	// Objects is how many pods there are: a positive multiple of 1,000.
	Objects int
	// Count is how many rounds there are, in each of which every contender has a turn. At least 1.
	Count int
	// Time is how long a turn takes, about, where that can be chosen. Turns are longer where a single operation is.
	Time time.Duration
	// Match selects what to measure by name ("Get/readers=1/by=typed"). Nil: all.
	Match *regexp.Regexp
	// Short makes everything as short as it gets: what is measured then means nothing.
	Short bool
	// Log gets each measurement, in the format of Go's benchmarks, so that benchstat can read it. Nil: nobody does.
	Log io.Writer
}

// Results are what a run measured.
type Results struct {
	Config    Config
	Took      time.Duration
	Workloads []Result
}

// Result is what was measured of one workload.
type Result struct {
	Name, About string
	// Metric is the unit of the figure that contenders are compared by.
	Metric string
	// Rounds has what each contender measured in each round, by unit.
	Rounds []map[string]figures
	// Profiles say where the time went of those contenders that did not reach a target. Watching is no part of the rounds.
	Profiles map[string][]share
}

// Run measures. Contenders take turns within each round, and another one is the first in each.
func Run(c Config) (*Results, error) {
	if c.Objects <= 0 || c.Objects%perNamespace != 0 {
		return nil, fmt.Errorf("%d objects: must be a positive multiple of %d", c.Objects, perNamespace)
	}
	if c.Count < 1 {
		return nil, fmt.Errorf("%d rounds: must be 1 at least", c.Count)
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	began := time.Now()
	f := newFixture(c.Objects, c.Short)
	defer f.close()
	results := &Results{Config: c}
	for i := range workloads {
		w := &workloads[i]
		result, err := c.run(f, w)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name(), err)
		}
		if len(result.Rounds) > 0 {
			results.Workloads = append(results.Workloads, result)
		}
	}
	results.Took = time.Since(began)
	return results, nil
}

// turn is a contender's place in a workload's rounds.
type turn struct {
	contender string
	trial     trial
	n         int
	rounds    int
}

func (c Config) run(f *fixture, w *workload) (Result, error) {
	s := f.scope()
	defer s.close()
	result := Result{Name: w.name(), About: w.about, Metric: w.metric}
	var turns []turn
	for _, contender := range w.by {
		if c.Match != nil && !c.Match.MatchString(w.name()+"/by="+contender) {
			continue
		}
		t, err := w.prepare(s, contender)
		if err != nil {
			return result, fmt.Errorf("%s: %w", contender, err)
		}
		turns = append(turns, c.turn(w, contender, t))
	}
	for round := range c.Count {
		measured := map[string]figures{}
		for i := range turns {
			t := turns[(round+i)%len(turns)]
			if round >= t.rounds {
				continue
			}
			clean()
			found, _ := measure(t.trial, t.n)
			measured[t.contender] = found
			logLine(c.Log, w, t, found)
		}
		if len(measured) > 0 {
			result.Rounds = append(result.Rounds, measured)
		}
	}
	return result, c.profile(&result, turns)
}

// profile watches those who took more time than a target says.
func (c Config) profile(r *Result, turns []turn) error {
	for _, t := range turns {
		if !r.slow(t.contender) {
			continue
		}
		atLeast := profileTime
		if c.Short {
			atLeast = 0
		}
		clean()
		found, err := profileOf(t.trial, t.n, atLeast)
		if err != nil {
			return err
		}
		if r.Profiles == nil {
			r.Profiles = map[string][]share{}
		}
		r.Profiles[t.contender] = found
	}
	return nil
}

// Of turns that take slowTurn there are slowRounds, unless the workload says something else.
const (
	slowTurn   = time.Second
	slowRounds = 3
)

// turn finds out how many operations a contender's turns have, and how many turns it has. That warms up, too.
func (c Config) turn(w *workload, contender string, t trial) turn {
	result := turn{contender, t, max(w.n, 1), c.Count}
	switch {
	case c.Short:
		result.n = 1
	case w.rounds > 0:
		result.rounds = w.rounds
	case w.n > 0:
		measure(t, 1)
	default:
		var took time.Duration
		result.n, took = calibrate(t, c.Time)
		if took > slowTurn {
			result.rounds = slowRounds
		}
	}
	return result
}

func logLine(out io.Writer, w *workload, t turn, found figures) {
	var line strings.Builder
	fmt.Fprintf(&line, "Benchmark%s/by=%s\t%d", w.name(), t.contender, t.n)
	for _, unit := range sortedUnits(found) {
		fmt.Fprintf(&line, "\t%.4g %s", found[unit], unit)
	}
	fmt.Fprintln(out, line.String())
}

// sortedUnits are the units of figures: first those that every trial has.
func sortedUnits(found figures) []string {
	units := []string{"ns/op", "B/op", "allocs/op"}
	var own []string
	for unit := range found {
		if unit != units[0] && unit != units[1] && unit != units[2] {
			own = append(own, unit)
		}
	}
	slices.Sort(own)
	return append(units, own...)
}
