package feed

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// Appenders, readers of both policies, readers that come and go, one that is closed by another, and somebody who looks at
// every backlog, all at once. The steps appended have 3 changes each.
func TestManyAtOnce(t *testing.T) {
	const (
		appenders = 3
		steps     = 1500
		keys      = 20 // of each appender, so that a key's changes follow one another
		readers   = 100
		total     = Position(appenders * steps * 3)
	)
	log, appender := New[int]()
	final := make([]map[string]int, appenders)

	var running sync.WaitGroup
	cursors := make([]*Cursor[int], readers)
	for i := range cursors {
		cursors[i] = log.Cursor(Policy(i % 2))
	}
	replicas := make([]map[string]int, readers)
	for i, c := range cursors {
		running.Go(func() {
			defer c.Close()
			replicas[i] = follow(t, c, total, 1+i)
		})
	}
	for a := range appenders {
		running.Go(func() {
			r := rand.New(rand.NewPCG(uint64(a), 0))
			w := world{state: map[string]int{}, prefix: fmt.Sprint("a", a, "/")}
			for range steps {
				var step [3]Change[int]
				for i := range step {
					step[i] = w.change(&script{[]byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}}, keys)
				}
				appender.Append(step[:]...)
			}
			final[a] = w.state
		})
	}
	for g := range 2 { // come and go
		running.Go(func() {
			dst := make([]Change[int], 10)
			for i := range 300 {
				c := log.Cursor(Policy((g + i) % 2))
				for range i % 5 {
					c.Next(dst)
				}
				c.Close()
			}
		})
	}
	running.Go(func() { // closed by others
		for i := range 100 {
			c := log.Cursor(Policy(i % 2))
			var reader sync.WaitGroup
			reader.Go(func() {
				dst := make([]Change[int], 7)
				for {
					if c.Next(dst) == 0 {
						select {
						case <-c.Ready():
						case <-c.Done():
							return
						}
					}
				}
			})
			reader.Go(c.Close)
			reader.Go(c.Close)
			reader.Wait()
		}
	})
	running.Go(func() { // watch
		for log.End() < total {
			for _, c := range cursors {
				pos := c.Position()
				if b := c.Backlog(); b.Changes < 0 || b.Age < 0 || c.policy == LatestState && b.Changes > appenders*keys {
					t.Errorf("backlog is %+v", b)
				}
				if c.Position() < pos {
					t.Error("Position went back")
				}
			}
		}
	})
	running.Wait()

	want := map[string]int{}
	for _, state := range final {
		for key, n := range state {
			want[key] = n
		}
	}
	for i, got := range replicas {
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("reader %d (%v) has %v, want %v", i, cursors[i].policy, got, want)
		}
	}
	if log.tail != nil || len(log.latest) != 0 || uint32(log.behind.Load()) != 0 {
		t.Error("something is left though all are closed")
	}
}

// follow replays what c hands over until total, and checks that each change starts from the state that was told before.
func follow(t *testing.T, c *Cursor[int], total Position, size int) map[string]int {
	told := map[string]int{}
	dst := make([]Change[int], size)
	read := Position(0)
	for {
		before := c.Position()
		n := c.Next(dst)
		for _, change := range dst[:n] {
			old, there := told[change.Key]
			if there != (change.Kind != Added) || there && old != change.Old {
				t.Errorf("%v: told %+v, knew %d, %t", c.policy, change, old, there)
			}
			if change.Kind == Deleted {
				delete(told, change.Key)
			} else {
				told[change.Key] = change.New
			}
		}
		read += Position(n)
		pos := c.Position()
		switch {
		case c.policy == EveryChange && pos != read:
			t.Errorf("at %d after %d changes", pos, read)
		case pos < before || pos-before < Position(n) && c.policy == EveryChange:
			t.Errorf("from %d to %d by %d changes", before, pos, n)
		case n == 0 && pos%3 != 0:
			t.Errorf("saw a part of a step: at %d nothing more was there", pos)
		}
		if pos == total {
			return told
		}
		if n == 0 {
			<-c.Ready()
		}
	}
}

func TestEveryCursorGetsTheSameOrder(t *testing.T) {
	const appenders, each, readers = 4, 500, 8
	log, appender := New[int]()
	var running sync.WaitGroup
	orders := make([][]int, readers)
	for i := range readers {
		c := log.Cursor(EveryChange)
		running.Go(func() {
			defer c.Close()
			dst := make([]Change[int], 3+i)
			for len(orders[i]) < appenders*each {
				n := c.Next(dst)
				for _, change := range dst[:n] {
					orders[i] = append(orders[i], change.New)
				}
				if n == 0 {
					<-c.Ready()
				}
			}
		})
	}
	positions := make([][]Position, appenders)
	for a := range appenders {
		running.Go(func() {
			for i := range each {
				positions[a] = append(positions[a], appender.Append(Change[int]{Kind: Added, New: a*each + i}))
			}
		})
	}
	running.Wait()
	for i := range orders {
		if !slices.Equal(orders[i], orders[0]) {
			t.Errorf("cursor %d got another order than cursor 0", i)
		}
	}
	for a := range positions {
		for i, pos := range positions[a] {
			if orders[0][pos-1] != a*each+i {
				t.Fatalf("change %d of appender %d is not before position %d", i, a, pos)
			}
		}
	}
}
