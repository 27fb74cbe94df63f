package cache

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
)

// popped pops one item and returns its state and whether it was said to be of the initial list.
func popped(t testing.TB, q Queue) (what string, isInInitialList bool) {
	t.Helper()
	obj, err := q.Pop(func(_ any, initial bool) error {
		isInInitialList = initial
		return nil
	})
	succeed(t, err)
	return state(obj), isInInitialList
}

// popAll closes the queue and pops what is left.
func popAll(t testing.TB, q Queue) []string {
	t.Helper()
	q.Close()
	all := []string{}
	for {
		obj, err := q.Pop(func(any, bool) error { return nil })
		if errors.Is(err, ErrFIFOClosed) {
			return all
		}
		succeed(t, err)
		all = append(all, state(obj))
	}
}

func TestFIFOHoldsTheNewestStateOfAKeyInItsFirstPlace(t *testing.T) {
	f := NewFIFO(MetaNamespaceKeyFunc)
	succeed(t, f.Add(newPod("a", "1")), f.Add(newPod("b", "1")), f.Update(newPod("a", "2")), f.Add(newPod("c", "1")), f.Update(newPod("a", "3")))
	check(t, "keys", []string{"a", "b", "c"}, f.ListKeys())
	check(t, "list", []string{"a@3", "b@1", "c@1"}, states(f.List()))
	obj, exists, err := f.Get(newPod("a", ""))
	succeed(t, err)
	check(t, "get", "a@3 true", fmt.Sprint(state(obj), " ", exists))
	_, exists, err = f.GetByKey("z")
	succeed(t, err)
	check(t, "absent key exists", false, exists)
	check(t, "popped", []string{"a@3", "b@1", "c@1"}, popAll(t, f))
}

func TestFIFODoesNotProcessWhatIsDeleted(t *testing.T) {
	f := NewFIFO(MetaNamespaceKeyFunc)
	succeed(t, f.Add(newPod("a", "1")), f.Add(newPod("b", "1")), f.Delete(newPod("a", "2")), f.Delete(newPod("unknown", "2")))
	check(t, "popped", []string{"b@1"}, popAll(t, f))

	f = NewFIFO(MetaNamespaceKeyFunc)
	succeed(t, f.Add(newPod("a", "1")), f.Add(newPod("b", "1")), f.Delete(newPod("a", "2")), f.Add(newPod("a", "3")))
	check(t, "a place in line ends with the deletion", []string{"b@1", "a@3"}, popAll(t, f))
}

func TestFIFOAddIfNotPresentKeepsTheNewer(t *testing.T) {
	f := NewFIFO(MetaNamespaceKeyFunc)
	succeed(t, f.Add(newPod("a", "2")), f.AddIfNotPresent(newPod("a", "1")), f.AddIfNotPresent(newPod("b", "1")))
	check(t, "popped", []string{"a@2", "b@1"}, popAll(t, f))
}

func TestPopBlocksUntilThereIsAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFIFO(MetaNamespaceKeyFunc)
		got := make(chan string, 1)
		go func() {
			what, _ := popped(t, f)
			got <- what
		}()
		synctest.Wait()
		check(t, "popped before there was any", 0, len(got))
		succeed(t, f.Add(newPod("a", "1")))
		synctest.Wait()
		check(t, "popped", "a@1", <-got)
	})
}

func TestPopOfAClosedQueueDrainsItAndThenFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFIFO(MetaNamespaceKeyFunc)
		failed := make(chan error, 3)
		for range 2 {
			go func() {
				_, err := f.Pop(func(any, bool) error { return nil })
				failed <- err
			}()
		}
		synctest.Wait()
		check(t, "closed", false, f.IsClosed())
		f.Close()
		f.Close()
		check(t, "closed", true, f.IsClosed())
		for range 2 {
			if err := <-failed; !errors.Is(err, ErrFIFOClosed) {
				t.Errorf("Pop that waited: %v", err)
			}
		}
		succeed(t, f.Add(newPod("a", "1")))
		check(t, "popped", []string{"a@1"}, popAll(t, f))
		if obj := Pop(f); obj != nil {
			t.Errorf("Pop(queue) of a closed queue is %v", obj)
		}
	})
}

func TestPopFunctionReturnsTheItem(t *testing.T) {
	f := NewFIFO(MetaNamespaceKeyFunc)
	succeed(t, f.Add(newPod("a", "1")))
	check(t, "popped", "a@1", state(Pop(f)))
}

