package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/apitest/workload"
	"github.com/informerkit/informerkit/cmd/informerkit/internal/screen"
	"github.com/informerkit/informerkit/listwatch"
)

// demoOptions are the flags of demo.
type demoOptions struct {
	Streams
	duration time.Duration
	slow     time.Duration
	world    worldOptions
	// connect is how the informers reach the server.
	connect func(*apitest.Server) (sources, error)
}

// sources are what the demo's informers follow.
type sources struct {
	nodes       listwatch.Source[*corev1.Node]
	deployments listwatch.Source[*appsv1.Deployment]
	pods        listwatch.Source[*corev1.Pod]
	where       string // for people
}

func newDemo(streams Streams) *cobra.Command {
	o := &demoOptions{Streams: streams, connect: overHTTP}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show informers at work on an in-memory API server, faults included",
		Long: `Start an in-memory Kubernetes API server with a workload of nodes, deployments and pods, and follow it with informers over HTTP. Shown
are the stream of changes and a table, refreshed in place on a terminal:

  RV       resource version the copy has seen
  LAG      the longest a write took lately to be told, or how long one has been waiting to be seen
  BACKLOG  changes that the handler which prints the stream has not been told yet
  SLOW     the same of a handler that takes --slow for each object and wants the latest state only: it holds nobody up
  LISTS    how often the collection was listed; more than once after a fault that took the history away

Now and then something goes wrong at the server (FAULT), the informer notices (PROBLEM), waits a little (its back-off is shorter here
than by default) and catches up by itself (IN STEP). In the end each copy, and what the handler was told, is compared with the
server's objects one by one: exit code 1 if anything differs.`,
		Example: `  informerkit demo --for 10s
  informerkit demo --seed 7 --rate 200 --slow 1s
  informerkit demo --faults=false | grep pods`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.DurationVar(&o.duration, "for", 0, "end after this `time`, such as 10s; 0: when interrupted")
	f.DurationVar(&o.slow, "slow", 150*time.Millisecond, "`time` that the slow handler takes for each object; 0: no such handler")
	f.BoolVar(&o.world.faults, "faults", true, "let things go wrong at the server now and then")
	o.world.addFlags(f, "")
	return cmd
}

// overHTTP serves the server on 127.0.0.1 and uses typed clients.
func overHTTP(server *apitest.Server) (sources, error) {
	if err := server.Start(); err != nil {
		return sources{}, err
	}
	config := server.Config()
	where := config.Host
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return sources{}, err
	}
	return sources{
		nodes:       listwatch.For[*corev1.Node](client.CoreV1().Nodes()),
		deployments: listwatch.For[*appsv1.Deployment](client.AppsV1().Deployments("")),
		pods:        listwatch.For[*corev1.Pod](client.CoreV1().Pods("")),
		where:       where,
	}, nil
}

func (o *demoOptions) run(ctx context.Context) error {
	if err := o.world.check(); err != nil {
		return err
	}
	if o.duration < 0 || o.slow < 0 {
		return usagef("--for and --slow must not be negative")
	}
	d, err := o.setUp()
	if err != nil {
		return err
	}
	defer d.world.server.Close()
	defer d.stopSlow()
	return d.run(ctx)
}

// demo is a running demo.
type demo struct {
	opts     *demoOptions
	where    string
	began    time.Time
	world    *world
	trackers []tracker
	display  *screen.Display
	stopSlow context.CancelFunc
	// nextTable is when the table is due without a terminal.
	nextTable time.Time

	mu      sync.Mutex // guards what follows
	pending []timedLine
	skipped int // lines that were too many
	faults  int
}

// maxPending bounds the lines between two refreshes.
const maxPending = 1000

func (o *demoOptions) setUp() (*demo, error) {
	d := &demo{opts: o, began: time.Now(), display: screen.NewDisplay(o.Out, screen.Detect(o.Out, o.Getenv))}
	ledgers := map[string]*ledger{}
	for _, name := range resourceNames {
		ledgers[name] = &ledger{}
	}
	var err error
	d.world, err = newWorld(o.world,
		func(resource string, rv uint64) { ledgers[resource].wrote(rv, time.Now()) }, d.fault)
	if err != nil {
		return nil, err
	}
	src, err := o.connect(d.world.server)
	if err != nil {
		d.world.server.Close()
		return nil, err
	}
	d.where = src.where
	slowCtx, stopSlow := context.WithCancel(context.Background())
	d.stopSlow = stopSlow
	nodes, err1 := newTrack(slowCtx, workload.Nodes, src.nodes, ledgers["nodes"], o.slow, d.change, d.problem)
	deployments, err2 := newTrack(slowCtx, workload.Deployments, src.deployments, ledgers["deployments"], o.slow, d.change, d.problem)
	pods, err3 := newTrack(slowCtx, workload.Pods, src.pods, ledgers["pods"], o.slow, d.change, d.problem)
	if err := errors.Join(err1, err2, err3); err != nil {
		stopSlow()
		d.world.server.Close()
		return nil, err
	}
	d.trackers = []tracker{nodes, deployments, pods}
	return d, nil
}

