package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/informerkit/informerkit/informer"
)

// recorder keeps what a handler was told, and what follows from it.
type recorder struct {
	mu      sync.Mutex // guards what follows
	changed *sync.Cond
	events  []informer.Event[*unstructured.Unstructured]
	state   map[string]*unstructured.Unstructured
	wrong   []string // what no server can have done
}

func newRecorder() *recorder {
	r := &recorder{state: map[string]*unstructured.Unstructured{}}
	r.changed = sync.NewCond(&r.mu)
	return r
}

func (r *recorder) handler() informer.Handler[*unstructured.Unstructured] {
	return informer.Handler[*unstructured.Unstructured]{Event: r.record}
}

// record checks that an event continues what was told before: Old is the very object told last, and an object's resource
// versions rise.
func (r *recorder) record(e informer.Event[*unstructured.Unstructured]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	r.changed.Broadcast()
	before, known := r.state[e.Key]
	switch e.Type {
	case informer.Added:
		if known {
			r.wrong = append(r.wrong, fmt.Sprintf("%s added twice", e.Key))
		}
		r.state[e.Key] = e.New
		return
	case informer.Updated:
		if before != e.Old {
			r.wrong = append(r.wrong, fmt.Sprintf("%s updated from a state that was not told", e.Key))
		} else if version(e.New) <= version(e.Old) {
			r.wrong = append(r.wrong, fmt.Sprintf("%s went from %d to %d", e.Key, version(e.Old), version(e.New)))
		}
		r.state[e.Key] = e.New
	case informer.Deleted:
		if !known {
			r.wrong = append(r.wrong, fmt.Sprintf("%s deleted, but was not there", e.Key))
		} else if version(e.Old) < version(before) {
			r.wrong = append(r.wrong, fmt.Sprintf("%s deleted in state %d, after %d", e.Key, version(e.Old), version(before)))
		}
		delete(r.state, e.Key)
	}
}

func version(u *unstructured.Unstructured) int64 {
	rv, err := strconv.ParseInt(u.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(err) // etcd's are numbers
	}
	return rv
}

// wait waits until ok holds for what was told so far and returns it.
func (r *recorder) wait(ctx context.Context, ok func([]informer.Event[*unstructured.Unstructured]) bool) ([]informer.Event[*unstructured.Unstructured], error) {
	defer context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changed.Broadcast()
	})()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !ok(r.events) {
		if ctx.Err() != nil {
			return slices.Clone(r.events), fmt.Errorf("%w; %d events were told", context.Cause(ctx), len(r.events))
		}
		r.changed.Wait()
	}
	return slices.Clone(r.events), nil
}

// take returns what was told since the last call.
func (r *recorder) take() []informer.Event[*unstructured.Unstructured] {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.events
	r.events = nil
	return out
}

// states returns the last state told of each object.
func (r *recorder) states() map[string]*unstructured.Unstructured {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.state)
}

// has waits until the object of that key was told with that resource version or a later one.
func (r *recorder) has(ctx context.Context, key string, rv int64) error {
	_, err := r.wait(ctx, func([]informer.Event[*unstructured.Unstructured]) bool {
		u, ok := r.state[key]
		return ok && version(u) >= rv
	})
	if err != nil {
		return fmt.Errorf("%s at %d was not told: %w", key, rv, err)
	}
	return nil
}

// reaches waits until what was told adds up to want.
func (r *recorder) reaches(ctx context.Context, want map[string]*unstructured.Unstructured) error {
	_, err := r.wait(ctx, func([]informer.Event[*unstructured.Unstructured]) bool {
		return maps.EqualFunc(r.state, want, func(a, b *unstructured.Unstructured) bool { return version(a) == version(b) })
	})
	return err
}
