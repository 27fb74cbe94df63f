package store

import (
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// generation is an object of these tests: all keys are always moved to the next one together.
type generation struct{ n int }

func byGeneration(g *generation) []string { return []string{strconv.Itoa(g.n)} }

func sameGeneration(prev, next *generation) bool { return prev.n == next.n }

// during runs readers until write returns.
func during(write func(), readers ...func() error) error {
	stop := make(chan struct{})
	errs := make(chan error, len(readers))
	var running sync.WaitGroup
	for _, read := range readers {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := read(); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	write()
	close(stop)
	running.Wait()
	close(errs)
	return <-errs
}

// moves are the ways to move all n keys to the next generation as one version.
func moves(w *Writer[*generation], n int) map[string]func(g int) {
	var b Batch[*generation]
	return map[string]func(int){
		"batch": func(g int) {
			for i := range n {
				b.Put(strconv.Itoa(i), &generation{g})
			}
			w.Commit(&b)
		},
		"replacement": func(g int) {
			r := w.Replace()
			for i := range n {
				r.Put(strconv.Itoa(i), &generation{g})
			}
			r.Commit(strconv.Itoa(g))
		},
	}
}

// Snapshots show whole commits only, objects and indexes together; point reads never go back in time, and of a replacement
// they see all or nothing; and no key is missing for a moment, whichever way the content is changed.
func TestReadersSeeWholeCommitsOnly(t *testing.T) {
	for _, n := range []int{2, 60, quick + 1} {
		for _, move := range []string{"batch", "replacement"} {
			t.Run(fmt.Sprintf("%s/objects=%d", move, n), func(t *testing.T) {
				s, w := New(Options[*generation]{Same: sameGeneration})
				ix := AddIndex(w, "generation", byGeneration)
				next := moves(w, n)[move]
				next(0)
				snapshots := func() error { return wholeSnapshot(s.Snapshot(), ix, n) }
				last, lastOf := 0, make([]int, n)
				points := func() error {
					for i := range n {
						g, ok := s.Get(strconv.Itoa(i))
						if !ok || g.n < lastOf[i] || move == "replacement" && g.n < last {
							return fmt.Errorf("Get(%d) = %v, %v after generation %d, of others %d", i, g, ok, lastOf[i], last)
						}
						last, lastOf[i] = g.n, g.n
						runtime.Gosched()
					}
					return nil
				}
				mixed := func() error {
					g, _ := s.Get("0")
					h, _ := s.Snapshot().Get("1")
					k, _ := s.Get("1")
					if g.n > h.n || h.n > k.n {
						return fmt.Errorf("Get, Snapshot and Get went back: %d, %d, %d", g.n, h.n, k.n)
					}
					return nil
				}
				err := during(func() {
					for g := range min(60, 20_000/n) {
						next(g)
						runtime.Gosched()
					}
				}, snapshots, points, mixed)
				if err != nil {
					t.Error(err)
				}
				checkInvariants(t, w)
			})
		}
	}
}

// wholeSnapshot checks that s shows n objects of one generation, in its index too.
func wholeSnapshot(s *Snapshot[*generation], ix *Index[*generation], n int) error {
	one := -1
	seen := 0
	for key, g := range s.All() {
		if one < 0 {
			one = g.n
		}
		if g.n != one {
			return fmt.Errorf("%q is of generation %d, others of %d", key, g.n, one)
		}
		seen++
	}
	if seen != n || s.Len() != n {
		return fmt.Errorf("%d of %d objects, Len() = %d", seen, n, s.Len())
	}
	for v := range ix.Values(s) {
		if v != strconv.Itoa(one) || ix.Count(s, v) != n {
			return fmt.Errorf("generation %d: %d under value %s", one, ix.Count(s, v), v)
		}
	}
	return nil
}

// What a commit did can be read when it returns, by Get and in a Snapshot, while others read all the time.
func TestCommitCanBeReadWhenItReturns(t *testing.T) {
	s, w := New(Options[int]{})
	ix := AddIndex(w, "value", func(i int) []string { return []string{strconv.Itoa(i)} })
	commit(w, "a", 0)
	err := during(func() {
		for i := range 1000 {
			commit(w, "a", i)
			got, _ := s.Get("a")
			inSnapshot, _ := s.Snapshot().Get("a")
			if got != i || inSnapshot != i || ix.Count(s.Snapshot(), strconv.Itoa(i)) != 1 {
				t.Fatalf("committed %d, Get says %d, Snapshot %d", i, got, inSnapshot)
			}
		}
	}, func() error {
		s.Snapshot()
		s.Get("a")
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Keys come and go (and their slots with them) while others, untouched, are read.
func TestUntouchedKeysAreAlwaysFound(t *testing.T) {
	s, w := New(Options[string]{})
	for i := range 64 {
		key := "stays" + strconv.Itoa(i)
		commit(w, key, key)
	}
	get := func() error {
		snapshot := s.Snapshot()
		for i := range 64 {
			key := "stays" + strconv.Itoa(i)
			if got, ok := s.Get(key); !ok || got != key {
				return fmt.Errorf("Get(%q) = %q, %v", key, got, ok)
			}
			if got, ok := snapshot.Get(key); !ok || got != key {
				return fmt.Errorf("Snapshot.Get(%q) = %q, %v", key, got, ok)
			}
			if got, ok := s.Get("goes" + strconv.Itoa(i)); ok && got != "goes"+strconv.Itoa(i) {
				return fmt.Errorf("Get(goes%d) = %q", i, got)
			}
		}
		return nil
	}
	err := during(func() {
		for round := range 120 {
			for i := range 16 {
				key := "goes" + strconv.Itoa((round*7+i*3)%64)
				if _, ok := s.Get(key); ok {
					remove(w, key)
				} else {
					commit(w, key, key)
				}
			}
			for i := range round { // makes the hints grow and shrink
				commit(w, "more"+strconv.Itoa(round*1000+i), "")
			}
			var b Batch[string]
			for i := range round {
				b.Delete("more" + strconv.Itoa(round*1000+i))
			}
			w.Commit(&b)
		}
	}, get, get)
	if err != nil {
		t.Error(err)
	}
	checkInvariants(t, w)
}

// An index added under load is complete when AddIndex returns, and stays so.
func TestIndexAddedUnderLoadIsComplete(t *testing.T) {
	s, w := New(Options[*object]{})
	fill(w, 1000)
	err := during(func() {
		for range 30 {
			ix := AddIndex(w, "first", firstValue)
			order := AddOrder(w)
			snapshot := s.Snapshot()
			n := 0
			for v := range ix.Values(snapshot) {
				n += ix.Count(snapshot, v)
			}
			if n != snapshot.Len() || n != len(keysOf(order.Range(snapshot, "", ""))) || snapshot.index(ix) == nil {
				t.Fatalf("%d of %d objects in the index", n, snapshot.Len())
			}
			w.RemoveIndex(ix)
			w.RemoveOrder(order)
		}
	}, func() error {
		var b Batch[*object]
		for i := range 10 {
			b.Put(strconv.Itoa(i*97), &object{values: []string{strconv.Itoa(i)}})
			b.Delete(strconv.Itoa(i*89 + 1))
		}
		w.Commit(&b)
		return nil
	}, func() error {
		s.Snapshot()
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	checkInvariants(t, w)
}

// Commits of several goroutines follow one another: none is lost.
func TestConcurrentCommitsAreAllApplied(t *testing.T) {
	s, w := New(Options[int]{})
	var running sync.WaitGroup
	for g := range 4 {
		running.Go(func() {
			var b Batch[int]
			for i := range 250 {
				b.Put(fmt.Sprint(g, "/", i), i)
				w.Commit(&b)
			}
		})
	}
	running.Wait()
	if s.Len() != 1000 || s.Snapshot().Version() != 1000 {
		t.Errorf("%d objects at version %d", s.Len(), s.Snapshot().Version())
	}
	checkInvariants(t, w)
}

// A commit that waits for a user's function holds up no reader.
func TestReadersDoNotWaitForIndexFunctions(t *testing.T) {
	s, w := New(Options[int]{})
	commit(w, "a", 1)
	entered, release := make(chan struct{}), make(chan struct{})
	AddIndex(w, "slow", func(i int) []string {
		if i == 2 {
			entered <- struct{}{}
			<-release
		}
		return nil
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		commit(w, "a", 2)
	}()
	<-entered
	if got, _ := s.Get("a"); got != 1 || s.Len() != 1 || s.Snapshot().Len() != 1 || len(s.Failures()) != 0 {
		t.Errorf("Get = %d", got)
	}
	close(release)
	<-done
	if got, _ := s.Get("a"); got != 2 {
		t.Errorf("Get = %d", got)
	}
}

// A replacement that others' commits have overtaken is seen whole or not at all too: what they wrote lies in pages that
// are changed in place otherwise.
func TestPointReadsSeeOvertakenReplacementsWholeOrNotAtAll(t *testing.T) {
	s, w := New(Options[*generation]{Same: sameGeneration})
	moves(w, 40)["batch"](0)
	r := w.Replace()
	for i := range 40 {
		r.Put(strconv.Itoa(i), &generation{2})
	}
	for i := range 40 {
		commit(w, strconv.Itoa(i), &generation{1})
	}
	started := s.objects.Load()
	r.Commit("")
	for i := range 40 {
		key := strconv.Itoa(i)
		if _, at := started.find(hashOf(key), key); at == nil || s.refs.unpack(started.of, at.val).n != 1 {
			t.Errorf("%q is not of generation 1", key)
		}
		if g, _ := s.Get(key); g.n != 2 {
			t.Errorf("Get(%q) = %v", key, g)
		}
	}
}

// The key of a cell that a point read has reached stays what it is, whatever becomes of the slot.
func TestKeyOfACellNeverChanges(t *testing.T) {
	s, w := New(Options[int]{})
	commit(w, "neighbour", 0)
	for _, key := range []string{"a", ""} {
		commit(w, key, 1)
		slot, at := s.objects.Load().find(hashOf(key), key)
		remove(w, key)
		if got := at.val.load(); got.p != nil {
			t.Errorf("the cell of %q still has its object", key)
		}
		commit(w, "b", 2)
		if other, _ := s.objects.Load().find(hashOf("b"), "b"); other != slot {
			t.Fatalf("slot %d was not used again, but %d", slot, other)
		}
		if at.key != key {
			t.Errorf("the cell of %q became that of %q", key, at.key)
		}
		remove(w, "b")
	}
	checkInvariants(t, w)
}

// A point read that started before a replacement, or a commit of very many objects, and goes on after it, sees none of it.
func TestPointReadsSeeReplacementsWholeOrNotAtAll(t *testing.T) {
	s, w := New(Options[*generation]{Same: sameGeneration})
	for _, n := range []int{2, 60, quick + 1} {
		for name, move := range moves(w, n) {
			if name == "batch" && n <= quick {
				continue
			}
			for g := range 3 {
				move(2 * g)
				commit(w, "0", &generation{2 * g}) // may change the newest version in place
				started := s.objects.Load()
				move(2*g + 1)
				for i := range n {
					key := strconv.Itoa(i)
					if _, at := started.find(hashOf(key), key); at == nil || s.refs.unpack(started.of, at.val).n != 2*g {
						t.Fatalf("%s of %d: %q is not of generation %d", name, n, key, 2*g)
					}
				}
			}
			w.Replace().Commit("")
		}
	}
}