func TestTheItemHasLeftTheQueueBeforeProcessRuns(t *testing.T) {
	f := NewFIFO(MetaNamespaceKeyFunc)
	succeed(t, f.Add(newPod("a", "1")), f.Add(newPod("b", "1")))
	_, err := f.Pop(func(obj any, _ bool) error {
		check(t, "queue while processing", []string{"b@1"}, states(f.List()))
		return f.Add(newPod("a", "2")) // the queue can be used
	})
	succeed(t, err)
	check(t, "left", []string{"b@1", "a@2"}, popAll(t, f))
}

func TestErrRequeuePutsTheItemBack(t *testing.T) {
	inner := errors.New("not now")
	for _, test := range []struct {
		name    string
		process func(f *FIFO) error
		err     error
		left    []string
	}{
		{"nothing newer", func(f *FIFO) error { return ErrRequeue{Err: inner} }, inner, []string{"b@1", "a@1"}},
		{"wrapped", func(f *FIFO) error { return fmt.Errorf("oh: %w", ErrRequeue{Err: inner}) }, inner, []string{"b@1", "a@1"}},
		{"newer there", func(f *FIFO) error { return errors.Join(f.Add(newPod("a", "2")), ErrRequeue{Err: inner}) }, inner, []string{"b@1", "a@2"}},
		{"without an error", func(f *FIFO) error { return ErrRequeue{} }, nil, []string{"b@1", "a@1"}},
		{"another error", func(f *FIFO) error { return inner }, inner, []string{"b@1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := NewFIFO(MetaNamespaceKeyFunc)
			succeed(t, f.Add(newPod("a", "1")), f.Add(newPod("b", "1")))
			obj, err := f.Pop(func(any, bool) error { return test.process(f) })
			check(t, "popped", "a@1", state(obj))
			if err != test.err {
				t.Errorf("got error %v, want the inner one, %v", err, test.err)
			}
			check(t, "left", test.left, popAll(t, f))
		})
	}
	check(t, "text", "not now", ErrRequeue{Err: inner}.Error())
	if (ErrRequeue{}).Error() == "" {
		t.Error("without an inner error there is no text")
	}
}

func TestDeleteWaitsForWhatIsBeingProcessed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFIFO(MetaNamespaceKeyFunc)
		succeed(t, f.Add(newPod("a", "1")))
		release := make(chan struct{})
		go f.Pop(func(any, bool) error { <-release; return ErrRequeue{} })
		synctest.Wait()
		deleted := false
		go func() { succeed(t, f.Delete(newPod("a", "1"))); deleted = true }()
		synctest.Wait()
		check(t, "deleted while a is in process", false, deleted)
		close(release)
		synctest.Wait()
		check(t, "deleted", true, deleted)
		check(t, "what was deleted is not back", []string{}, f.ListKeys())
	})
}

func TestDeleteComesBeforeTheNextItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFIFO(MetaNamespaceKeyFunc)
		succeed(t, f.Replace(newPods("a@1", "b@1", "c@1"), "1"))
		f.Close()
		release := make(chan struct{})
		var processed []string
		go func() { // a consumer that never rests
			for {
				if _, err := f.Pop(func(obj any, _ bool) error {
					processed = append(processed, state(obj))
					<-release
					return nil
				}); err != nil {
					return
				}
			}
		}()
		synctest.Wait()
		go func() { succeed(t, f.Delete(newPod("b", "1"))) }()
		synctest.Wait()
		close(release)
		synctest.Wait()
		check(t, "processed", []string{"a@1", "c@1"}, processed)
	})
}

func TestProcessFunctionsDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFIFO(MetaNamespaceKeyFunc)
		for i := range 20 {
			succeed(t, f.Add(newPod(fmt.Sprint(i), "1")))
		}
		f.Close()
		running, calls := 0, 0 // no lock: the queue has to keep them apart
		for range 4 {
			go func() {
				for {
					_, err := f.Pop(func(any, bool) error {
						running++
						calls++
						if running != 1 {
							t.Errorf("%d at a time", running)
						}
						running--
						return nil
					})
					if err != nil {
						return
					}
				}
			}()
		}
		synctest.Wait()
		check(t, "calls", 20, calls)
	})
}

func TestAPanicInProcessLeavesTheQueueUsable(t *testing.T) {
	f := NewFIFO(MetaNamespaceKeyFunc)
	succeed(t, f.Replace(newPods("a@1", "b@1"), "1"))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		f.Pop(func(any, bool) error { panic("boom") })
	}()
	check(t, "popped", []string{"b@1"}, popAll(t, f))
	check(t, "synced", true, f.HasSynced())
}

