package feed

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// In a bubble, a wake-up that is lost is a deadlock that the test reports.

func set(key string, n int) Change[int] {
	return Change[int]{Kind: Updated, Key: key, Old: n - 1, New: n}
}

func TestAWaitingReaderIsWokenByAppend(t *testing.T) {
	for _, policy := range []Policy{EveryChange, LatestState} {
		for _, readers := range []int{1, 2, manyCursors + 1, 1000} {
			t.Run(fmt.Sprint(policy, "/readers=", readers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					log, appender := New[int]()
					var running sync.WaitGroup
					got := make([]int, readers)
					for i := range readers {
						c := log.Cursor(policy)
						running.Go(func() {
							defer c.Close()
							<-c.Ready()
							got[i] = c.Next(make([]Change[int], 8))
						})
					}
					synctest.Wait()
					if slices.Max(got) != 0 {
						t.Fatal("a reader did not wait")
					}
					appender.Append(set("a", 1), set("b", 1))
					running.Wait()
					if slices.Min(got) != 2 || slices.Max(got) != 2 {
						t.Fatalf("readers got %v", got)
					}
				})
			})
		}
	}
}

func TestReadyIsClosedAtOnceWhenSomethingWaits(t *testing.T) {
	log, appender := New[int]()
	c := log.Cursor(EveryChange)
	defer c.Close()
	early := c.Ready()
	if isClosed(early) {
		t.Fatal("ready before anything was appended")
	}
	appender.Append(set("a", 1), set("a", 2))
	if !isClosed(early) || !isClosed(c.Ready()) {
		t.Fatal("not ready after Append")
	}
	dst := make([]Change[int], 1)
	if c.Next(dst); !isClosed(c.Ready()) {
		t.Fatal("not ready with one of two left")
	}
	if c.Next(dst); isClosed(c.Ready()) {
		t.Fatal("ready with nothing left")
	}
}

func TestChangesThatCancelOutMoveAWaitingReadersPosition(t *testing.T) {
	for _, who := range []string{"the reader merges", "somebody asked for the backlog before"} {
		t.Run(who, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, appender := New[int]()
				c := log.Cursor(LatestState)
				defer c.Close()
				target := log.End() + 2
				reached := make(chan struct{})
				go func() { // the loop of Cursor's documentation
					buf := make([]Change[int], 8)
					for {
						n := c.Next(buf)
						if n > 0 {
							t.Errorf("got %+v", buf[:n])
						}
						if c.Position() >= target {
							close(reached)
							return
						}
						if n == 0 {
							<-c.Ready()
						}
					}
				}()
				synctest.Wait()
				appender.Append(Change[int]{Kind: Added, Key: "a", New: 1}, Change[int]{Kind: Deleted, Key: "a", Old: 1})
				if who != "the reader merges" {
					if b := c.Backlog(); b != (Backlog{}) {
						t.Errorf("backlog is %+v", b)
					}
				}
				<-reached
				if isClosed(c.Ready()) {
					t.Error("still ready: the reader would spin")
				}
			})
		})
	}
}

func TestABacklogAskedForBetweenNextAndReadyLosesNoWakeUp(t *testing.T) {
	log, appender := New[int]()
	c := log.Cursor(LatestState)
	defer c.Close()
	dst := make([]Change[int], 8)
	if n := c.Next(dst); n != 0 {
		t.Fatalf("got %d", n)
	}
	end := appender.Append(Change[int]{Kind: Added, Key: "a", New: 1}, Change[int]{Kind: Deleted, Key: "a", Old: 1})
	c.Backlog() // merges all away, which the reader does not know yet
	if c.Position() == end {
		t.Fatal("Position moved without Next")
	}
	if !isClosed(c.Ready()) {
		t.Fatal("not ready though Position is behind")
	}
	if n := c.Next(dst); n != 0 || c.Position() != end {
		t.Fatalf("got %d, at %d", n, c.Position())
	}
}

func TestNextUntilStopsExactlyThere(t *testing.T) {
	for _, policy := range []Policy{EveryChange, LatestState} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			log, appender := New[int]()
			c := log.Cursor(policy)
			defer c.Close()
			initial := appender.Append(set("a", 1), set("b", 1), set("c", 1))
			appender.Append(set("d", 1), set("e", 1))
			dst := make([]Change[int], 100)
			if n := c.NextUntil(dst, initial); n != 3 || c.Position() != initial {
				t.Fatalf("got %d, at %d", n, c.Position())
			}
			if n := c.NextUntil(dst, initial); n != 0 || c.Position() != initial {
				t.Fatalf("there already, got %d, at %d", n, c.Position())
			}
			if n := c.Next(dst); n != 2 || c.Position() != log.End() {
				t.Fatalf("got %d, at %d", n, c.Position())
			}
			now := log.End()
			appender.Append(set("f", 1))
			if n := c.NextUntil(dst, now); n != 0 || c.Position() != now {
				t.Fatalf("up to date before a single change, got %d, at %d", n, c.Position())
			}
		})
	}
}

