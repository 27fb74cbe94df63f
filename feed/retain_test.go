package feed

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"
)

// thing is an object whose fate can be watched. (It must not be so small that it shares memory with others.)
type thing [64]byte

// witness makes changes of fresh objects and remembers these weakly.
type witness struct{ made []weak.Pointer[thing] }

func (w *witness) update(key string) Change[*thing] {
	older, newer := new(thing), new(thing)
	w.made = append(w.made, weak.Make(older), weak.Make(newer))
	return Change[*thing]{Kind: Updated, Key: key, Old: older, New: newer}
}

// alive is how many of the objects are still in memory.
func (w *witness) alive() int {
	runtime.GC()
	runtime.GC() // a sync.Pool takes two
	n := 0
	for _, p := range w.made {
		if p.Value() != nil {
			n++
		}
	}
	return n
}

func (w *witness) expect(t *testing.T, want int, when string) {
	t.Helper()
	if got := w.alive(); got != want {
		t.Errorf("%s, %d of %d objects are alive, want %d", when, got, len(w.made), want)
	}
}

func TestWhatAllHaveReadIsGarbage(t *testing.T) {
	for _, policy := range []Policy{EveryChange, LatestState} {
		for _, n := range []int{1, 5, minSegment, maxSegment + 1, 5 * maxSegment} {
			t.Run(fmt.Sprint(policy, "/changes=", n), func(t *testing.T) {
				log, appender := New[*thing]()
				a, b := log.Cursor(policy), log.Cursor(policy)
				defer a.Close()
				defer b.Close()
				var w witness
				for i := range n {
					appender.Append(w.update(fmt.Sprint("k", i)))
				}
				dst := make([]Change[*thing], n+1)
				if got := a.Next(dst); got != n {
					t.Fatalf("read %d", got)
				}
				clear(dst)
				w.expect(t, 2*n, "while one has not read")
				if got := b.Next(dst); got != n {
					t.Fatalf("read %d", got)
				}
				clear(dst)
				w.expect(t, 0, "when both have read")
				runtime.KeepAlive(appender)
			})
		}
	}
}

func TestALaggingCursorKeepsNothingBeforeItsSegment(t *testing.T) {
	log, appender := New[*thing]()
	c := log.Cursor(EveryChange)
	defer c.Close()
	const n = 20 * maxSegment
	var w witness
	for i := range n {
		appender.Append(w.update(fmt.Sprint("k", i)))
	}
	dst := make([]Change[*thing], n/2)
	c.Next(dst)
	clear(dst)
	if got := w.alive(); got < n || got > n+2*maxSegment {
		t.Errorf("%d objects are alive, of which %d wait", got, n)
	}
	runtime.KeepAlive(appender)
}

func TestAClosedCursorKeepsNothing(t *testing.T) {
	for _, policy := range []Policy{EveryChange, LatestState} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			log, appender := New[*thing]()
			idle, lagging := log.Cursor(policy), log.Cursor(policy)
			defer idle.Close()
			var w witness
			const n = 10*maxSegment + 7
			for i := range n {
				appender.Append(w.update(fmt.Sprint("k", i)))
			}
			dst := make([]Change[*thing], n)
			idle.Next(dst)
			clear(dst)
			w.expect(t, 2*n, "before Close")
			lagging.Close()
			w.expect(t, 0, "after Close")
			runtime.KeepAlive(lagging)
		})
	}
}

func TestALogWithoutCursorsKeepsNothing(t *testing.T) {
	log, appender := New[*thing]()
	var w witness
	for i := range 1000 {
		appender.Append(w.update(fmt.Sprint("k", i)))
	}
	w.expect(t, 0, "with no cursor yet")
	c := log.Cursor(EveryChange)
	if c.Position() != 1000 {
		t.Fatalf("a new cursor is at %d", c.Position())
	}
	for i := range 1000 {
		appender.Append(w.update(fmt.Sprint("k", i)))
	}
	w.expect(t, 2000, "with a cursor that reads nothing")
	c.Close()
	w.expect(t, 0, "with the last cursor closed")
	runtime.KeepAlive(appender)
}

