package reflector

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"
)

// Streaming says how lists are made.
type Streaming uint8

const (
	// StreamingAuto asks for streaming lists. A source that says it has none gets paged lists at once; one that sends
	// nothing for StreamingIdle, that ends three of them early or that takes longer than StreamingTimeout, from then on.
	// Both until Run ends. Three other failures in a row make this one list a paged one.
	StreamingAuto Streaming = iota
	StreamingOff            // paged lists only
	StreamingOn             // streaming lists only: no fallback
)

// ListPolicy says how fresh the first list must be. Later ones are never older than what was seen.
type ListPolicy uint8

const (
	// ListAny takes what the server's cache has (resource version "0"): cheap for the server, and possibly older than what
	// another server already told. A streaming list and one with Options.PageSize are consistent reads all the same: the
	// server's cache doesn't page at "0".
	ListAny ListPolicy = iota
	// ListMostRecent is a consistent read (resource version ""). Servers before 1.31 answer it from etcd.
	ListMostRecent
)

// NotFoundPolicy says what happens when the server says the resource is not there (a CRD was removed, or is still to come).
type NotFoundPolicy uint8

const (
	NotFoundRetry NotFoundPolicy = iota // keep what is there, try again with back-off
	NotFoundClear                       // commit an empty replacement (ListInfo.Gone) if a list was committed before, then as NotFoundRetry
	NotFoundStop                        // Run returns the NotFound error
)

// What zero in Options means.
const (
	DefaultWatchTimeout     = 5 * time.Minute
	DefaultRequestTimeout   = 2 * time.Minute
	DefaultStreamingIdle    = 10 * time.Second
	DefaultStreamingTimeout = 2 * time.Minute
)

// Options configures a [Reflector]. The zero value works.
type Options struct {
	// Name is for errors. "": the type's name.
	Name string
	// PageSize is the number of objects asked for at once. With it every list is paged, and is a read the server pages:
	// consistent, or not older than what was seen. That bounds the size of an answer at the cost of more of them; servers
	// before 1.34 read each page from etcd. 0: 500 where that costs the server nothing (its watch cache is off, or the read
	// has to be consistent anyway), otherwise the server's cache answers in one piece.
	PageSize int64
	// WatchTimeout is how long a watch lasts before the server ends it and the next one begins: a random time from it to
	// twice it. Short ones cost the server a request each; long ones keep connections on the same server, also when others
	// join. At least 1 s. 0: 5 minutes.
	WatchTimeout time.Duration
	// RequestTimeout bounds one page of a list, and the opening of a watch. Too short and a big answer over a slow line
	// never arrives; API servers themselves give up after a minute. 0: 2 minutes.
	RequestTimeout time.Duration
	// Backoff is the wait between failures. Shorter recovers sooner and costs an ailing server more.
	Backoff Backoff
	// Streaming says how lists are made. A streaming list costs the server and this process less memory.
	Streaming Streaming
	// StreamingIdle is how long a streaming list may go without an event. 0: 10 s.
	StreamingIdle time.Duration
	// StreamingTimeout is how long attempts at one streaming list may take, waits included. Too short and a large
	// collection is listed in pages, though it would have come. 0: 2 minutes.
	StreamingTimeout time.Duration
	// InternalErrorRetry is for how long a watch that fails with an internal error of the server (status 500) is tried again,
	// with back-off, before the list is made again: longer spares a server that is ailing a list, and leaves the copy as old
	// as it is meanwhile. 0: three failures without news in between, as after other errors.
	InternalErrorRetry time.Duration
	// OnNotFound says what to do when the resource is not there.
	OnNotFound NotFoundPolicy
	// FirstList says how fresh the first list must be.
	FirstList ListPolicy
	// Limiter bounds the lists in flight. Nil: the process-wide one, of [DefaultConcurrentLists].
	Limiter *Limiter
	// Priority orders those who wait for the limiter: higher ones list first, and can keep lower ones waiting.
	Priority int
	// OnError is told of every list, watch or sink failure, before the wait that follows it. It is called from Run's
	// goroutine: the reflector waits for it. Nil: nobody is told, [Reflector.Status] has the last one.
	OnError func(ctx context.Context, err error)
	// Clock is what all times and waits are taken from. Nil: real time.
	Clock clock.WithTicker
}

// OptionError says which field of [Options] is wrong.
type OptionError struct {
	Field  string
	Value  any
	Reason string
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("reflector: Options.%s: %v: %s", e.Field, e.Value, e.Reason)
}

// withDefaults checks the options and gives every field its value.
func (o Options) withDefaults() (Options, error) {
	if o.PageSize < 0 {
		return o, &OptionError{"PageSize", o.PageSize, "must not be negative"}
	}
	if err := setDuration(&o.WatchTimeout, "WatchTimeout", DefaultWatchTimeout, time.Second); err != nil {
		return o, err
	}
	if err := setDuration(&o.RequestTimeout, "RequestTimeout", DefaultRequestTimeout, 0); err != nil {
		return o, err
	}
	if err := setDuration(&o.StreamingIdle, "StreamingIdle", DefaultStreamingIdle, 0); err != nil {
		return o, err
	}
	if err := setDuration(&o.StreamingTimeout, "StreamingTimeout", DefaultStreamingTimeout, 0); err != nil {
		return o, err
	}
	if o.InternalErrorRetry < 0 {
		return o, &OptionError{"InternalErrorRetry", o.InternalErrorRetry, "must not be negative"}
	}
	if o.Streaming > StreamingOn {
		return o, &OptionError{"Streaming", o.Streaming, "unknown"}
	}
	if o.OnNotFound > NotFoundStop {
		return o, &OptionError{"OnNotFound", o.OnNotFound, "unknown"}
	}
	if o.FirstList > ListMostRecent {
		return o, &OptionError{"FirstList", o.FirstList, "unknown"}
	}
	var err error
	if o.Backoff, err = o.Backoff.withDefaults(); err != nil {
		return o, err
	}
	if o.Limiter == nil {
		o.Limiter = processLimiter
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o, nil
}

func setDuration(d *time.Duration, field string, zero, least time.Duration) error {
	if *d == 0 {
		*d = zero
	}
	if *d < least || *d < 0 {
		return &OptionError{field, *d, fmt.Sprintf("must be at least %v", least)}
	}
	return nil
}
