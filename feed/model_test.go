package feed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// modelCursor is a cursor as its documentation has it: lists, and no cleverness.
type modelCursor struct {
	policy  Policy
	read    []Change[int] // EveryChange: not handed over
	waiting []modelKey    // LatestState: what waits, oldest first
	pos     Position
	end     Position
	closed  bool
}

type modelKey struct {
	first Position
	steps []Change[int] // all that happened to the key since it began to wait
}

func (m *modelCursor) append(changes []Change[int]) {
	for _, c := range changes {
		pos := m.end
		m.end++
		if m.closed {
			continue
		}
		if m.policy == EveryChange {
			m.read = append(m.read, c)
			continue
		}
		i := slices.IndexFunc(m.waiting, func(k modelKey) bool { return k.steps[0].Key == c.Key })
		if i < 0 {
			m.waiting = append(m.waiting, modelKey{pos, []Change[int]{c}})
			continue
		}
		m.waiting[i].steps = append(m.waiting[i].steps, c)
		if _, ok := effect(m.waiting[i].steps); !ok {
			m.waiting = slices.Delete(m.waiting, i, i+1)
		}
	}
}

// effect is what a list of changes of one key amounts to, told from the states at its ends.
func effect(steps []Change[int]) (Change[int], bool) {
	first, last := steps[0], steps[len(steps)-1]
	if len(steps) == 1 {
		return first, true
	}
	before, after := first.Kind != Added, last.Kind != Deleted
	c := Change[int]{Key: first.Key, Merged: true}
	switch {
	case !before && !after:
		return c, false
	case !before:
		c.Kind, c.New, c.Initial = Added, last.New, first.Initial
	case !after:
		c.Kind, c.Old, c.New, c.Lost = Deleted, first.Old, last.New, last.Lost
	default:
		c.Kind, c.Old, c.New = Updated, first.Old, last.New
	}
	return c, true
}

func (m *modelCursor) next(n int, until Position) []Change[int] {
	if m.closed {
		return nil
	}
	var out []Change[int]
	if m.policy == EveryChange {
		for len(out) < n && len(m.read) > 0 && m.pos < until {
			out, m.read, m.pos = append(out, m.read[0]), m.read[1:], m.pos+1
		}
		return out
	}
	for len(out) < n && len(m.waiting) > 0 && m.waiting[0].first < until {
		c, _ := effect(m.waiting[0].steps)
		out, m.waiting = append(out, c), m.waiting[1:]
	}
	m.pos = m.end
	if len(m.waiting) > 0 {
		m.pos = m.waiting[0].first
	}
	return out
}

func (m *modelCursor) backlog() int {
	if m.closed {
		return 0
	}
	return len(m.read) + len(m.waiting)
}

// script turns bytes into choices. It ends with them, and then answers 0.
type script struct{ data []byte }

func (s *script) done() bool { return len(s.data) == 0 }

