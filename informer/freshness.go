package informer

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/informerkit/informerkit/internal/versions"
)

// Version is how fresh an informer's copy is.
type Version struct {
	// ResourceVersion is the last one seen, by event, bookmark or list; "" before the first list.
	ResourceVersion string
	// Confirmed is when the server last said so; zero before the first list.
	Confirmed time.Time
}

// Version tells how fresh the copy is. For the version that belongs to data, use [Informer.Snapshot] and its Revision.
func (i *Informer[T]) Version() Version { return i.fresh.get() }

// WaitFor waits until the store has seen resource version rv or a later one of this collection, by event, bookmark or list:
// after it, reads show every change up to rv. A version that is not a positive decimal number can't be compared: that is an
// error at once. When ctx ends first, the error is a [NotSyncedError].
func (i *Informer[T]) WaitFor(ctx context.Context, rv string) error {
	if _, err := resourceversion.CompareResourceVersion(rv, rv); err != nil {
		return fmt.Errorf("informer %s: wait for resource version %q: %w", i.opts.Name, rv, err)
	}
	w := i.fresh.wait(rv)
	if w == nil {
		return nil
	}
	select {
	case <-w.reached:
		return nil
	case <-ctx.Done():
		i.fresh.forget(w)
		return i.notSynced(ctx, "")
	}
}

// freshness is the version seen last and who waits for a later one. Safe for concurrent use.
type freshness struct {
	mu      sync.Mutex // guards what follows; a leaf
	version Version
	waiters waiterHeap
}

// waiter waits for a resource version.
type waiter struct {
	rv      string
	reached chan struct{}
	index   int // in the heap; -1 when out of it
}

func (f *freshness) get() Version {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.version
}

// saw notes that everything up to rv is in the store. "" tells nothing but that the server spoke.
func (f *freshness) saw(rv string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version.Confirmed = time.Now()
	if rv == "" || versions.Older(rv, f.version.ResourceVersion) {
		return
	}
	f.version.ResourceVersion = rv
	f.wakeLocked()
}

// reset notes that the server's history started over, at rv.
func (f *freshness) reset(rv string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.version = Version{ResourceVersion: rv, Confirmed: time.Now()}
	f.wakeLocked()
}

func (f *freshness) wakeLocked() {
	for len(f.waiters) > 0 && reached(f.version.ResourceVersion, f.waiters[0].rv) {
		w := heap.Pop(&f.waiters).(*waiter)
		close(w.reached)
	}
}

// wait is nil if rv has been reached.
func (f *freshness) wait(rv string) *waiter {
	f.mu.Lock()
	defer f.mu.Unlock()
	if reached(f.version.ResourceVersion, rv) {
		return nil
	}
	w := &waiter{rv: rv, reached: make(chan struct{})}
	heap.Push(&f.waiters, w)
	return w
}

func (f *freshness) forget(w *waiter) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.index >= 0 {
		heap.Remove(&f.waiters, w.index)
	}
}

// reached reports that version have includes want, a number. If have is none, nothing can be said and nobody is held up.
func reached(have, want string) bool {
	if have == "" {
		return false
	}
	c, err := resourceversion.CompareResourceVersion(have, want)
	return err != nil || c >= 0
}

// waiterHeap is a container/heap of waiters, the lowest version first.
type waiterHeap []*waiter

func (h waiterHeap) Len() int           { return len(h) }
func (h waiterHeap) Less(a, b int) bool { return versions.Older(h[a].rv, h[b].rv) }
func (h waiterHeap) Swap(a, b int) {
	h[a], h[b] = h[b], h[a]
	h[a].index, h[b].index = a, b
}

func (h *waiterHeap) Push(x any) {
	w := x.(*waiter)
	w.index = len(*h)
	*h = append(*h, w)
}

func (h *waiterHeap) Pop() any {
	old := *h
	w := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	w.index = -1
	return w
}