func TestFIFOReplaceResetsTheContent(t *testing.T) {
	f := NewFIFO(MetaNamespaceKeyFunc)
	succeed(t, f.Add(newPod("a", "1")), f.Add(newPod("b", "1")))
	succeed(t, f.Replace(newPods("c@1", "b@2", "c@2"), "7"))
	check(t, "keys", []string{"c", "b"}, f.ListKeys())
	succeed(t, f.Resync())
	check(t, "popped", []string{"c@2", "b@2"}, popAll(t, f))
}

func TestFIFOHasSynced(t *testing.T) {
	type step struct {
		name   string
		do     func(f *FIFO) error
		synced bool
	}
	add := func(f *FIFO) error { return f.Add(newPod("a", "1")) }
	replace := func(states ...string) func(f *FIFO) error {
		return func(f *FIFO) error { return f.Replace(newPods(states...), "1") }
	}
	pop := func(f *FIFO) error { _, err := f.Pop(func(any, bool) error { return nil }); return err }
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"add first", []step{{"add", add, true}}},
		{"update first", []step{{"update", func(f *FIFO) error { return f.Update(newPod("a", "1")) }, true}}},
		{"delete first", []step{{"delete", func(f *FIFO) error { return f.Delete(newPod("a", "1")) }, true}}},
		{"add if not present first", []step{{"add", func(f *FIFO) error { return f.AddIfNotPresent(newPod("a", "1")) }, true}}},
		{"add, then a list", []step{{"add", add, true}, {"replace", replace("b@1"), true}}},
		{"empty list", []step{{"resync", (*FIFO).Resync, false}, {"replace", replace(), true}}},
		{"list", []step{{"replace", replace("a@1", "b@1"), false}, {"pop", pop, false}, {"pop", pop, true}}},
		{"a key twice in the list", []step{{"replace", replace("a@1", "a@2"), false}, {"pop", pop, true}}},
		{"list and more", []step{{"replace", replace("a@1"), false}, {"add", func(f *FIFO) error { return f.Add(newPod("b", "1")) }, false}, {"pop", pop, true}}},
		{"the rest deleted", []step{{"replace", replace("a@1", "b@1"), false}, {"pop", pop, false}, {"delete", func(f *FIFO) error { return f.Delete(newPod("b", "1")) }, true}}},
		{"a list in place of the first", []step{{"replace", replace("a@1", "b@1"), false}, {"replace", replace("c@1"), false}, {"pop", pop, true}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := NewFIFO(MetaNamespaceKeyFunc)
			checker := f.HasSyncedChecker()
			check(t, "name", "FIFO", checker.Name())
			check(t, "synced at first", false, f.HasSynced() || IsDone(checker))
			for _, step := range test.steps {
				succeed(t, step.do(f))
				check(t, "synced after "+step.name, step.synced, f.HasSynced())
				check(t, "done after "+step.name, step.synced, IsDone(checker))
			}
		})
	}
}

func TestHasSyncedOnlyWhenTheLastItemHasBeenProcessed(t *testing.T) {
	f := NewFIFO(MetaNamespaceKeyFunc)
	succeed(t, f.Replace(newPods("a@1"), "1"))
	_, err := f.Pop(func(any, bool) error {
		check(t, "synced while processing", false, f.HasSynced())
		return nil
	})
	succeed(t, err)
	check(t, "synced", true, f.HasSynced())
}

func TestIsInInitialListIsTrueForTheFirstReplace(t *testing.T) {
	f := NewFIFO(MetaNamespaceKeyFunc)
	succeed(t, f.Replace(newPods("a@1", "b@1"), "1"), f.Add(newPod("c", "1")), f.Update(newPod("b", "2")))
	for _, want := range []struct {
		what    string
		initial bool
	}{{"a@1", true}, {"b@2", true}, {"c@1", false}} {
		what, initial := popped(t, f)
		check(t, "popped", want.what, what)
		check(t, "initial of "+what, want.initial, initial)
	}
	succeed(t, f.Replace(newPods("d@1"), "2"))
	_, initial := popped(t, f)
	check(t, "initial of a second list", false, initial)
}

