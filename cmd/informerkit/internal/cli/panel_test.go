package cli

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/informerkit/informerkit/cmd/informerkit/internal/objdiff"
	"github.com/informerkit/informerkit/cmd/informerkit/internal/screen"
)

func texts(lines []screen.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

func TestTableLines(t *testing.T) {
	lines := tableLines([]row{
		{kind: "nodes", objects: 4, rv: "12", rate: 0.5, lag: 400 * time.Microsecond, lists: 1, state: "watching"},
		{kind: "deployments", objects: 1000, rv: "1234567", rate: 1234.56, lag: 3200 * time.Millisecond, backlog: 17, slow: 250, lists: 3, state: "backing off"},
		{kind: "pods", state: "idle"},
	})
	want := `
KIND         OBJECTS       RV  EVENTS/S    LAG  BACKLOG  SLOW  LISTS  STATE
nodes              4       12       0.5  0.4ms        0     0      1  watching
deployments     1000  1234567    1234.6   3.2s       17   250      3  backing off
pods               0        -       0.0      0        0     0      0  idle
`
	if got := "\n" + texts(lines); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
	for i, style := range []screen.Style{screen.Strong, screen.Normal, screen.Notable, screen.Notable} {
		if lines[i].Style != style {
			t.Errorf("line %d has style %d", i, lines[i].Style)
		}
	}
}

func TestStreamLines(t *testing.T) {
	all := records(t)
	all = append(all, record{at: noon, typ: typeAdded, key: "a", object: &unstructured.Unstructured{}})
	var lines []screen.Line
	for _, r := range all {
		lines = append(lines, streamLine("pods", r))
	}
	lines = append(lines, eventLine(noon, "FAULT", "pods: the watch ends", screen.Bad))
	want := `
12:00:00.250  ADDED    pods         shop/web-1            Pending
12:00:01.250  UPDATED  pods         shop/web-1            spec.containers[name=web].image: "web:1" -> "web:2", and 2 more
12:00:02.250  ADDED    pods         node-with-a-name-of-some-length.example.com  NotReady
12:00:03.250  DELETED  pods         shop/web-1            was Running
12:00:03.250  DELETED  pods         shop/web-1            (last known: the deletion itself was not seen)
12:00:00.250  ADDED    pods         a
12:00:00.250  FAULT    pods: the watch ends
`
	if got := "\n" + texts(lines); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
}

func TestHeadlineIsTheMostTellingChange(t *testing.T) {
	for _, test := range []struct {
		name     string
		old, new map[string]any
		want     string
	}{
		{"nothing", map[string]any{}, map[string]any{}, ""},
		{"only one", map[string]any{}, map[string]any{"data": int64(1)}, "data: <none> -> 1"},
		{"spec before status", map[string]any{"spec": map[string]any{"a": int64(1)}, "status": map[string]any{"phase": "A"}},
			map[string]any{"spec": map[string]any{"a": int64(2)}, "status": map[string]any{"phase": "B"}}, "spec.a: 1 -> 2, and 1 more"},
		{"phase before the rest of status", map[string]any{"status": map[string]any{"a": "x", "phase": "A"}},
			map[string]any{"status": map[string]any{"a": "y", "phase": "B"}}, `status.phase: "A" -> "B", and 1 more`},
		{"value before object", map[string]any{"spec": map[string]any{}},
			map[string]any{"spec": map[string]any{"a": map[string]any{}, "b": int64(1)}}, `spec.b: <none> -> 1, and 1 more`},
	} {
		if got := headline(objdiff.Diff(test.old, test.new)); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestLagText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", time.Microsecond: "0.1ms", 420 * time.Microsecond: "0.4ms", 9940 * time.Microsecond: "9.9ms",
		10 * time.Millisecond: "10ms", 999 * time.Millisecond: "999ms", 1500 * time.Millisecond: "1.5s", 2 * time.Minute: "120.0s",
	} {
		if got := lagText(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestMeterTellsTheRateOfTheLastSeconds(t *testing.T) {
	var m meter
	if got := m.perSecond(5, noon); got != 0 {
		t.Errorf("rate %v of one sample", got)
	}
	count := 5
	for i := 1; i <= 100; i++ { // 10 s: 20 per second, then 5 s of nothing
		if i <= 50 {
			count += 2
		}
		got := m.perSecond(count, noon.Add(time.Duration(i)*time.Second/10))
		if want := 20.0; i <= 50 && (got < want-0.1 || got > want+0.1) {
			t.Fatalf("after %d: %v per second", i, got)
		}
		if i > 72 && got != 0 {
			t.Fatalf("after %d: %v per second of nothing", i, got)
		}
	}
	if len(m.samples) > 30 {
		t.Errorf("%d samples are kept", len(m.samples))
	}
}

// TestLedgerAgainstAList compares a ledger with a plain list of all writes.
func TestLedgerAgainstAList(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var l ledger
		var kept []write
		now, rv, count := noon, uint64(0), 0
		for range 100 {
			now = now.Add(time.Duration(r.IntN(1000)) * time.Millisecond)
			switch r.IntN(4) {
			case 0, 1:
				rv += 1 + r.Uint64N(5)
				count++
				l.wrote(rv, now)
				kept = append(kept, write{rv, now})
			case 2:
				before := now.Add(-time.Duration(r.IntN(10_000)) * time.Millisecond)
				l.forget(before)
				for len(kept) > 1 && kept[0].at.Before(before) {
					kept = kept[1:]
				}
			}
			if last, total := l.last(); last != rv || total != count {
				t.Fatalf("last %d of %d, want %d of %d", last, total, rv, count)
			}
			seen := r.Uint64N(rv + 3)
			var behind time.Duration
			var at time.Time
			for _, w := range kept {
				if w.rv > seen && behind == 0 {
					behind = now.Sub(w.at)
				}
				if w.rv == seen {
					at = w.at
				}
			}
			if got := l.behind(seen, now); got != behind {
				t.Fatalf("behind %v, want %v", got, behind)
			}
			if got, ok := l.at(seen); !got.Equal(at) || ok == at.IsZero() {
				t.Fatalf("at %v %v, want %v", got, ok, at)
			}
		}
	}
}

func TestSummary(t *testing.T) {
	seen := counts{writes: 10, events: 12, problems: 1, lists: 4}
	many := make([]string, maxDifferences+3)
	for i := range many {
		many[i] = "p is missing"
	}
	lines, err := summary(1500*time.Millisecond, seen, 2, []verdict{{kind: "nodes", objects: 4}, {kind: "pods", objects: 20}})
	want := `
1.5s: 10 writes by the workload, 12 events told, 2 faults, 1 problems noticed, 4 lists
equal to the server's, object by object, in the store and as told to the handler: 4 nodes, 20 pods
`
	if got := "\n" + texts(lines); got != want || err != nil {
		t.Errorf("got%s%v", got, err)
	}
	lines, err = summary(1500*time.Millisecond, seen, 2, []verdict{{kind: "nodes", objects: 4}, {kind: "pods", objects: 20, stored: []string{"a: x: 1 -> 2"}, told: many}})
	want = `
1.5s: 10 writes by the workload, 12 events told, 2 faults, 1 problems noticed, 4 lists
pods, the store: a: x: 1 -> 2
` + strings.Repeat("pods, what the handler was told: p is missing\n", maxDifferences) + `pods, what the handler was told: and 3 more
equal to the server's, object by object, in the store and as told to the handler: 4 nodes
`
	if got := "\n" + texts(lines); got != want || err == nil || exitCode(err) != ExitFailed {
		t.Errorf("got%s%v", got, err)
	}
}
