package cache

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/informerkit/informerkit/listwatch"
)

// ListAndWatch is [Reflector.ListAndWatchWithContext] that ends when stopCh closes.
//
// Contextual logging: use ListAndWatchWithContext.
func (r *Reflector) ListAndWatch(stopCh <-chan struct{}) error {
	return r.ListAndWatchWithContext(wait.ContextForChannel(stopCh))
}

// ListAndWatchWithContext lists once and watches from there, until another list is needed or ctx ends: then it returns
// nil. If the list fails, it returns why. It must not be called while the reflector runs.
func (r *Reflector) ListAndWatchWithContext(ctx context.Context) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	engine := r.ready()
	before := engine.Status().Lists
	single := &singleRun{end: end, listed: func() bool { return engine.Status().Lists > before }}
	if !r.single.CompareAndSwap(nil, single) {
		return errors.New("reflector is running already")
	}
	defer r.single.Store(nil)
	err := r.run(ctx)
	if ctx.Err() == nil {
		return err // it did not get as far as listing
	}
	return single.result()
}

// singleRun is a run that ends where the next list would begin.
type singleRun struct {
	end    context.CancelCauseFunc
	listed func() bool // the list of this run is done

	mu  sync.Mutex // guards err
	err error      // why there was no list
}

func (s *singleRun) result() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// fail makes err the result and ends the run.
func (s *singleRun) fail(err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.end(err)
}

// mayListOtherwise reports that the engine has another way to list: from another resource version. (After a streaming
// list it has paged ones.)
func mayListOtherwise(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// singleRunSource watches over where a run of ListAndWatch ends.
type singleRunSource struct {
	listwatch.Source[any]
	reflector *Reflector
}

func (s singleRunSource) List(ctx context.Context, opts metav1.ListOptions) (listwatch.Page[any], error) {
	if err := s.begin(); err != nil {
		return listwatch.Page[any]{}, err
	}
	page, err := s.Source.List(ctx, opts)
	if single := s.reflector.single.Load(); single != nil && err != nil && !mayListOtherwise(err) {
		single.fail(err)
	}
	return page, err
}

func (s singleRunSource) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[any], error) {
	if opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		if err := s.begin(); err != nil {
			return nil, err
		}
	}
	return s.Source.Watch(ctx, opts)
}

// begin is called where a list begins. The second one is not for this run.
func (s singleRunSource) begin() error {
	single := s.reflector.single.Load()
	if single == nil || !single.listed() {
		return nil
	}
	single.end(nil)
	return context.Canceled
}
