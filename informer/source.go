package informer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/informerkit/informerkit/internal/failurelog"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// source is one of the sources of an informer, with a reflector of its own. All but an informer's only source note which
// keys they have, so that an object that leaves one source and is still in another stays.
type source[T any] struct {
	informer  *Informer[T]
	name      string
	from      listwatch.Source[T]
	opts      reflector.Options // with a name of its own
	reflector *reflector.Reflector[T]
	failures  failurelog.Log

	// The rest is guarded by informer.mu.
	held   map[string]struct{} // nil while this is the only source the informer ever had
	seen   string              // resource version of its newest list, event or bookmark
	listed bool                // its first list is stored
	cancel context.CancelFunc  // stops its reflector; nil while it is not running
	ended  chan struct{}       // closed when its reflector has ended; nil while it is not running

	// These are guarded, too.
	missing  listwatch.Shard // what is not stored yet of the informer's shard: everything at first, nothing after a list
	lists    int             // stored so far
	listedAt string          // resource version of the last one
}

// ErrNoSource is returned by RemoveSource for a name that is not there.
var ErrNoSource = errors.New("no such source")

// AddSource adds a source under a name, at any time: an informer may have several, of other namespaces or selectors. Their
// objects share one store and one stream of events; an object that is in several is there once, in the newest state, and
// gone when it is gone from all. Each source lists, watches and recovers by itself, and a relist touches its own objects
// only. Between sources there is no order: an object that one of them has told is gone may come back, in an older state, from one that
// lags behind, until that one has caught up. The error says that the name is taken, or which option can't be right.
func (i *Informer[T]) AddSource(name string, from listwatch.Source[T]) error {
	s, err := i.newSource(name, from)
	if err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, taken := i.sources[name]; taken {
		return fmt.Errorf("informer %s: there is a source %q already", i.opts.Name, name)
	}
	if len(i.sources) > 0 || i.shared {
		i.shareLocked()
		s.held = map[string]struct{}{}
	}
	i.sources[name] = s
	if i.life != nil {
		s.startLocked(i.life, false)
	}
	return nil
}

func (i *Informer[T]) newSource(name string, from listwatch.Source[T]) (*source[T], error) {
	s := &source[T]{informer: i, name: name, from: from, opts: i.opts.Reflector}
	opts := &s.opts
	if name != "" {
		opts.Name += "/" + name
	}
	opts.OnError = func(ctx context.Context, err error) {
		if tell := i.opts.Reflector.OnError; tell != nil {
			tell(ctx, err)
			return
		}
		reportFailure(ctx, &s.failures, opts.Name, err)
	}
	var err error
	if s.reflector, err = reflector.New(shardedSource[T]{s}, &sink[T]{source: s}, s.opts); err != nil {
		return nil, fmt.Errorf("informer %s: %w", i.opts.Name, err)
	}
	return s, nil
}

// shareLocked makes the only source note what it has, now that there are others.
func (i *Informer[T]) shareLocked() {
	if i.shared {
		return
	}
	i.shared = true
	for _, only := range i.sources {
		only.held = make(map[string]struct{}, i.store.Len())
		for key := range i.store.Snapshot().All() {
			only.held[key] = struct{}{}
		}
	}
}

// RemoveSource takes out a source and the objects that only it had, at once: handlers are told that they are deleted, Final
// false. Then it waits until the source has ended. The error is [ErrNoSource], or ctx's when it ends before the source has.
func (i *Informer[T]) RemoveSource(ctx context.Context, name string) error {
	i.mu.Lock()
	s, ok := i.sources[name]
	if !ok {
		i.mu.Unlock()
		return fmt.Errorf("informer %s: %w: %q", i.opts.Name, ErrNoSource, name)
	}
	i.shareLocked()
	delete(i.sources, name) // from here on, what its reflector brings is ignored
	for key := range s.held {
		if !i.heldElsewhereLocked(s, key) {
			i.batch.Delete(key)
		}
	}
	s.held = map[string]struct{}{}
	i.commitLocked()
	i.bad.replace(s, nil)
	i.checkSyncedLocked()
	i.checkCoveredLocked()
	if s.cancel != nil {
		s.cancel()
	}
	ended := s.ended
	i.mu.Unlock()
	if ended == nil {
		return nil
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// presentLocked reports that the source has not been removed.
func (s *source[T]) presentLocked() bool { return s.informer.sources[s.name] == s }

// startLocked runs the source's reflector until l ends or the source is removed or started anew. One that goes on lists no more
// than what is missing of the shard.
func (s *source[T]) startLocked(l *life, goOn bool) {
	previous := s.ended
	ctx, cancel := context.WithCancel(l.ctx)
	ended := make(chan struct{})
	s.cancel, s.ended = cancel, ended
	l.started(s)
	go func() {
		defer l.ended(s)
		defer close(ended)
		defer cancel()
		if previous != nil {
			<-previous
		}
		err := s.follow(ctx, goOn)
		if ctx.Err() == nil {
			if s.name != "" {
				err = fmt.Errorf("source %q: %w", s.name, err)
			}
			l.fail(fmt.Errorf("informer %s: %w", s.informer.opts.Name, err))
		}
	}()
}

// Name makes a source one of the things a life waits for.
func (s *source[T]) Name() string { return "source " + s.name }

// shares reports that the source is not the only one.
func (s *source[T]) shares() bool {
	s.informer.mu.Lock()
	defer s.informer.mu.Unlock()
	return s.held != nil
}

// sourcesLocked is in the order of names.
func (i *Informer[T]) sourcesLocked() []*source[T] {
	names := slices.Sorted(maps.Keys(i.sources))
	sources := make([]*source[T], len(names))
	for n, name := range names {
		sources[n] = i.sources[name]
	}
	return sources
}

// holdLocked notes whether the source has the key, if it is not the only one.
func (s *source[T]) holdLocked(key string, has bool) {
	switch {
	case s.held == nil:
	case has:
		s.held[key] = struct{}{}
	default:
		delete(s.held, key)
	}
}

func (i *Informer[T]) heldElsewhereLocked(s *source[T], key string) bool {
	for _, other := range i.sources {
		if other == s {
			continue
		}
		if _, ok := other.held[key]; ok {
			return true
		}
	}
	return false
}
