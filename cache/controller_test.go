package cache

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// pair is a store and the controller that fills it, and the log of its handler.
type pair struct {
	store Store
	Controller
	*callLog
}

func newPair(s *podServer, resync time.Duration) *pair {
	p := &pair{callLog: &callLog{}}
	p.store, p.Controller = NewInformer(s.listerWatcher(), &corev1.Pod{}, resync, p.callLog)
	return p
}

func TestInformerWiresAStoreToAHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		s.create("b", "1")
		p := newPair(s, 0)
		check(t, "synced before it runs", false, p.HasSynced())
		check(t, "resource version before it runs", "", p.LastSyncResourceVersion())
		start(t, p.RunWithContext)
		p.toldInAnyOrder(t, "first list", "initial a:1", "initial b:1")
		check(t, "synced", true, p.HasSynced())
		check(t, "done", true, IsDone(p.HasSyncedChecker()))
		s.update("a", "2")
		s.create("c", "1")
		s.delete("b")
		p.told(t, "watch", "update a:1 a:2", "add c:1", "delete b:1")
		check(t, "store", []string{"a:2", "c:1"}, contents(p.store.List()))
		check(t, "resource version", s.ResourceVersion(), p.LastSyncResourceVersion())
		check(t, "resource version of the store", s.ResourceVersion(), p.store.LastStoreSyncResourceVersion())
	})
}

func TestInformerStoreIsInTheStateThatACallTellsOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		s.create("b", "1")
		p := newPair(s, 0)
		var stores [][]string
		p.before = func(string) { stores = append(stores, contents(p.store.List())) }
		start(t, p.RunWithContext)
		synctest.Wait()
		check(t, "in the first list", [][]string{{"a:1", "b:1"}, {"a:1", "b:1"}}, stores)
		stores = nil
		s.update("a", "2")
		s.update("a", "3")
		synctest.Wait()
		check(t, "while watching", [][]string{{"a:2", "b:1"}, {"a:3", "b:1"}}, stores)

		stores = nil
		p.take()
		s.LoseEvents(func() {
			s.delete("a")
			s.update("b", "2")
			s.create("c", "2")
		})
		settle()
		want := []string{"b:2", "c:2"}
		check(t, "in a relist", [][]string{want, want, want}, stores)
		p.toldInAnyOrder(t, "relist", "delete lost(ns/a, a:3)", "update b:1 b:2", "add c:2")
	})
}

func TestInformerTellsNothingOfWhatARelistFindsUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		p := newPair(s, 0)
		start(t, p.RunWithContext)
		synctest.Wait()
		before := p.store.List()[0]
		p.take()
		s.LoseEvents(func() {})
		settle()
		p.told(t, "relist")
		if p.store.List()[0] != before {
			t.Error("an unchanged object is another one after a relist")
		}
	})
}

func TestInformerResyncsAtItsPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		p := newPair(s, 20*time.Second)
		start(t, p.RunWithContext)
		p.told(t, "first list", "initial a:1")
		time.Sleep(50 * time.Second)
		p.told(t, "after two periods", "resync a:1", "resync a:1")
	})
}

