package cache

import (
	"context"

	"k8s.io/apimachinery/pkg/watch"
)

// withContext calls f, which knows of no context, and returns when ctx ends even if f does not. What f returns after that
// goes to discard; its goroutine lives as long as f takes.
func withContext[T any](ctx context.Context, f func() (T, error), discard func(T)) (T, error) {
	type outcome struct {
		value    T
		err      error
		panicked any
	}
	var zero T
	if ctx.Done() == nil {
		return f()
	}
	done := make(chan outcome)
	go func() {
		var o outcome
		defer func() {
			o.panicked = recover() // it is the caller's
			select {
			case done <- o:
			case <-ctx.Done():
				if o.panicked == nil && o.err == nil {
					discard(o.value)
				}
			}
		}()
		o.value, o.err = f()
	}()
	select {
	case o := <-done:
		if o.panicked != nil {
			panic(o.panicked)
		}
		return o.value, o.err
	case <-ctx.Done():
		return zero, context.Cause(ctx)
	}
}

func forget[T any](T) {}

func stopWatch(w watch.Interface) {
	if w != nil {
		w.Stop()
	}
}
