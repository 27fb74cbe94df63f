package e2e

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/informerkit/informerkit/e2e/cluster"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

var (
	soakFor  = flag.Duration("duration", 0, "how long TestSoak breaks things; 0: 10 s, or 4 s with -short")
	soakSeed = flag.Uint64("seed", 0, "seed of TestSoak's faults and changes; 0: a new one")
)

const (
	soakWriters  = 8
	soakHandlers = 20
)

// TestSoak breaks a real API server at random under random changes, with handlers coming and going, and then checks that nothing was
// lost: the copy is the server's, each EveryChange handler was told an unbroken history that ends there, each LatestState
// handler's net effect ends there, and nothing is left behind. What is random follows the seed; what the machine makes of it
// does not.
func TestSoak(t *testing.T) {
	duration, objects := *soakFor, 200
	switch {
	case duration == 0 && testing.Short():
		duration = 4 * time.Second
	case duration == 0:
		duration = 10 * time.Second
	case duration >= time.Minute:
		objects = 1000
	}
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("go test -run TestSoak -seed %d -duration %v", seed, duration)
	defer func() {
		if t.Failed() {
			t.Errorf("seed %d", seed)
		}
	}()

	c := cluster.Start(t, cluster.Options{Logs: *serverLogs})
	fill(t, c, "default", objects, 100)
	s := &soak{cluster: c, client: widgets(c, "default"), objects: objects}
	gone := s.run(t, seed, duration)
	t.Logf("%d changes, %d refused; %v; %d handlers came", s.changes.Load(), s.refused.Load(), s.faults, s.handlers)

	runtime.GC()
	runtime.GC()
	if gone.Value() != nil {
		t.Error("the informer is still reachable after it stopped")
	}
}

// soak is one run of TestSoak.
type soak struct {
	cluster *cluster.Cluster
	client  dynamic.ResourceInterface
	objects int

	changes, refused atomic.Int64
	faults           map[string]int
	handlers         int
}

// listener is a handler and what it was told.
type listener struct {
	*recorder
	registration *informer.Registration[*unstructured.Unstructured]
}

// run does all of the soak, so that nothing of the informer is on the caller's stack when it returns.
func (s *soak) run(t *testing.T, seed uint64, duration time.Duration) weak.Pointer[informer.Informer[*unstructured.Unstructured]] {
	inf, err := informer.New(listwatch.For[*unstructured.Unstructured](s.client), informer.Options[*unstructured.Unstructured]{
		Reflector: reflector.Options{Backoff: quickly},
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, inf)
	random := rand.New(rand.NewPCG(seed, 0))
	var listeners []*listener
	for range soakHandlers {
		listeners = append(listeners, s.listen(inf, random))
	}
	waitSynced(t, inf)

	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	var busy sync.WaitGroup
	for writer := range soakWriters {
		busy.Go(func() { s.change(ctx, rand.New(rand.NewPCG(seed, uint64(writer+1)))) })
	}
	busy.Go(func() { s.breakThings(ctx, t, rand.New(rand.NewPCG(seed, 100))) })
	for ctx.Err() == nil { // handlers come and go
		at := random.IntN(len(listeners))
		leaving := listeners[at].registration
		leaving.Remove()
		<-leaving.Done()
		for _, wrong := range listeners[at].wrong {
			t.Errorf("a handler that left: %s", wrong)
		}
		listeners[at] = s.listen(inf, random)
		pause(ctx, time.Duration(random.IntN(200))*time.Millisecond)
	}
	busy.Wait()
	s.check(t, inf, listeners)
	stop()
	return weak.Make(inf)
}

// listen adds a handler of a random policy and pace.
func (s *soak) listen(inf *informer.Informer[*unstructured.Unstructured], random *rand.Rand) *listener {
	s.handlers++
	l := &listener{recorder: newRecorder()}
	handler := l.handler()
	if random.IntN(4) == 0 {
		slow := handler.Event
		handler.Event = func(e informer.Event[*unstructured.Unstructured]) {
			time.Sleep(time.Millisecond)
			slow(e)
		}
	}
	opts := informer.HandlerOptions{Delivery: informer.EveryChange}
	if random.IntN(2) == 0 {
		opts.Delivery = informer.LatestState
	}
	l.registration = inf.AddHandler(handler, opts)
	return l
}

// check compares everything with the server once nobody writes or breaks anything any more.
func (s *soak) check(t *testing.T, inf *informer.Informer[*unstructured.Unstructured], listeners []*listener) {
	t.Helper()
	checkCopy(t, inf, s.client)
	want := maps.Collect(inf.Snapshot().All())
	ctx := patient(t)
	for i, l := range listeners {
		what := fmt.Sprintf("what handler %d was told", i)
		if err := l.reaches(ctx, want); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		l.registration.Remove()
		<-l.registration.Done()
		compare(t, what, l.states(), want)
		for _, wrong := range l.wrong {
			t.Errorf("%s: %s", what, wrong)
		}
	}
}

// change creates, updates and deletes widgets until ctx ends. Requests fail while things are broken; that is as good.
func (s *soak) change(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		name := fmt.Sprintf("w%d", random.IntN(s.objects))
		var err error
		switch random.IntN(10) {
		case 0, 1:
			err = s.client.Delete(ctx, name, metav1.DeleteOptions{})
		case 2, 3, 4:
			_, err = s.client.Create(ctx, cluster.Widget("default", name, colors[random.IntN(len(colors))], random.Int64N(1000), 100), metav1.CreateOptions{})
		default:
			err = setSize(ctx, s.client, name, random.Int64N(1000))
		}
		switch {
		case err == nil:
			s.changes.Add(1)
		case !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err):
			s.refused.Add(1)
			pause(ctx, 50*time.Millisecond)
		}
		pause(ctx, time.Duration(random.IntN(10))*time.Millisecond)
	}
}

// breakThings breaks one thing after another until ctx ends, and mends what it broke.
func (s *soak) breakThings(ctx context.Context, t *testing.T, random *rand.Rand) {
	s.faults = map[string]int{}
	c := s.cluster
	whole := context.WithoutCancel(ctx) // what is begun is finished
	faults := []struct {
		name   string
		weight int
		do     func() error
	}{
		{"watches cut", 6, func() error { c.Gate.CutWatches(); return nil }},
		{"watches cut and reads held", 4, func() error {
			c.Gate.Hold(true)
			c.Gate.CutWatches()
			pause(ctx, time.Duration(random.IntN(400))*time.Millisecond)
			c.Gate.Hold(false)
			return nil
		}},
		{"410", 4, func() error { c.Gate.Expire(1 + random.IntN(2)); c.Gate.CutWatches(); return nil }},
		{"compaction", 2, func() error { return c.Compact(whole) }},
		{"etcd restart", 1, func() error { return c.RestartEtcd(whole) }},
		{"server restart", 1, func() error { return c.RestartServer() }},
		{"compaction and server restart", 1, func() error {
			if err := c.Compact(whole); err != nil {
				return err
			}
			return c.RestartServer()
		}},
	}
	var bag []int
	for i, f := range faults {
		for range f.weight {
			bag = append(bag, i)
		}
	}
	for pause(ctx, time.Duration(100+random.IntN(400))*time.Millisecond); ctx.Err() == nil; {
		f := faults[bag[random.IntN(len(bag))]]
		s.faults[f.name]++
		if err := f.do(); err != nil {
			t.Errorf("%s: %v", f.name, err)
			return
		}
		pause(ctx, time.Duration(100+random.IntN(400))*time.Millisecond)
	}
	c.Gate.Expire(0)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
