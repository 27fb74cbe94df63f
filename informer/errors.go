package informer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/informerkit/informerkit/reflector"
)

var (
	// ErrDrop is returned by a Transform to leave an object out of the store: to handlers it is as if it did not exist.
	ErrDrop = errors.New("object dropped by transform")

	// ErrRunning is returned by Run when the informer is running already.
	ErrRunning = errors.New("informer is running already")

	// ErrResharded is returned by Reshard when another call has given the informer another shard meanwhile.
	ErrResharded = errors.New("informer was given another shard")

	// ErrRemoved is returned by WaitSynced of a handler that is removed before it was synced.
	ErrRemoved = errors.New("handler was removed")
)

// NotSyncedError is why a wait ended before what it waited for. It unwraps to the cause of the context's end and to the last list
// or watch error, so errors.Is(err, context.DeadlineExceeded) and apierrors.IsForbidden(err) both work.
type NotSyncedError struct {
	// Informer is its name, Source that of the source to blame ("" if it has only one), Handler that of the handler waited for
	// ("" if it was the store).
	Informer, Source, Handler string
	// Phase is what the informer was doing, Attempts its failures in a row.
	Phase    reflector.Phase
	Attempts int
	// Last is the last list or watch error, nil if there was none since the last success.
	Last error
	// Cause is why the wait ended.
	Cause error
}

func (e *NotSyncedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "informer %s", e.Informer)
	if e.Source != "" {
		fmt.Fprintf(&b, ": source %s", e.Source)
	}
	if e.Handler != "" {
		fmt.Fprintf(&b, ": handler %s", e.Handler)
	}
	fmt.Fprintf(&b, ": not synced: %v (%v", e.Cause, e.Phase)
	if e.Last != nil {
		fmt.Fprintf(&b, ", %d failed in a row, last: %v", e.Attempts, e.Last)
	}
	b.WriteString(")")
	return b.String()
}

// Unwrap gives Cause and, if there is one, Last.
func (e *NotSyncedError) Unwrap() []error {
	if e.Last == nil {
		return []error{e.Cause}
	}
	return []error{e.Cause, e.Last}
}

// HandlersRunningError is returned by Run when handler calls had not returned within ShutdownTimeout. Their goroutines end
// when they do.
type HandlersRunningError struct {
	Informer string
	Handlers []string
}

func (e *HandlersRunningError) Error() string {
	return fmt.Sprintf("informer %s: handlers still running after shutdown timeout: %s", e.Informer, strings.Join(e.Handlers, ", "))
}
