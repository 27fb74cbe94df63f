package informer_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

type listOptions = metav1.ListOptions

var (
	soak     = flag.Duration("soak", 0, "go on with new seeds for this long")
	oneSeed  = flag.Int("seed", -1, "run this seed of the convergence test only")
	numSeeds = flag.Int("seeds", 200, "seeds of the convergence test")
)

func newRand(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 1)) }

// Whatever happens to the server and the line, in the end the store is the server's content, each handler was told it, and
// no goroutine is left.
func TestConvergence(t *testing.T) {
	if *oneSeed >= 0 {
		converge(t, *oneSeed)
		return
	}
	began := time.Now()
	seed := 0
	for ; seed < *numSeeds || time.Since(began) < *soak; seed++ {
		converge(t, seed)
		if t.Failed() {
			t.Fatalf("seed %d diverged; again: go test ./informer -run TestConvergence -seed %d", seed, seed)
		}
	}
	t.Logf("%d seeds converged", seed)
}

// observer is a handler that takes its time, and what it was told.
type observer struct {
	mu       sync.Mutex
	delivery informer.Delivery
	events   []event
	reg      *informer.Registration[object]
}

func converge(t *testing.T, seed int) {
	r := newRand(seed)
	opts := options{Reflector: reflector.Options{
		Streaming: []reflector.Streaming{reflector.StreamingAuto, reflector.StreamingOff}[r.IntN(2)],
		PageSize:  int64(r.IntN(3) * 4),
	}}
	serve := apitest.Options{Seed: uint64(seed), History: 5 + r.IntN(100), WatchBuffer: r.IntN(2) * 20, NoWatchCache: r.IntN(2) == 0}
	inServer(t, serve, inProcess, opts, func(w *world) {
		var observers []*observer
		observe := func() {
			o := &observer{delivery: informer.Delivery(r.IntN(2))}
			pause := time.Duration(r.IntN(4)) * 100 * time.Millisecond
			o.reg = w.inf.AddHandler(handler{Event: func(e event) {
				time.Sleep(pause)
				o.mu.Lock()
				defer o.mu.Unlock()
				o.events = append(o.events, e)
			}}, informer.HandlerOptions{Delivery: o.delivery})
			observers = append(observers, o)
		}
		observe()
		stop := w.run()
		for range 150 {
			switch r.IntN(20) {
			case 0:
				disturb(w, r)
			case 1:
				time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
			case 2:
				if len(observers) < 6 {
					observe()
				} else if n := r.IntN(len(observers)); n > 0 {
					observers[n].reg.Remove()
					<-observers[n].reg.Done()
					observers = append(observers[:n], observers[n+1:]...)
				}
			case 3:
				if r.IntN(10) == 0 {
					stop()
					stop = w.run()
				}
			default:
				write(w, r)
			}
		}
		w.server.RemoveFaults()
		time.Sleep(20 * time.Minute) // every back-off, and every watch that went silent, is over
		for _, q := range w.inf.Status().Quarantined {
			w.update(strings.TrimPrefix(q.Key, "default/"), "repaired") // what was bad is tried again when it changes
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		w.equalsServer()
		for n, o := range observers {
			if told := replay(t, o.events); !maps.Equal(told, w.content()) {
				t.Errorf("observer %d (delivery %d) was told %v, server has %v", n, o.delivery, told, w.content())
			}
			if b := o.reg.Backlog(); b.Changes != 0 {
				t.Errorf("observer %d has a backlog of %+v", n, b)
			}
		}
		if q := w.inf.Status().Quarantined; len(q) != 0 {
			t.Errorf("quarantined: %+v", q)
		}
	})
}

func write(w *world, r *rand.Rand) {
	name := fmt.Sprint("o", r.IntN(12))
	switch _, err := apitest.Get[object](w.server, configmaps, "default", name); {
	case apierrors.IsNotFound(err):
		w.create(cm(name, fmt.Sprint(r.IntN(1000))))
	case r.IntN(3) == 0:
		w.delete(name)
	default:
		w.update(name, fmt.Sprint(r.IntN(1000)))
	}
}

// disturb does something bad that ends by itself, or with RemoveFaults.
func disturb(w *world, r *rand.Rand) {
	times := 1 + r.IntN(3)
	verb := []string{"", "list", "watch"}[r.IntN(3)]
	switch r.IntN(16) {
	case 0:
		w.server.CloseWatches("", nil)
	case 1:
		w.server.CloseWatches("", errors.New("connection reset"))
	case 2:
		w.server.Compact()
		w.server.CloseWatches("", nil)
	case 3:
		w.server.SendError("", apierrors.NewResourceExpired("too old"))
	case 4:
		w.server.SendError("", apierrors.NewInternalError(errors.New("etcd")))
	case 5:
		w.server.LoseEvents(func() {
			for range r.IntN(10) {
				write(w, r)
			}
		})
	case 6:
		w.server.Inject(apitest.Fault{Verb: verb, Times: times, Error: apierrors.NewTooManyRequests("slow down", 2)})
	case 7:
		w.server.Inject(apitest.Fault{Verb: verb, Times: times, Error: errors.New("connection refused")})
	case 8:
		w.server.Inject(apitest.Fault{Verb: verb, Times: times, Hang: true})
	case 9:
		w.server.Inject(apitest.Fault{Verb: "watch", Times: times, Silent: true})
	case 10:
		w.server.Inject(apitest.Fault{Verb: "watch", Times: times, CloseAfter: r.IntN(5) - 1})
	case 11:
		w.server.Inject(apitest.Fault{Verb: "watch", Times: times, NoInitialEventsEnd: true})
	case 12:
		w.server.Inject(apitest.Fault{Verb: "watch", Times: times, IgnoreSendInitialEvents: true})
	case 13:
		w.server.Inject(apitest.Fault{Verb: "list", Times: times, ExpireContinue: apitest.ExpireWithToken + apitest.ContinueExpiry(r.IntN(2))})
	case 14:
		w.server.Inject(apitest.Fault{Verb: "watch", Times: times, EventDelay: time.Duration(r.IntN(500)) * time.Millisecond, DropBookmarks: r.IntN(2) == 0})
	case 15:
		w.server.Inject(apitest.Fault{Undecodable: []string{fmt.Sprint("default/o", r.IntN(12))}, Times: times})
	}
}
