package reflector

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/informerkit/informerkit/listwatch"
)

// Sink is what a reflector keeps in step. Its methods are called from Run's goroutine only.
type Sink[T any] interface {
	// Replace starts a replacement of everything; it is dropped without notice when the list fails.
	Replace(ctx context.Context) Replacement[T]
	// Apply puts the events of a stream in, in order. After an error the reflector lists again, after back-off.
	// A Bookmark moves the resource version only. events is the reflector's: keep no reference.
	Apply(ctx context.Context, events []listwatch.Event[T]) error
}

// Replacement takes a list page by page. Nothing shows before Commit.
type Replacement[T any] interface {
	// Add puts items in; of two with one key the later counts. items is the reflector's: keep no reference to the slice.
	Add(items []listwatch.Item[T]) error
	// Remove takes a key out again: in a streaming list an object can be deleted before the list is complete. Unknown
	// keys are ignored.
	Remove(key string) error
	Commit(list ListInfo) error
}

// ListInfo describes a complete list.
type ListInfo struct {
	ResourceVersion string
	// Reset reports that the server's history was seen to start over (a consistent list older than what was seen
	// before): older resource versions replace newer ones.
	Reset bool
	// Gone reports that the resource no longer exists (NotFoundClear): the list is empty and will be until it is back.
	Gone bool
}

// NotFoundPolicy says what happens when the server says the resource is not there (a CRD was removed).
type NotFoundPolicy uint8

const (
	NotFoundRetry NotFoundPolicy = iota // keep what is there, try again with back-off
	NotFoundClear                       // commit an empty replacement (ListInfo.Gone) once, then as NotFoundRetry
	NotFoundStop                        // Run returns the NotFound error
)

// Streaming says how lists are made.
type Streaming uint8

const (
	StreamingAuto Streaming = iota // streaming list, with fallback to paged lists
	StreamingOff                   // paged lists only
	StreamingOn                    // streaming lists only: no fallback
)

// ListPolicy says how fresh the first list must be.
type ListPolicy uint8

const (
	ListAny        ListPolicy = iota // resource version "0": from the server's cache
	ListMostRecent                   // resource version "": a consistent read
)

// Backoff says how long to wait after the nth failure in a row. The zero value is client-go's: 0.8 s to 30 s, doubling,
// full jitter of 1, forgotten after 2 minutes of quiet.
type Backoff struct {
	Initial, Max time.Duration
	Factor       float64
	Jitter       float64
	ResetAfter   time.Duration
}

// Options configures a [Reflector]. The zero value works.
type Options struct {
	Name         string
	PageSize     int64
	WatchTimeout time.Duration
	Backoff      Backoff
	Streaming    Streaming
	OnNotFound   NotFoundPolicy
	FirstList    ListPolicy
	Limiter      *Limiter // nil: the process-wide one
	Priority     int      // higher lists first when the limiter is full
	OnError      func(ctx context.Context, err error)
	Clock        clock.WithTicker // nil: real time
}

// Limiter bounds the lists in flight, fairly within a priority.
type Limiter struct{}

// NewLimiter allows n lists at once.
func NewLimiter(n int) *Limiter { panic("skeleton") }

// Reflector keeps one sink in step with one source.
type Reflector[T any] struct{}

// New checks opts; an error names the field.
func New[T any](source listwatch.Source[T], sink Sink[T], opts Options) (*Reflector[T], error) {
	panic("skeleton")
}

// Run works until ctx ends, and returns when every goroutine has ended: ctx's cause, or the error that Stop... It may be
// called again after it returned; a second concurrent call is an error.
func (r *Reflector[T]) Run(ctx context.Context) error { panic("skeleton") }

// Phase is what a reflector is doing.
type Phase uint8

const (
	Idle Phase = iota
	Queued
	Listing
	Watching
	BackingOff
	Stopped
)

// Status tells where a reflector stands.
type Status struct {
	Phase           Phase
	Since           time.Time // in this phase
	LastError       error     // the last list or watch error; nil once a list or watch succeeded after it
	LastErrorAt     time.Time
	Attempts        int       // failures in a row
	ResourceVersion string    // last seen, by list, event or bookmark
	LastEvent       time.Time // last event or bookmark
	Lists           int       // complete lists so far
	Received        int64     // objects of the list under way
	Expected        int64     // objects the list under way will have; -1 unknown
}

// Status is safe from any goroutine.
func (r *Reflector[T]) Status() Status { panic("skeleton") }