func (s *script) choose(n int) int {
	if s.done() {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return int(b) % n
}

// world makes changes that can follow one another.
type world struct {
	state  map[string]int
	steps  int
	prefix string // of its keys
}

func (w *world) change(s *script, keys int) Change[int] {
	w.steps++
	key := fmt.Sprint(w.prefix, "k", s.choose(keys))
	old, there := w.state[key]
	switch {
	case !there:
		w.state[key] = w.steps
		return Change[int]{Kind: Added, Key: key, New: w.steps, Initial: s.choose(2) == 0}
	case s.choose(3) == 0:
		delete(w.state, key)
		if s.choose(2) == 0 {
			return Change[int]{Kind: Deleted, Key: key, Old: old, New: old, Lost: true}
		}
		return Change[int]{Kind: Deleted, Key: key, Old: old, New: w.steps}
	default:
		w.state[key] = w.steps
		return Change[int]{Kind: Updated, Key: key, Old: old, New: w.steps}
	}
}

// runModel makes the calls that data says and compares every cursor with its model after each.
func runModel(t *testing.T, data []byte) {
	t.Helper()
	type pair struct {
		cursor *Cursor[int]
		model  *modelCursor
	}
	var (
		s     = &script{data}
		w     = world{state: map[string]int{}}
		pairs []pair
		end   Position
		keys  = 1 + s.choose(40)
	)
	log, appender := New[int]()
	defer func() {
		for _, p := range pairs {
			p.cursor.Close()
		}
	}()
	for !s.done() {
		switch op := s.choose(10); {
		case op == 0 && len(pairs) < 6:
			p := Policy(s.choose(2))
			pairs = append(pairs, pair{log.Cursor(p), &modelCursor{policy: p, pos: end, end: end}})
		case op == 1 && len(pairs) > 0:
			p := pairs[s.choose(len(pairs))]
			p.cursor.Close()
			p.model.closed = true
		case op < 6:
			n := s.choose(5)
			if s.choose(20) == 0 {
				n = 3 * s.choose(256)
			}
			changes := make([]Change[int], n)
			for i := range changes {
				changes[i] = w.change(s, keys)
			}
			for _, p := range pairs {
				p.model.append(changes)
			}
			end += Position(n)
			if got := appender.Append(changes...); got != end {
				t.Fatalf("Append returned %d, want %d", got, end)
			}
			clear(changes) // it is ours again
		case len(pairs) > 0:
			p := pairs[s.choose(len(pairs))]
			dst := make([]Change[int], s.choose(40))
			until := Position(math.MaxUint64)
			if s.choose(3) == 0 {
				until = p.model.pos + Position(s.choose(20)*s.choose(4))
			}
			got := dst[:p.cursor.NextUntil(dst, until)]
			if want := p.model.next(len(dst), until); !slices.Equal(got, want) {
				t.Fatalf("%v NextUntil(%d, %d) gave\n%+v, want\n%+v", p.model.policy, len(dst), until, got, want)
			}
		}
		if log.End() != end {
			t.Fatalf("End is %d, want %d", log.End(), end)
		}
		if s.choose(2) == 0 { // else merging goes on beside the next calls
			behind := 0
			for _, p := range pairs {
				p.cursor.settle()
				if !p.model.closed && p.cursor.at.pos < end {
					behind++
				}
			}
			if b := log.behind.Load(); uint32(b) != uint32(behind) {
				t.Fatalf("%d cursors are behind, the log says %d", behind, uint32(b))
			}
			log.check()
		}
		for i, p := range pairs {
			if got := p.cursor.Position(); got != p.model.pos {
				t.Fatalf("cursor %d (%v): Position is %d, want %d", i, p.model.policy, got, p.model.pos)
			}
			if got, want := isClosed(p.cursor.Ready()), !p.model.closed && p.model.pos < end; got != want {
				t.Fatalf("cursor %d (%v) at %d of %d: Ready is %t", i, p.model.policy, p.model.pos, end, got)
			}
			if b := p.cursor.Backlog(); b.Changes != p.model.backlog() || b.Changes == 0 && b.Age != 0 {
				t.Fatalf("cursor %d (%v): Backlog is %+v, want %d changes", i, p.model.policy, b, p.model.backlog())
			}
		}
	}
}

// settle returns when no goroutine is merging for c.
func (c *Cursor[T]) settle() {
	c.log.mu.Lock()
	folding := c.folding
	c.log.mu.Unlock()
	if folding != nil {
		<-folding
	}
}

// check panics if the log is not sound. Nobody may be using it.
func (l *Log[T]) check() {
	end := l.End()
	if l.cursors == 0 {
		if l.tail != nil {
			panic("BUG: a log without cursors holds changes")
		}
		return
	}
	if l.tail.next != nil || end < l.tail.start || end > l.tail.end() {
		panic(fmt.Sprintf("BUG: the tail %d..%d is not the one of %d", l.tail.start, l.tail.end(), end))
	}
	used := l.tail.entries[:end-l.tail.start]
	if uint32(l.behind.Load()) != 0 {
		used = nil // somebody needs it
	}
	for i := range used {
		if used[i].change.Kind != 0 {
			panic(fmt.Sprintf("BUG: all have read %d, but it is not wiped", l.tail.start+Position(i)))
		}
	}
	for _, e := range l.tail.entries[end-l.tail.start:] {
		if e.change.Kind != 0 {
			panic("BUG: there is something behind the end of the log")
		}
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// forRandomScripts runs a test of scripts on n random ones, of up to size bytes, always the same.
func forRandomScripts(t *testing.T, n, size int, run func(*testing.T, []byte)) {
	t.Helper()
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 0))
		data := make([]byte, r.IntN(size+1))
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) { run(t, data) })
	}
}

func TestRandomCallsGiveWhatTheModelGives(t *testing.T) {
	forRandomScripts(t, 300, 3000, runModel)
}

func FuzzModel(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 5, 4, 1, 0, 1, 2, 2, 6, 0, 30, 0, 7, 1, 3, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) { runModel(t, data) })
}
