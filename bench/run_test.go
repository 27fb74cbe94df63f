package bench

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestMain(m *testing.M) {
	// What contenders have to say about watches that end is known.
	klog.SetLogger(logr.Discard())
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// TestRunMeasuresAllWorkloads does everything once, small.
func TestRunMeasuresAllWorkloads(t *testing.T) {
	var lines bytes.Buffer
	results, err := Run(Config{Objects: 2 * perNamespace, Count: 1, Short: true, Log: &lines})
	if err != nil {
		t.Fatal(err)
	}
	if len(results.Workloads) != len(workloads) {
		t.Fatalf("%d workloads were measured, want %d", len(results.Workloads), len(workloads))
	}
	line := regexp.MustCompile(`^Benchmark\S+/by=\S+\t\d+(\t[0-9.e+]+ \S+){4,}$|^Benchmark\S+/by=\S+\t\d+(\t[0-9.e+]+ \S+){3,}$`)
	for _, l := range strings.Split(strings.TrimSpace(lines.String()), "\n") {
		if !line.MatchString(l) {
			t.Errorf("benchstat could not read %q", l)
		}
	}
	for i, w := range workloads {
		r := &results.Workloads[i]
		for _, contender := range w.by {
			found := r.Rounds[0][contender]
			if found["ns/op"] <= 0 || found[w.metric] <= 0 {
				t.Errorf("%s by %s: measured %v", w.name(), contender, found)
			}
		}
		if len(r.Rounds[0]) != len(w.by) {
			t.Errorf("%s: %d contenders were measured, want %v", w.name(), len(r.Rounds[0]), w.by)
		}
		if !slices.Contains(w.by, clientGo) {
			t.Errorf("%s: nothing to compare with", w.name())
		}
	}
	verdicts, err := results.judge()
	if err != nil {
		t.Fatal(err)
	}
	if len(verdicts) != len(targets) {
		t.Errorf("%d verdicts on %d targets", len(verdicts), len(targets))
	}
	var report bytes.Buffer
	if err := results.WriteReport(&report, ThisMachine()); err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		if !strings.Contains(report.String(), "| "+target.what+" |") {
			t.Errorf("the report does not have target %q", target.what)
		}
	}
	for _, w := range workloads {
		if !strings.Contains(report.String(), "\n### "+w.name()+"\n") {
			t.Errorf("the report does not have workload %q", w.name())
		}
	}
}

func TestRunRefusesWhatCannotBe(t *testing.T) {
	for name, c := range map[string]Config{
		"no objects":            {Count: 1},
		"part of a namespace":   {Objects: 1500, Count: 1},
		"no rounds":             {Objects: 1000},
		"a number below nought": {Objects: -1000, Count: 1},
	} {
		if _, err := Run(c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestContendersTakeTurns: each round has another first.
func TestContendersTakeTurns(t *testing.T) {
	var order []string
	w := &workload{group: "Group", by: []string{"a", "b", "c"}, metric: "ns/op", n: 1, rounds: 3, prepare: func(_ *scope, contender string) (trial, error) {
		return func(m meter) {
			m.Start()
			order = append(order, contender)
			m.Stop()
		}, nil
	}}
	result, err := Config{Objects: 1000, Count: 5, Log: new(bytes.Buffer)}.run(newFixture(1000, false), w)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(order, ""), "abc"+"bca"+"cab"; got != want {
		t.Errorf("turns are %s, want %s", got, want)
	}
	if len(result.Rounds) != 3 {
		t.Errorf("%d rounds, want 3", len(result.Rounds))
	}
}

func TestRatiosAreMadeWithinRounds(t *testing.T) {
	r := &Result{Name: "W", Metric: "ns/op", Rounds: []map[string]figures{
		{typed: {"ns/op": 1}, clientGo: {"ns/op": 10}},
		{typed: {"ns/op": 100}, clientGo: {"ns/op": 200}},
		{typed: {"ns/op": 10}, clientGo: {"ns/op": 50}},
		{typed: {"ns/op": 7}},
	}}
	v, err := r.judge(target{workload: "W", contender: typed, times: 5})
	if err != nil {
		t.Fatal(err)
	}
	if v.ratio != (spread{2, 5, 10}) {
		t.Errorf("ratio is %v", v.ratio)
	}
	if v.measured != (spread{1, 8.5, 100}) {
		t.Errorf("measured %v", v.measured)
	}
	if !v.met {
		t.Error("5 times as good was not enough for 5 times")
	}
	if v, _ = r.judge(target{workload: "W", contender: typed, times: 5.1}); v.met {
		t.Error("5 times as good was enough for 5.1 times")
	}
	if v, _ = r.judge(target{workload: "W", contender: typed, atMost: 8}); v.met {
		t.Error("8.5 was not more than 8")
	}
	if _, err = r.judge(target{workload: "W", contender: throughCache, times: 1}); err == nil {
		t.Error("what was not measured was judged")
	}
}

func TestFiguresForPeople(t *testing.T) {
	for _, c := range []struct {
		v          float64
		unit, want string
	}{
		{71.04, "ns/op", "71 ns"}, {1650, "ns/op", "1.65 µs"}, {58e6, "p99-ns", "58 ms"}, {2.5e9, "cpu-ns/op", "2.5 s"},
		{0, "B/op", "0 B"}, {123456, "B/op", "123,456 B"}, {4.96, "heap-MB", "4.96 MB"}, {1.05, "heap/live", "1.05"}, {1000, "told", "1,000"},
	} {
		if got := value(c.v, c.unit); got != c.want {
			t.Errorf("%v %s is %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