func TestInformerVariants(t *testing.T) {
	mark := func(obj any) (any, error) {
		pod := obj.(*corev1.Pod)
		pod.Spec.NodeName += "!"
		return pod, nil
	}
	indexers := Indexers{NamespaceIndex: MetaNamespaceIndexFunc}
	for name, build := range map[string]func(lw ListerWatcher, h ResourceEventHandler) (Store, Controller){
		"NewInformer": func(lw ListerWatcher, h ResourceEventHandler) (Store, Controller) {
			return NewInformer(lw, &corev1.Pod{}, 0, h)
		},
		"NewIndexerInformer": func(lw ListerWatcher, h ResourceEventHandler) (Store, Controller) {
			return NewIndexerInformer(lw, &corev1.Pod{}, 0, h, indexers)
		},
		"NewTransformingInformer": func(lw ListerWatcher, h ResourceEventHandler) (Store, Controller) {
			return NewTransformingInformer(lw, &corev1.Pod{}, 0, h, mark)
		},
		"NewTransformingIndexerInformer": func(lw ListerWatcher, h ResourceEventHandler) (Store, Controller) {
			return NewTransformingIndexerInformer(lw, &corev1.Pod{}, 0, h, indexers, mark)
		},
		"NewInformerWithOptions": func(lw ListerWatcher, h ResourceEventHandler) (Store, Controller) {
			return NewInformerWithOptions(InformerOptions{ListerWatcher: lw, Handler: h, Indexers: indexers, Transform: mark})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, log := newPodServer(t), &callLog{}
				s.create("a", "1")
				store, c := build(s.listerWatcher(), log)
				start(t, c.RunWithContext)
				synctest.Wait()
				s.update("a", "2")
				want := []string{"initial a:1", "update a:1 a:2"}
				if name != "NewInformer" && name != "NewIndexerInformer" {
					want = []string{"initial a:1!", "update a:1! a:2!"}
				}
				log.told(t, "calls", want...)
				if indexer, ok := store.(Indexer); ok && len(indexer.GetIndexers()) > 0 {
					found, err := indexer.ByIndex(NamespaceIndex, "ns")
					succeed(t, err)
					check(t, "by index", 1, len(found))
				}
			})
		})
	}
}

func TestControllerRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		p := newPair(s, 0)
		run := start(t, p.RunWithContext)
		synctest.Wait()
		check(t, "second run ended", true, start(t, p.RunWithContext).ended())
		run.stop()
		check(t, "run after the end ended", true, start(t, p.RunWithContext).ended())
		check(t, "lists", 1, s.CountRequests("list", "pods")+s.streamingLists())
	})
}

// streamingLists counts the lists that were streams.
func (s *podServer) streamingLists() int {
	n := 0
	for _, r := range s.Requests() {
		if r.Verb == "watch" && r.Options.SendInitialEvents != nil && *r.Options.SendInitialEvents {
			n++
		}
	}
	return n
}

func TestControllerEndsWithItsStopChannelAndClosesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		queue := NewFIFO(MetaNamespaceKeyFunc)
		c := New(&Config{Queue: queue, ListerWatcher: s.listerWatcher(), Process: func(any, bool) error { return nil }})
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			c.Run(stop)
		}()
		synctest.Wait()
		check(t, "synced", true, c.HasSynced())
		close(stop)
		<-done
		check(t, "queue closed", true, queue.IsClosed())
	})
}

// userQueue is a queue as a user may write one: newest object per key, nothing but what Queue asks for, and an error of
// its own when it is closed.
type userQueue struct {
	mu      sync.Mutex // guards what follows
	changed *sync.Cond
	items   []any
	seen    bool // a Replace came
	initial int
	synced  chan struct{}
	closed  bool
	resyncs int
}

var errUserQueueClosed = errors.New("user's queue is closed")

func newUserQueue() *userQueue {
	q := &userQueue{synced: make(chan struct{})}
	q.changed = sync.NewCond(&q.mu)
	return q
}

func (q *userQueue) put(obj any) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, obj)
	q.changed.Broadcast()
	return nil
}

func (q *userQueue) Add(obj any) error    { return q.put(obj) }
func (q *userQueue) Update(obj any) error { return q.put(obj) }
func (q *userQueue) Delete(obj any) error {
	key, err := MetaNamespaceKeyFunc(obj)
	if err != nil {
		return err
	}
	return q.put(DeletedFinalStateUnknown{Key: key, Obj: obj})
}

func (q *userQueue) Replace(list []any, _ string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = list
	if !q.seen {
		q.seen, q.initial = true, len(list)
		if q.initial == 0 {
			close(q.synced)
		}
	}
	q.changed.Broadcast()
	return nil
}

func (q *userQueue) Resync() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.resyncs++
	return nil
}

