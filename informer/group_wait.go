package informer

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// NotReady is an informer of a group that a wait ended before.
type NotReady struct {
	Scope Scope
	// View is the form in which its objects are, or are going to be, held.
	View View
	// Received is the number of objects of the list under way; Expected what it will be, -1 unknown.
	Received, Expected int64
	// Err is its NotSyncedError.
	Err error
}

// GroupNotSyncedError names all informers of a group that were not ready when a wait ended, and why. It unwraps to their
// errors: so errors.Is(err, context.DeadlineExceeded) and apierrors.IsForbidden(err) work if they are true of any.
type GroupNotSyncedError struct {
	// Total is the number of informers that were waited for.
	Total    int
	NotReady []NotReady
}

func (e *GroupNotSyncedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d informers not ready", len(e.NotReady), e.Total)
	separator := ": "
	for _, n := range e.NotReady {
		fmt.Fprintf(&b, "%s%v", separator, n.Err)
		switch {
		case n.Expected >= 0:
			fmt.Fprintf(&b, ", %d of %d objects so far", n.Received, n.Expected)
		case n.Received > 0:
			fmt.Fprintf(&b, ", %d objects so far", n.Received)
		}
		separator = "; "
	}
	return b.String()
}

// Unwrap gives the errors of all that were not ready.
func (e *GroupNotSyncedError) Unwrap() []error {
	errs := make([]error, len(e.NotReady))
	for n := range e.NotReady {
		errs[n] = e.NotReady[n].Err
	}
	return errs
}

// WaitSynced waits until each informer that is acquired now has stored its first list. When ctx ends first, or some of them
// have ended by themselves, the error is a [GroupNotSyncedError]. The others can be used all the same. Informers that are
// released meanwhile are not waited for.
func (g *Group) WaitSynced(ctx context.Context) error {
	return g.wait(ctx, func(e *entry, view View) error { return e.wait(ctx, view) })
}

// WaitHandlersSynced waits for what WaitSynced waits for, and until each handler that is there by then has been told
// everything of the first list. Errors are those of WaitSynced.
func (g *Group) WaitHandlersSynced(ctx context.Context) error {
	return g.wait(ctx, func(e *entry, view View) error {
		if err := e.wait(ctx, view); err != nil {
			return err
		}
		i := e.informer
		i.mu.Lock()
		registrations := i.registrationsLocked()
		i.mu.Unlock()
		for _, r := range registrations {
			if err := r.WaitSynced(ctx); err != nil && !errors.Is(err, ErrRemoved) {
				return err
			}
		}
		return nil
	})
}

func (g *Group) wait(ctx context.Context, one func(*entry, View) error) error {
	g.mu.Lock()
	entries := g.sortedLocked()
	views := make([]View, len(entries))
	for n, e := range entries {
		views[n] = e.base
	}
	g.mu.Unlock()

	var failed *GroupNotSyncedError
	for n, e := range entries {
		err := one(e, views[n])
		if err == nil || errors.Is(err, ErrReleased) {
			continue
		}
		if failed == nil {
			failed = &GroupNotSyncedError{Total: len(entries)}
		}
		status := e.informer.Status().Reflector
		failed.NotReady = append(failed.NotReady, NotReady{
			Scope:    e.scope,
			View:     views[n],
			Received: status.Received,
			Expected: status.Expected,
			Err:      err,
		})
	}
	if failed == nil {
		return nil
	}
	return failed
}