// run shows what goes on until ctx ends or time is up, and then compares.
func (d *demo) run(ctx context.Context) error {
	following, stop := context.WithCancel(context.Background())
	defer stop()
	var running sync.WaitGroup
	ran := make([]error, len(d.trackers))
	for i, t := range d.trackers {
		running.Go(func() { ran[i] = t.run(following) })
	}
	d.event(time.Now(), "DEMO", fmt.Sprintf("following nodes, deployments and pods of %s", d.where), screen.Strong)
	d.world.start(ctx)
	limited, cancel := endAfter(ctx, d.opts.duration)
	d.show(limited)
	cancel()

	err := d.world.rest()
	d.event(time.Now(), "END", "no more writes; waiting until all has been seen", screen.Strong)
	settling, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	settled := make(chan error, 1)
	go func() {
		defer cancel()
		var errs []error
		for _, t := range d.trackers {
			errs = append(errs, t.settle(settling))
		}
		settled <- errors.Join(errs...)
	}()
	d.show(settling)
	err = errors.Join(err, <-settled)

	verdicts, compareErr := d.compare()
	d.refresh(time.Now(), true) // a write error is told by Close
	live := d.display.Live()
	shown := d.display.Close()
	d.stopSlow()
	stop()
	running.Wait()
	err = errors.Join(append(ran, err, compareErr, shown)...)
	return errors.Join(err, d.conclude(verdicts, live))
}

// settleTimeout bounds how long the copies have to catch up: some waits of [demoBackoff].
const settleTimeout = 30 * time.Second

const (
	refreshEvery = 100 * time.Millisecond
	tableEvery   = 2 * time.Second // without a terminal
)

// show refreshes the display until ctx ends.
func (d *demo) show(ctx context.Context) {
	tick := time.NewTicker(refreshEvery)
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			if d.refresh(now, false) != nil {
				return // the reason is told by Close
			}
		case <-ctx.Done():
			return
		}
	}
}

// refresh shows what has come since the last time and the table; without a terminal the table only when it is time, or if last.
func (d *demo) refresh(now time.Time, last bool) error {
	rows := make([]row, len(d.trackers))
	table := d.display.Live() || last || !now.Before(d.nextTable)
	for i, t := range d.trackers {
		if text := t.recovered(now); text != "" {
			d.event(now, "IN STEP", text, screen.Good)
		}
		if table {
			rows[i] = t.row(now)
		}
	}
	lines := d.take()
	if !table {
		return d.display.Print(lines...)
	}
	panel := append([]screen.Line{{}, {Text: d.title(now), Style: screen.Dim}}, tableLines(rows)...)
	if !d.display.Live() {
		d.nextTable = now.Add(tableEvery)
		return d.display.Print(append(append(lines, panel...), screen.Line{})...)
	}
	return d.display.Refresh(lines, panel)
}

// take is what has come since the last time, in order of time.
func (d *demo) take() []screen.Line {
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.SortStableFunc(d.pending, func(a, b timedLine) int { return a.at.Compare(b.at) })
	var lines []screen.Line
	for _, l := range d.pending {
		lines = append(lines, l.line)
	}
	if d.skipped > 0 {
		lines = append(lines, screen.Line{Text: fmt.Sprintf("(%d more changes)", d.skipped), Style: screen.Dim})
	}
	d.pending, d.skipped = nil, 0
	return lines
}

// title is the line above the table.
func (d *demo) title(now time.Time) string {
	elapsed := now.Sub(d.began)
	progress := fmt.Sprintf("%.1fs, Ctrl-C ends", elapsed.Seconds())
	if d.opts.duration > 0 {
		progress = fmt.Sprintf("%.1fs of %v", min(elapsed, d.opts.duration).Seconds(), d.opts.duration)
	}
	return fmt.Sprintf("informerkit demo, seed %d, %v writes/s, %s", d.opts.world.seed, d.opts.world.rate, progress)
}

func (d *demo) compare() ([]verdict, error) {
	var out []verdict
	for _, t := range d.trackers {
		v, err := t.verify(d.world.server)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// conclude prints the summary. The error says that copies differ.
func (d *demo) conclude(verdicts []verdict, live bool) error {
	var sum counts
	for _, t := range d.trackers {
		c := t.count()
		sum = counts{sum.writes + c.writes, sum.events + c.events, sum.problems + c.problems, sum.lists + c.lists}
	}
	d.mu.Lock()
	faults := d.faults
	d.mu.Unlock()
	lines, err := summary(time.Since(d.began), sum, faults, verdicts)
	if live {
		lines = append([]screen.Line{{}}, lines...)
	}
	return errors.Join(d.display.Print(lines...), err)
}

// timedLine is a line of the stream and when it happened.
type timedLine struct {
	at   time.Time
	line screen.Line
}

func (d *demo) print(at time.Time, line screen.Line) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.pending) >= maxPending {
		d.skipped++
		return
	}
	d.pending = append(d.pending, timedLine{at, line})
}

// event prints what goes on around the changes.
func (d *demo) event(at time.Time, word, text string, style screen.Style) {
	d.print(at, eventLine(at, word, text, style))
}

func (d *demo) change(resource string, r record) { d.print(r.at, streamLine(resource, r)) }

func (d *demo) problem(resource string, err error) {
	d.event(time.Now(), "PROBLEM", resource+": "+describeOf(resource, err), screen.Notable)
}

func (d *demo) fault(f fault) {
	d.mu.Lock()
	d.faults++
	d.mu.Unlock()
	d.event(time.Now(), "FAULT", f.text, screen.Bad)
}
