package cache

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/klog/v2"
)

// InformerSynced reports whether something has synced: the HasSynced of an informer, a registration or a controller, or
// a function that asks several of them.
type InformerSynced func() bool

// syncPoll is how often an [InformerSynced] is asked whose end cannot be waited for.
const syncPoll = 100 * time.Millisecond

// WaitForCacheSync waits until all of cacheSyncs say true. It returns false if stopCh closed before that.
//
// It does not poll where it need not: what of this package a function asks wakes it at once. Functions of others
// are asked ten times a second.
func WaitForCacheSync(stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	for {
		ok, awaited := askAllSynced(cacheSyncs)
		if ok {
			return true
		}
		poll := time.NewTimer(syncPoll)
		select {
		case <-awaited:
		case <-poll.C:
		case <-stopCh:
			poll.Stop()
			return false
		}
		poll.Stop()
	}
}

// WaitForNamedCacheSync is [WaitForCacheSync] that logs, under the name of who waits, that it waits and how it went.
//
// Contextual logging: use [WaitForNamedCacheSyncWithContext].
func WaitForNamedCacheSync(controllerName string, stopCh <-chan struct{}, cacheSyncs ...InformerSynced) bool {
	return waitForNamedCacheSync(klog.Background().WithValues("controller", controllerName), stopCh, cacheSyncs)
}

// WaitForNamedCacheSyncWithContext is [WaitForCacheSync] that logs, to the logger in ctx, that it waits and how it
// went. It returns false if ctx ended before that.
func WaitForNamedCacheSyncWithContext(ctx context.Context, cacheSyncs ...InformerSynced) bool {
	return waitForNamedCacheSync(klog.FromContext(ctx), ctx.Done(), cacheSyncs)
}

func waitForNamedCacheSync(logger klog.Logger, stop <-chan struct{}, cacheSyncs []InformerSynced) bool {
	logger.Info("Waiting for caches to sync")
	if !WaitForCacheSync(stop, cacheSyncs...) {
		logger.Error(nil, "Unable to sync caches")
		return false
	}
	logger.Info("Caches are synced")
	return true
}

// WaitFor waits until all checkers are done, without polling. It returns false if ctx ended before that.
//
// If what is not empty, the logger in ctx hears that what is waited for, what got done, and, if ctx ends first, what did
// not and why.
func WaitFor(ctx context.Context, what string, checkers ...DoneChecker) bool {
	logger := klog.FromContext(ctx)
	if what != "" {
		logger.Info("Waiting", "for", what)
	}
	for i, checker := range checkers {
		if !IsDone(checker) {
			select {
			case <-checker.Done():
			case <-ctx.Done():
				if late := notDone(checkers[i:]); len(late) > 0 {
					if what != "" {
						logger.Info("Timed out waiting", "for", what, "cause", context.Cause(ctx), "instances", late)
					}
					return false
				}
			}
		}
		if what != "" {
			logger.Info("Done waiting", "for", what, "instance", checker.Name())
		}
	}
	return true
}

// notDone names the checkers that are not done, with the reason if they have one to tell.
func notDone(checkers []DoneChecker) []string {
	var names []string
	for _, checker := range checkers {
		if IsDone(checker) {
			continue
		}
		name := checker.Name()
		if r, ok := checker.(interface{ reason() string }); ok {
			name += " (" + r.reason() + ")"
		}
		names = append(names, name)
	}
	return names
}

// SyncResult is what came of waiting for the informers of a factory.
type SyncResult struct {
	// Err is why waiting ended, as context.Cause says; nil if all have synced.
	Err error

	// Synced says of each informer, by the type of its objects, whether it has.
	Synced map[reflect.Type]bool
}

// AsError is nil if Err is; otherwise it wraps Err and names what has not synced.
func (c SyncResult) AsError() error {
	if c.Err == nil {
		return nil
	}
	var missing []string
	for t, synced := range c.Synced {
		if !synced {
			missing = append(missing, t.String())
		}
	}
	slices.Sort(missing)
	return fmt.Errorf("failed to sync all caches: %s: %w", strings.Join(missing, ", "), c.Err)
}
