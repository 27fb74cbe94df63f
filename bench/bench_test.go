package bench

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The benchmarks are the runner's workloads, for Go's own tools. Of the number of objects INFORMERKIT_BENCH_OBJECTS says another
// one than 100,000.

func BenchmarkRelist(b *testing.B)        { benchmark(b) }
func BenchmarkOverhead(b *testing.B)      { benchmark(b) }
func BenchmarkGet(b *testing.B)           { benchmark(b) }
func BenchmarkListAll(b *testing.B)       { benchmark(b) }
func BenchmarkListNamespace(b *testing.B) { benchmark(b) }
func BenchmarkByIndex(b *testing.B)       { benchmark(b) }
func BenchmarkUpdate(b *testing.B)        { benchmark(b) }
func BenchmarkDeleteAdd(b *testing.B)     { benchmark(b) }
func BenchmarkBatch(b *testing.B)         { benchmark(b) }
func BenchmarkReplaceAll(b *testing.B)    { benchmark(b) }
func BenchmarkWriteLatency(b *testing.B)  { benchmark(b) }
func BenchmarkEvents(b *testing.B)        { benchmark(b) }
func BenchmarkLateHandler(b *testing.B)   { benchmark(b) }
func BenchmarkResync(b *testing.B)        { benchmark(b) }
func BenchmarkBacklog(b *testing.B)       { benchmark(b) }

// shared is the fixture of all benchmarks of a run.
var shared *fixture

func benchmark(b *testing.B) {
	if shared == nil {
		shared = newFixture(benchObjects(b), testing.Short())
	}
	for i := range workloads {
		w := &workloads[i]
		if "Benchmark"+w.group != b.Name() {
			continue
		}
		for _, contender := range w.by {
			b.Run(strings.TrimPrefix(w.params+"/by="+contender, "/"), func(b *testing.B) {
				s := shared.scope()
				defer s.close()
				t, err := w.prepare(s, contender)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				b.ResetTimer()
				b.ReportAllocs()
				m := &benchMeter{b: b}
				t(m)
				if m.excluded > 0 {
					b.ReportMetric(float64((b.Elapsed()-m.excluded).Nanoseconds())/float64(b.N), "ns/op")
				}
			})
		}
	}
}

func benchObjects(b *testing.B) int {
	text := os.Getenv("INFORMERKIT_BENCH_OBJECTS")
	if text == "" {
		return 100_000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal("INFORMERKIT_BENCH_OBJECTS: ", err)
	}
	return n
}

// benchMeter is a meter of Go's.
type benchMeter struct {
	b        *testing.B
	excluded time.Duration
}

func (m *benchMeter) N() int                            { return m.b.N }
func (m *benchMeter) Start()                            { m.b.StartTimer() }
func (m *benchMeter) Stop()                             { m.b.StopTimer() }
func (m *benchMeter) Exclude(d time.Duration)           { m.excluded += d }
func (m *benchMeter) Report(value float64, unit string) { m.b.ReportMetric(value, unit) }
