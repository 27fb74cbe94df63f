package reflector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync/atomic"

	"github.com/informerkit/informerkit/listwatch"
)

// Reflector keeps one sink in step with one source.
type Reflector[T any] struct {
	source  listwatch.Source[T]
	sink    Sink[T]
	opts    Options
	machine machine // of the goroutine in Run
	running atomic.Bool
	board   board
}

// New makes a reflector that does nothing before Run. The error is an [*OptionError], which names the field.
func New[T any](source listwatch.Source[T], sink Sink[T], opts Options) (*Reflector[T], error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if opts.Name == "" {
		opts.Name = reflect.TypeFor[T]().String()
	}
	r := &Reflector[T]{source: source, sink: sink, opts: opts}
	r.machine.opts = opts
	r.board.s.Expected = -1
	return r, nil
}

// Run works until ctx ends, and returns when every goroutine it started has: ctx's cause, or the NotFound error with
// [NotFoundStop]. Whatever else fails is tried again. It may be called again after it returned: the sink is taken to hold
// what it held, and the list that comes first is not older than that. While it runs, another call returns [ErrRunning].
//
// Run calls source, sink and Options.OnError from its goroutine, and holds no lock while it does. A panic of the source
// is an error like others, of OnError one that Status shows; a panic of the sink is not caught.
func (r *Reflector[T]) Run(ctx context.Context) error { return r.run(ctx, started) }

// Resume is Run that begins with a watch from the last resource version seen, if an earlier run has committed a list. It is for
// a source that selects other objects from now on, and a sink that has been given the difference: as it was then, or later.
func (r *Reflector[T]) Resume(ctx context.Context) error { return r.run(ctx, resumed) }

func (r *Reflector[T]) run(ctx context.Context, begin inputKind) error {
	if !r.running.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer r.running.Store(false)
	d := &driver[T]{Reflector: r, ctx: ctx}
	defer func() {
		d.endStream()
		d.endList()
		r.board.enter(r.opts.Clock.Now(), Stopped)
	}()
	in := input{kind: begin}
	for {
		now := r.opts.Clock.Now()
		if ctx.Err() != nil {
			if in.kind == batch || in.kind == committed || in.kind == cleared {
				r.machine.step(now, 0, in) // the sink has it: the next run is to know
				d.publish(now, in, action{})
			}
			in = input{kind: cancelled, err: context.Cause(ctx)}
		}
		act := r.machine.step(now, rand.Float64(), in)
		act.report = r.named(act.report)
		d.publish(now, in, act)
		if act.report != nil {
			d.tell(act.report)
		}
		if act.do == doStop {
			if in.kind != cancelled {
				act.err = r.named(act.err)
			}
			return act.err
		}
		in = d.do(act)
	}
}

// Status is safe from any goroutine.
func (r *Reflector[T]) Status() Status { return r.board.get() }

// ResourceVersion is the last one seen: Status().ResourceVersion.
func (r *Reflector[T]) ResourceVersion() string { return r.board.get().ResourceVersion }

// named puts the reflector's name before an error.
func (r *Reflector[T]) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", r.opts.Name, err)
}
