package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/apitest/workload"
)

// worldOptions are the flags of an in-memory API server with a workload.
type worldOptions struct {
	seed        uint64
	rate        float64 // writes per second
	deployments int
	faults      bool
}

func (o *worldOptions) addFlags(f *pflag.FlagSet, prefix string) {
	f.Uint64Var(&o.seed, "seed", 1, prefix+"`number` that decides which writes and faults there are")
	f.Float64Var(&o.rate, "rate", 20, prefix+"writes per second")
	f.IntVar(&o.deployments, "deployments", 6, prefix+"`number` of deployments, with up to 8 pods each")
}

func (o *worldOptions) check() error {
	if !(o.rate >= 0 && o.rate <= maxRate) {
		return usagef("--rate %v: want 0 to %d", o.rate, maxRate)
	}
	if o.deployments < 1 || o.deployments > maxDeployments {
		return usagef("--deployments %d: want 1 to %d", o.deployments, maxDeployments)
	}
	return nil
}

const (
	maxRate        = 10_000
	maxDeployments = 1_000
	nodeCount      = 4
	maxReplicas    = 8
)

// world is an in-memory API server in which something is going on.
type world struct {
	server *apitest.Server
	opts   worldOptions
	// told is told of each fault, by the goroutine that makes it.
	told func(fault)

	work   *workload.Workload
	cancel context.CancelFunc
	done   sync.WaitGroup
	err    error // of the goroutine; read after done
}

// newWorld makes the server and its first objects. Nothing goes on before start. wrote is told of each write to one of
// resourceNames, by the goroutine that makes it; told of each fault.
func newWorld(opts worldOptions, wrote func(resource string, rv uint64), told func(fault)) (*world, error) {
	w := &world{
		server: apitest.NewServer(apitest.Options{Seed: opts.seed, BookmarkInterval: 2 * time.Second}),
		opts:   opts, told: told,
	}
	var err error
	w.work, err = workload.New(w.server, workload.Options{
		Seed: opts.seed, Nodes: nodeCount, Deployments: opts.deployments, MaxReplicas: maxReplicas, Running: true,
		Wrote: func(resource schema.GroupVersionResource, obj metav1.Object) {
			if !slices.Contains(resourceNames, resource.Resource) {
				return
			}
			rv, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
			if err != nil {
				panic("BUG: apitest's resource versions are numbers: " + err.Error())
			}
			wrote(resource.Resource, rv)
		},
	})
	if err != nil {
		w.server.Close()
		return nil, err
	}
	return w, nil
}

// start lets things go on until ctx ends or rest is called.
func (w *world) start(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(ctx)
	w.done.Go(func() { w.err = w.run(ctx) })
}

// rest ends what is going on and heals what is broken; the server stays. The error is of a write that failed.
func (w *world) rest() error {
	w.cancel()
	w.done.Wait()
	w.server.RemoveFaults()
	return w.err
}

func (w *world) run(ctx context.Context) error {
	const tick = 10 * time.Millisecond
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	r := rand.New(rand.NewPCG(w.opts.seed, 0x6661756c7473))
	var (
		owed    float64 // writes
		heal    func()
		healAt  time.Time
		faultAt = time.Now().Add(1500 * time.Millisecond)
	)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		now := time.Now()
		if heal != nil && !now.Before(healAt) {
			heal()
			heal = nil
		}
		if w.opts.faults && heal == nil && !now.Before(faultAt) {
			f := nextFault(r, resourceNames)
			w.told(f)
			var err error
			if heal, err = f.begin(w.server, w.work.Step); err != nil {
				return fmt.Errorf("fault: %w", err)
			}
			healAt = now.Add(f.lasts)
			faultAt = now.Add(f.lasts + time.Duration(1500+r.IntN(1500))*time.Millisecond)
		}
		for owed += w.opts.rate * tick.Seconds(); owed >= 1; owed-- {
			if err := w.work.Step(); err != nil {
				return err
			}
		}
	}
}

// resourceNames are the resources of the workload.
var resourceNames = []string{workload.Nodes.Resource, workload.Deployments.Resource, workload.Pods.Resource}
