package feed

import (
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestABlockedReaderWaitsBehindAtMostOneChangePerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, updates = 10, 10_000
		log, appender := New[int]()
		c := log.Cursor(LatestState)
		defer c.Close()
		state := make([]int, keys)
		for i := range updates {
			k := i % keys
			appender.Append(Change[int]{Kind: Updated, Key: fmt.Sprint("k", k), Old: state[k], New: state[k] + 1})
			state[k]++
			if b := c.Backlog(); b.Changes > keys {
				t.Fatalf("%d wait after %d updates", b.Changes, i+1)
			}
		}
		dst := make([]Change[int], updates)
		n := c.Next(dst)
		if n != keys || c.Position() != updates {
			t.Fatalf("got %d changes, at %d", n, c.Position())
		}
		for k, got := range dst[:n] {
			want := Change[int]{Kind: Updated, Key: fmt.Sprint("k", k), Old: 0, New: updates / keys, Merged: true}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		}
	})
}

func TestMergingNeedsNoReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, appender := New[int]()
		c := log.Cursor(LatestState)
		defer c.Close()
		for n := range 20 {
			for i := range 1000 {
				appender.Append(set(fmt.Sprint("k", i%10), n))
			}
			synctest.Wait() // until merging has ended
			if lag := log.End() - c.at.pos; lag > foldLag+maxSegment {
				t.Fatalf("%d changes were left unmerged", lag)
			}
			if !ended(c.folding) {
				t.Fatal("the merging goroutine waits for something")
			}
			time.Sleep(time.Minute)
		}
		if b := c.Backlog(); b.Changes != 10 || b.Age != 20*time.Minute {
			t.Fatalf("backlog is %+v", b)
		}
	})
}

func TestAReaderThatKeepsUpHasNoGoroutine(t *testing.T) {
	log, appender := New[int]()
	c := log.Cursor(LatestState)
	defer c.Close()
	dst := make([]Change[int], foldLag)
	for i := range 100 * maxSegment {
		appender.Append(set("a", i))
		if i%(foldLag/2) == 0 {
			for c.Next(dst) > 0 {
			}
		}
	}
	if c.folding != nil {
		t.Fatal("a goroutine was started")
	}
}

func TestABatchIsLeftToTheReaderFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, appender := New[int]()
		c := log.Cursor(LatestState)
		defer c.Close()
		batch := make([]Change[int], 10*maxSegment)
		for i := range batch {
			batch[i] = set(fmt.Sprint("k", i), 1)
		}
		if appender.Append(batch...); c.folding != nil {
			t.Fatal("merging has started at once")
		}
		if appender.Append(batch...); c.folding == nil {
			t.Fatal("merging has not started when the reader had its time")
		}
		synctest.Wait()
		if c.at.pos != log.End() {
			t.Fatalf("merging has stopped at %d of %d", c.at.pos, log.End())
		}
	})
}

func TestAHugeBatchIsMergedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, appender := New[int]()
		c := log.Cursor(LatestState)
		defer c.Close()
		batch := make([]Change[int], helpLag+1)
		for i := range batch {
			batch[i] = set(fmt.Sprint("k", i%10), 1)
		}
		appender.Append(batch...)
		synctest.Wait()
		if c.at.pos != log.End() {
			t.Fatalf("at %d of %d", c.at.pos, log.End())
		}
	})
}

func TestCloseWaitsForMerging(t *testing.T) {
	log, appender := New[int]()
	for range 50 {
		c := log.Cursor(LatestState)
		changes := make([]Change[int], 2*helpLag)
		for i := range changes {
			changes[i] = set(fmt.Sprint("k", i), 1)
		}
		appender.Append(changes...)
		if c.folding == nil {
			t.Fatal("nothing merges")
		}
		c.Close()
		if !ended(c.folding) {
			t.Fatal("still merging after Close")
		}
	}
}

func TestReadingGoesOnWhileOthersMerge(t *testing.T) {
	log, appender := New[int]()
	c := log.Cursor(LatestState)
	defer c.Close()
	const keys, rounds = 5000, 20
	told := make(map[string]int)
	dst := make([]Change[int], 100)
	changes := make([]Change[int], keys)
	for r := range rounds {
		for i := range changes {
			changes[i] = set(fmt.Sprint("k", i), r+1)
		}
		appender.Append(changes...) // merging starts
		for range 10 {
			for _, change := range dst[:c.Next(dst)] {
				if change.Old != told[change.Key] {
					t.Fatalf("told %+v after %d", change, told[change.Key])
				}
				told[change.Key] = change.New
			}
			runtime.Gosched()
		}
	}
	for c.Position() < log.End() {
		for _, change := range dst[:c.Next(dst)] {
			if change.Old != told[change.Key] {
				t.Fatalf("told %+v after %d", change, told[change.Key])
			}
			told[change.Key] = change.New
		}
	}
	for key, n := range told {
		if n != rounds {
			t.Fatalf("%s is %d at the end", key, n)
		}
	}
	if len(told) != keys {
		t.Fatalf("told of %d keys", len(told))
	}
}

func TestTheAppenderHelpsIfMergingFallsFarBehind(t *testing.T) {
	log, appender := New[int]()
	cursors := make([]*Cursor[int], 5)
	stuck := make(chan struct{})
	for i := range cursors {
		cursors[i] = log.Cursor(LatestState)
		cursors[i].folding = stuck // a goroutine that gets no time to run
	}
	for i := range 20 * helpLag {
		appender.Append(set(fmt.Sprint("k", i%100), i))
		for _, c := range cursors {
			if lag := log.End() - c.at.pos; int(lag) > helpLag+(len(cursors)+1)*maxSegment {
				t.Fatalf("behind by %d", lag)
			}
		}
	}
	close(stuck)
	for _, c := range cursors {
		c.Close()
	}
}

func TestTheAppenderWaitsForNobody(t *testing.T) {
	log, appender := New[int]()
	for _, policy := range []Policy{EveryChange, LatestState} {
		c := log.Cursor(policy)
		defer c.Close()
		c.mu.Lock() // a reader, or merging, that stands still in the middle
		defer c.mu.Unlock()
		c.Ready()
	}
	const n = 2 * helpLag
	for i := range n {
		appender.Append(set("a", i))
	}
	if log.End() != n {
		t.Fatalf("at %d", log.End())
	}
}