func (q *userQueue) Pop(process PopProcessFunc) (any, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 {
		if q.closed {
			return nil, errUserQueueClosed
		}
		q.changed.Wait()
	}
	obj := q.items[0]
	q.items = q.items[1:]
	initial := q.initial > 0
	err := process(obj, initial)
	if initial {
		if q.initial--; q.initial == 0 {
			close(q.synced)
		}
	}
	return obj, err
}

func (q *userQueue) HasSynced() bool {
	select {
	case <-q.synced:
		return true
	default:
		return false
	}
}

func (q *userQueue) HasSyncedChecker() DoneChecker { return q }
func (q *userQueue) Name() string                  { return "user's queue" }
func (q *userQueue) Done() <-chan struct{}         { return q.synced }

func (q *userQueue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}

func TestControllerWorksWithAQueueOfTheUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, log := newPodServer(t), &callLog{}
		s.create("a", "1")
		queue := newUserQueue()
		c := New(&Config{
			Queue:            queue,
			ListerWatcher:    s.listerWatcher(),
			ObjectType:       &corev1.Pod{},
			FullResyncPeriod: 30 * time.Second,
			Process: func(obj any, isInInitialList bool) error {
				log.OnAdd(obj, isInInitialList)
				return nil
			},
		})
		run := start(t, c.RunWithContext)
		synctest.Wait()
		s.update("a", "2")
		s.delete("a")
		log.told(t, "processed", "initial a:1", "add a:2", "add lost(ns/a, a:2)")
		check(t, "synced", true, c.HasSynced())
		time.Sleep(70 * time.Second)
		synctest.Wait()
		check(t, "resyncs", 2, queue.resyncs)
		run.stop() // returns although the queue does not say ErrFIFOClosed
	})
}

func TestControllerAsksWhetherToResync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		queue, asked := newUserQueue(), 0
		c := New(&Config{
			Queue:            queue,
			ListerWatcher:    s.listerWatcher(),
			Process:          func(any, bool) error { return nil },
			FullResyncPeriod: 10 * time.Second,
			ShouldResync:     func() bool { asked++; return asked == 2 },
		})
		start(t, c.RunWithContext)
		time.Sleep(35 * time.Second)
		synctest.Wait()
		check(t, "asked", 3, asked)
		check(t, "resyncs", 1, queue.resyncs)
	})
}

// queueWithoutRequeue keeps what process returns from the queue in it, so that an ErrRequeue means nothing.
type queueWithoutRequeue struct{ Queue }

func (q queueWithoutRequeue) Pop(process PopProcessFunc) (any, error) {
	var failed error
	obj, err := q.Queue.Pop(func(obj any, initial bool) error {
		failed = process(obj, initial)
		return nil
	})
	if err == nil {
		err = failed
	}
	return obj, err
}

type queueWithAddIfNotPresent struct {
	queueWithoutRequeue
	fifo *FIFO
}

func (q queueWithAddIfNotPresent) AddIfNotPresent(obj any) error { return q.fifo.AddIfNotPresent(obj) }

func TestControllerPutsBackWhatFailed(t *testing.T) {
	for name, queue := range map[string]func() Queue{
		"into a queue that knows ErrRequeue": func() Queue { return NewFIFO(MetaNamespaceKeyFunc) },
		"by AddIfNotPresent": func() Queue {
			fifo := NewFIFO(MetaNamespaceKeyFunc)
			return queueWithAddIfNotPresent{queueWithoutRequeue{fifo}, fifo}
		},
		"nowhere, and tries again itself": func() Queue { return queueWithoutRequeue{NewFIFO(MetaNamespaceKeyFunc)} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPodServer(t)
				s.create("a", "1")
				s.create("b", "1")
				failures := map[string]int{"a:1": 3}
				var done []string
				c := New(&Config{
					Queue:         queue(),
					ListerWatcher: s.listerWatcher(),
					RetryOnError:  true,
					Process: func(obj any, _ bool) error {
						if failures[content(obj)] > 0 {
							failures[content(obj)]--
							return errors.New("not now")
						}
						done = append(done, content(obj))
						return nil
					},
				})
				start(t, c.RunWithContext)
				settle()
				slices.Sort(done)
				check(t, "processed in the end, once each", []string{"a:1", "b:1"}, done)
				check(t, "failures left", 0, failures["a:1"])
			})
		})
	}
}

func TestControllerDropsWhatFailedUnlessTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		calls := 0
		c := New(&Config{
			Queue:         NewFIFO(MetaNamespaceKeyFunc),
			ListerWatcher: s.listerWatcher(),
			Process: func(any, bool) error {
				calls++
				return errors.New("no")
			},
		})
		start(t, c.RunWithContext)
		settle()
		check(t, "calls", 1, calls)
	})
}

func TestControllerThatRetriesStopsAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		for _, queue := range []Queue{NewFIFO(MetaNamespaceKeyFunc), queueWithoutRequeue{NewFIFO(MetaNamespaceKeyFunc)}} {
			c := New(&Config{
				Queue:         queue,
				ListerWatcher: s.listerWatcher(),
				RetryOnError:  true,
				Process:       func(any, bool) error { return errors.New("never") },
			})
			run := start(t, c.RunWithContext)
			settle()
			run.stop()
		}
	})
}

func TestControllerProcessesBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		for _, name := range []string{"a", "b", "c"} {
			s.create(name, "1")
		}
		var batches []int
		known := NewStore(MetaNamespaceKeyFunc)
		c := New(&Config{
			Queue:         NewRealFIFO(MetaNamespaceKeyFunc, known, nil),
			ListerWatcher: s.listerWatcher(),
			Process:       func(any, bool) error { batches = append(batches, 1); return nil },
			ProcessBatch: func(deltas []Delta, isInInitialList bool) error {
				check(t, "initial", true, isInInitialList)
				batches = append(batches, len(deltas))
				return nil
			},
		})
		start(t, c.RunWithContext)
		synctest.Wait()
		s.create("d", "1")
		synctest.Wait()
		check(t, "sizes", []int{3, 1}, batches)
	})
}

func TestControllerTellsItsWatchErrorHandler(t *testing.T) {
	refused := errors.New("connection refused by a test")
	for name, set := range map[string]func(c *Config, told *[]error){
		"plain": func(c *Config, told *[]error) {
			c.WatchErrorHandler = func(_ *Reflector, err error) { *told = append(*told, err) }
		},
		"with context": func(c *Config, told *[]error) {
			c.WatchErrorHandlerWithContext = func(_ context.Context, _ *Reflector, err error) { *told = append(*told, err) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPodServer(t)
				s.Inject(apitestFault("", refused, 0))
				var told []error
				config := &Config{
					Queue:         NewFIFO(MetaNamespaceKeyFunc),
					ListerWatcher: s.listerWatcher(),
					Process:       func(any, bool) error { return nil },
				}
				set(config, &told)
				start(t, New(config).RunWithContext)
				settle()
				if len(told) == 0 || !errors.Is(told[0], refused) {
					t.Errorf("told %v, want the server's errors", told)
				}
			})
		})
	}
}

func TestControllerGoesOnAfterAPanicThatDoesNotEndTheProcess(t *testing.T) {
	crash := utilruntime.ReallyCrash
	utilruntime.ReallyCrash = false
	defer func() { utilruntime.ReallyCrash = crash }()
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		s.create("b", "1")
		calls := 0
		c := New(&Config{
			Queue:         NewFIFO(MetaNamespaceKeyFunc),
			ListerWatcher: s.listerWatcher(),
			Process: func(any, bool) error {
				if calls++; calls == 1 {
					panic("a test's")
				}
				return nil
			},
		})
		start(t, c.RunWithContext)
		settle()
		check(t, "calls", 2, calls)
		check(t, "synced", true, c.HasSynced())
	})
}