func TestLatestStateKeepsTheFirstAndTheNewestOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, appender := New[*thing]()
		c := log.Cursor(LatestState)
		defer c.Close()
		const keys, updates = 10, 10_000
		var w witness
		for i := range updates {
			appender.Append(w.update(fmt.Sprint("k", i%keys)))
		}
		c.Backlog() // merges what merging in the background has left alone
		synctest.Wait()
		w.expect(t, 2*keys, "while the reader is blocked")
		dst := make([]Change[*thing], 100)
		if n := c.Next(dst); n != keys {
			t.Fatalf("read %d", n)
		}
		clear(dst)
		w.expect(t, 0, "when it has read")
		if c.waiting != nil {
			t.Error("room for what waits is kept while nothing does")
		}
		runtime.KeepAlive(appender)
	})
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A handler is blocked for an hour while 200,000 events of 1,000 objects arrive.
func TestHeapOfALatestStateBacklogIsBoundedByItsKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, events, bursts = 1000, 200_000, 100
		log, appender := New[*[512]byte]()
		blocked, idle := log.Cursor(LatestState), log.Cursor(EveryChange)
		defer blocked.Close()
		defer idle.Close()
		names := make([]string, keys)
		state := make([]*[512]byte, keys)
		for i := range names {
			names[i], state[i] = fmt.Sprint("namespace/name-", i), new([512]byte)
		}
		dst := make([]Change[*[512]byte], 1024)
		r := rand.New(rand.NewPCG(1, 1))
		before := heap()
		for range bursts {
			for range events / bursts {
				k := r.IntN(keys)
				old := state[k]
				state[k] = new([512]byte)
				appender.Append(Change[*[512]byte]{Kind: Updated, Key: names[k], Old: old, New: state[k]})
			}
			for idle.Next(dst) > 0 {
			}
			clear(dst)
			synctest.Wait()
			if grown := heap() - before; grown > 5<<20 {
				t.Fatalf("the heap has grown by %d bytes", grown)
			}
			time.Sleep(time.Hour / bursts)
		}
		if b := blocked.Backlog(); b.Changes != keys || b.Age < 59*time.Minute || b.Age > time.Hour {
			t.Fatalf("backlog is %+v", b)
		}
		// The objects before the first changes are held for the reader: 1,000 of 512 bytes. The rest is ours.
		if own := heap() - before - keys*512; own > keys*200 {
			t.Errorf("%d bytes for %d waiting keys", own, keys)
		}
		runtime.KeepAlive(state)
	})
}

func TestABacklogOfEveryChangeCostsTheSameForManyCursors(t *testing.T) {
	grown := func(cursors int) int64 {
		log, appender := New[*thing]()
		obj := new(thing)
		cs := make([]*Cursor[*thing], cursors)
		for i := range cs {
			cs[i] = log.Cursor(EveryChange)
		}
		before := heap()
		for range 100_000 {
			appender.Append(Change[*thing]{Kind: Updated, Key: "k", Old: obj, New: obj})
		}
		after := heap()
		for _, c := range cs {
			if b := c.Backlog(); b.Changes != 100_000 {
				t.Fatalf("backlog is %+v", b)
			}
			c.Close()
		}
		return after - before
	}
	one, many := grown(1), grown(100)
	if one < 4_000_000 || many > one+one/10 {
		t.Errorf("100,000 changes took %d bytes for one cursor and %d for 100", one, many)
	}
}

func TestASmallLogStaysSmall(t *testing.T) {
	log, appender := New[*thing]()
	c := log.Cursor(EveryChange)
	defer c.Close()
	var sizes []int
	for i, obj := 0, new(thing); i < 1000; i++ {
		was := log.tail
		appender.Append(Change[*thing]{Kind: Updated, Key: "k", Old: obj, New: obj})
		if log.tail != was {
			sizes = append(sizes, len(log.tail.entries))
		}
	}
	if got, want := fmt.Sprint(sizes), "[8 16 32 64 128 128 128 128 128 128 128]"; got != want {
		t.Errorf("segments have %s entries, want %s", got, want)
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	for _, policy := range []Policy{EveryChange, LatestState} {
		log, appender := New[*thing]()
		c := log.Cursor(policy)
		obj := new(thing)
		changes := make([]Change[*thing], 8)
		for i := range changes {
			changes[i] = Change[*thing]{Kind: Updated, Key: fmt.Sprint("k", i%5), Old: obj, New: obj}
		}
		dst := make([]Change[*thing], 64)
		per := testing.AllocsPerRun(1000, func() {
			appender.Append(changes...)
			for c.Next(dst) > 0 {
			}
		})
		// Two per segment of 128 changes; the race detector makes pools forget.
		if per > 1 {
			t.Errorf("%v: %v allocations for 8 changes", policy, per)
		}
		c.Close()
	}
}
