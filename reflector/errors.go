package reflector

import (
	"errors"
	"fmt"
	"time"
)

// ErrRunning is what a second Run gets while the first one runs.
var ErrRunning = errors.New("reflector: already running")

// HistoryResetError reports that the server's history started over, as after a restore from a backup: a consistent list
// was older than what had been seen. The list was taken all the same, with [ListInfo].Reset.
type HistoryResetError struct {
	Seen, Listed string // resource versions
}

func (e *HistoryResetError) Error() string {
	return fmt.Sprintf("the server's history was reset: a consistent list is of resource version %s, but %s was seen before", e.Listed, e.Seen)
}

// OldListError reports a list older than what had been seen, though one not older was asked for. It was not taken;
// a consistent list follows.
type OldListError struct {
	Seen, Listed string // resource versions
}

func (e *OldListError) Error() string {
	return fmt.Sprintf("a list is of resource version %s, but %s was seen before and nothing older was asked for", e.Listed, e.Seen)
}

// ShortWatchError reports a watch that the server ended at once, without any event.
type ShortWatchError struct{ Lived time.Duration }

func (e *ShortWatchError) Error() string {
	return fmt.Sprintf("the server ended the watch after %v without an event", e.Lived)
}

// SilentStreamError reports a watch that gave nothing: not even its end, until past the time it was to last; or, Ended,
// the last of so many that ended in time that a list is to find out whether the server's history is another one.
type SilentStreamError struct {
	Lived time.Duration
	Ended bool
}

func (e *SilentStreamError) Error() string {
	if e.Ended {
		return fmt.Sprintf("another watch was silent, for %v", e.Lived.Round(time.Second))
	}
	return fmt.Sprintf("the watch was silent for %v and did not end when it should have", e.Lived.Round(time.Second))
}

// StreamingListError reports a streaming list that did not come to its end mark.
type StreamingListError struct {
	Lived  time.Duration
	Events int
	Err    error // nil: the server ended the stream; ErrTimeout: it fell silent, or took too long
}

func (e *StreamingListError) Error() string {
	what := "the server ended it"
	if e.Err != nil {
		what = e.Err.Error()
	}
	return fmt.Sprintf("streaming list without an end mark after %v and %d events: %s", e.Lived.Round(time.Millisecond), e.Events, what)
}

func (e *StreamingListError) Unwrap() error { return e.Err }

// ErrTimeout is in the chain of the error of a request or stream that the reflector itself gave up.
var ErrTimeout = errors.New("timed out")

// PanicError is a panic of the source, caught.
type PanicError struct {
	Call  string
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic in %s: %v", e.Call, e.Value) }

// Unwrap gives the value if it was an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

var (
	errListTimeout = fmt.Errorf("list: %w", ErrTimeout)
	errOpenTimeout = fmt.Errorf("open the watch: %w", ErrTimeout)
)

var errContinueLoop = errors.New("the server gave the same continue token twice")
