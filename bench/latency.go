package bench

import (
	"math/rand/v2"
	"time"
)

// latency is how long a read takes that has to wait for the one before, within so much memory.
type latency struct {
	bytes int
	ns    float64
}

// latencies are this machine's: within its caches, and beyond them. They are what the ways to look a key up are made of.
func latencies() []latency {
	found := []latency{{bytes: 32 << 10}, {bytes: 512 << 10}, {bytes: 4 << 20}, {bytes: 64 << 20}}
	for i := range found {
		found[i].ns = readLatency(found[i].bytes)
	}
	return found
}

// cacheLine is what memory is read by.
const cacheLine = 64

type line [cacheLine / 8]uint64

// newChain returns n lines, the first word of each the number of the next.
func newChain(n int) []line {
	lines := make([]line, n)
	order := rand.New(rand.NewPCG(1, 2)).Perm(n)
	for i, at := range order {
		lines[at][0] = uint64(order[(i+1)%n])
	}
	return lines
}

// readLatency follows a chain through so much memory, which goes to and fro in it at random.
func readLatency(bytes int) float64 {
	lines := newChain(bytes / cacheLine)
	const reads = 300_000
	at := uint64(0)
	least := time.Duration(1<<63 - 1)
	for range 4 { // what it reads first is in no cache yet
		began := time.Now()
		for range reads {
			at = lines[at][0]
		}
		least = min(least, time.Since(began))
	}
	touched += byte(at)
	return float64(least.Nanoseconds()) / reads
}