func TestFIFOKeyErrors(t *testing.T) {
	f := NewFIFO(MetaNamespaceKeyFunc)
	wantKeyError(t, f.Add(7), 7)
	wantKeyError(t, f.Update(7), 7)
	wantKeyError(t, f.Delete(7), 7)
	wantKeyError(t, f.AddIfNotPresent(7), 7)
	_, _, err := f.Get(7)
	wantKeyError(t, err, 7)
	succeed(t, f.Add(newPod("a", "1")))
	wantKeyError(t, f.Replace([]any{newPod("b", "1"), 7}, "1"), 7)
	check(t, "nothing is half-applied", []string{"a@1"}, popAll(t, f))
}

// fifoModel is what a FIFO should be, naively.
type fifoModel struct {
	line    []*waiting
	begun   bool
	awaited []string
}

type waiting struct{ key, state string }

func (m *fifoModel) find(key string) int {
	return slices.IndexFunc(m.line, func(p *waiting) bool { return p.key == key })
}

func (m *fifoModel) add(key, state string, replace bool) {
	m.begun = true
	if i := m.find(key); i < 0 {
		m.line = append(m.line, &waiting{key, state})
	} else if replace {
		m.line[i].state = state
	}
}

func (m *fifoModel) forget(key string) {
	m.awaited = slices.DeleteFunc(m.awaited, func(k string) bool { return k == key })
}

func runFIFOScript(t *testing.T, s *script) {
	f, m, next := NewFIFO(MetaNamespaceKeyFunc), &fifoModel{}, versions()
	for !s.ended() {
		switch s.pick(7) {
		case 0, 1:
			pod := newPod(s.key(), next())
			succeed(t, f.Add(pod))
			m.add(pod.Name, state(pod), true)
		case 2:
			pod := newPod(s.key(), next())
			succeed(t, f.AddIfNotPresent(pod))
			m.add(pod.Name, state(pod), false)
		case 3:
			key := s.key()
			succeed(t, f.Delete(newPod(key, next())))
			m.begun = true
			m.line = slices.DeleteFunc(m.line, func(p *waiting) bool { return p.key == key })
			m.forget(key)
		case 4:
			list := s.pods(next)
			wasSynced := m.begun && len(m.awaited) == 0
			succeed(t, f.Replace(slices.Clone(list), ""))
			m.line, m.awaited = nil, nil
			for _, obj := range list {
				m.add(keyOfPod(obj), state(obj), true)
			}
			m.begun = true
			if !wasSynced {
				for _, p := range m.line {
					m.awaited = append(m.awaited, p.key)
				}
			}
		default:
			if len(m.line) == 0 {
				continue
			}
			requeue := s.pick(3) == 0
			first := m.line[0]
			m.line = m.line[1:]
			obj, err := f.Pop(func(_ any, initial bool) error {
				if slices.Contains(m.awaited, first.key) && !initial {
					t.Errorf("%s is of the initial list", first.key)
				}
				if requeue {
					return ErrRequeue{}
				}
				return nil
			})
			succeed(t, err)
			check(t, "popped", first.state, state(obj))
			m.forget(first.key)
			if requeue {
				m.add(first.key, first.state, false)
			}
		}
		keys, list := []string{}, []string{}
		for _, p := range m.line {
			keys, list = append(keys, p.key), append(list, p.state)
		}
		check(t, "keys", keys, f.ListKeys())
		check(t, "list", list, states(f.List()))
		check(t, "synced", m.begun && len(m.awaited) == 0, f.HasSynced())
	}
}

func keyOfPod(obj any) string {
	key, err := MetaNamespaceKeyFunc(obj)
	if err != nil {
		panic(err)
	}
	return key
}

func TestFIFOAgainstAModel(t *testing.T) { randomScripts(t, runFIFOScript) }

func FuzzFIFO(f *testing.F) { fuzzScripts(f, runFIFOScript) }

func TestFIFOConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFIFO(MetaNamespaceKeyFunc)
		newest := map[string]string{}
		go func() {
			for {
				_, err := f.Pop(func(obj any, _ bool) error {
					newest[keyOfPod(obj)] = state(obj)
					return nil
				})
				if err != nil {
					return
				}
			}
		}()
		for writer := range 3 {
			go func() {
				for i := range 100 {
					succeed(t, f.Add(newPod(fmt.Sprint(writer), fmt.Sprint(i))))
					f.List()
				}
			}()
		}
		synctest.Wait()
		f.Close()
		synctest.Wait()
		check(t, "newest states processed", map[string]string{"0": "0@99", "1": "1@99", "2": "2@99"}, newest)
	})
}