func TestPositionWaitsForTheOldestKey(t *testing.T) {
	log, appender := New[int]()
	c := log.Cursor(LatestState)
	defer c.Close()
	appender.Append(set("a", 1), set("b", 1), set("c", 1), set("a", 2), set("b", 2))
	dst := make([]Change[int], 1)
	for i, want := range []struct {
		change Change[int]
		pos    Position
	}{
		{Change[int]{Kind: Updated, Key: "a", Old: 0, New: 2, Merged: true}, 1},
		{Change[int]{Kind: Updated, Key: "b", Old: 0, New: 2, Merged: true}, 2},
		{set("c", 1), 5},
	} {
		if n := c.Next(dst); n != 1 || dst[0] != want.change || c.Position() != want.pos {
			t.Fatalf("%d: got %+v, at %d, want %+v", i, dst[:n], c.Position(), want)
		}
	}
}

func TestCloseEndsAReaderThatWaitsForDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, appender := New[int]()
		c := log.Cursor(EveryChange)
		reader := make(chan struct{})
		go func() {
			defer close(reader)
			select {
			case <-c.Ready():
				t.Error("Close made the cursor ready")
			case <-c.Done():
			}
		}()
		synctest.Wait()
		c.Close()
		c.Close()
		<-reader
		appender.Append(set("a", 1))
		if n := c.Next(make([]Change[int], 8)); n != 0 || isClosed(c.Ready()) || !isClosed(c.Done()) || c.Backlog() != (Backlog{}) {
			t.Error("a closed cursor still reads")
		}
	})
}

func TestDoneOfACursorThatWasClosedBefore(t *testing.T) {
	log, _ := New[int]()
	c := log.Cursor(LatestState)
	c.Close()
	if !isClosed(c.Done()) {
		t.Fatal("not done")
	}
}

func TestBacklogSaysHowManyWaitAndForHowLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, appender := New[int]()
		every, latest := log.Cursor(EveryChange), log.Cursor(LatestState)
		defer every.Close()
		defer latest.Close()
		expect := func(e, l Backlog) {
			t.Helper()
			if got := every.Backlog(); got != e {
				t.Errorf("EveryChange: got %+v, want %+v", got, e)
			}
			if got := latest.Backlog(); got != l {
				t.Errorf("LatestState: got %+v, want %+v", got, l)
			}
		}
		expect(Backlog{}, Backlog{})
		time.Sleep(time.Hour)
		expect(Backlog{}, Backlog{}) // an old log is not an old backlog

		appender.Append(set("a", 1))
		time.Sleep(time.Minute)
		appender.Append(set("b", 1))
		time.Sleep(time.Minute)
		appender.Append(set("a", 2))
		time.Sleep(time.Minute)
		expect(Backlog{3, 3 * time.Minute}, Backlog{2, 3 * time.Minute})

		dst := make([]Change[int], 1)
		every.Next(dst)
		latest.Next(dst)
		expect(Backlog{2, 2 * time.Minute}, Backlog{1, 2 * time.Minute})

		every.Next(dst)
		latest.Next(dst)
		expect(Backlog{1, time.Minute}, Backlog{})
		every.Next(dst)
		expect(Backlog{}, Backlog{})
	})
}

func TestNobodyMissesAWakeUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const readers, appenders, each = 40, 2, 2000
		log, appender := New[int]()
		var running sync.WaitGroup
		for i := range readers {
			c := log.Cursor(Policy(i % 2))
			running.Go(func() {
				defer c.Close()
				buf := make([]Change[int], 1+i)
				for {
					n := c.Next(buf)
					if c.Position() == appenders*each {
						return
					}
					if n == 0 {
						<-c.Ready()
					}
				}
			})
		}
		for a := range appenders {
			running.Go(func() {
				for i := range each {
					kind := Added
					if i%2 == 1 {
						kind = Deleted
					}
					appender.Append(Change[int]{Kind: kind, Key: fmt.Sprint("k", a)})
				}
			})
		}
		running.Wait()
	})
}

// The reader says that it has read just before it goes to wait, and that one change more is appended at this very moment: no
// later one will wake it.
func TestTheLastChangeWakesAReaderThatIsAboutToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, appender := New[int]()
		c := log.Cursor(EveryChange)
		read := make(chan struct{}, 1)
		const rounds = 20_000
		var reader sync.WaitGroup
		reader.Go(func() {
			defer c.Close()
			defer close(read)
			dst := make([]Change[int], 8)
			for c.Position() < rounds {
				for c.Next(dst) == 0 {
					<-c.Ready()
				}
				read <- struct{}{}
			}
		})
		appender.Append(set("a", 1))
		for range read {
			appender.Append(set("a", 1))
		}
		reader.Wait()
	})
}
