package informer

import (
	"context"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/versions"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// tenure is the time during which an informer holds one shard.
type tenure struct {
	shard   listwatch.Shard
	covered chan struct{} // closed when every source has stored all of it
	over    chan struct{} // closed when another tenure begins
}

func newTenure(shard listwatch.Shard) *tenure {
	return &tenure{shard: shard, covered: make(chan struct{}), over: make(chan struct{})}
}

// Reshard makes the informer hold another part of the collection, at any time. Objects that are not in it leave at once:
// handlers are told that they are deleted, Moved. Objects that are in both stay, and nobody is told. The rest is listed, that
// part only, and handlers are told that it is added; until that is stored, what stays is not followed either, but nothing of it is
// missed.
//
// While the informer runs, Reshard waits until the whole shard is stored, and its error is [ErrResharded] if the informer is
// given another one first, or a [NotSyncedError] if ctx or Run ends first; the informer gets there all the same. While it does
// not run, the rest comes with the next Run.
//
// Replicas that hand over to each other are not in step: for a while an object may be with both, or with neither. Always with one
// at least it is if Reshard of the replica that takes it has returned before Reshard of the one that gives it is called.
func (i *Informer[T]) Reshard(ctx context.Context, to listwatch.Shard) error {
	i.mu.Lock()
	t, l := i.reshardLocked(to), i.life
	i.mu.Unlock()
	if l == nil || isClosed(t.covered) {
		return nil
	}
	select {
	case <-t.covered:
		return nil
	case <-t.over:
		return ErrResharded
	case <-l.ctx.Done():
		return i.notSynced(l.ctx, "")
	case <-ctx.Done():
		return i.notSynced(ctx, "")
	}
}

// reshardLocked begins another tenure, unless to is what is held already.
func (i *Informer[T]) reshardLocked(to listwatch.Shard) *tenure {
	now := i.tenure.Load()
	if now.shard.Equal(to) {
		return now
	}
	next := newTenure(to)
	i.tenure.Store(next)
	i.moveOutLocked(to)
	for _, s := range i.sourcesLocked() {
		stored := now.shard.Without(s.missing)
		s.missing = to.Without(stored)
		if i.life != nil { // it asked for the other shard
			s.cancel()
			s.startLocked(i.life, true)
		}
	}
	close(now.over)
	i.checkCoveredLocked()
	return next
}

// moveOutLocked drops what is not in shard.
func (i *Informer[T]) moveOutLocked(shard listwatch.Shard) {
	i.bad.keep(func(q *Quarantined) bool {
		namespace, _ := listwatch.SplitKey(q.Key)
		return shard.Has(q.UID, namespace)
	})
	for key, obj := range i.store.Snapshot().All() {
		if holds(shard, obj) {
			continue
		}
		i.batch.Delete(key)
		for _, s := range i.sources {
			delete(s.held, key)
		}
	}
	i.commitAsLocked(true)
}

// holds reports whether an object is in shard. One without metadata is in every one.
func holds[T any](shard listwatch.Shard, obj T) bool {
	if shard.Everything() {
		return true
	}
	m := metaOf(obj)
	return m == nil || shard.Has(string(m.GetUID()), m.GetNamespace())
}

// hasAllLocked notes that a list as of rv has all that the source has of the shard.
func (s *source[T]) hasAllLocked(rv string) {
	shard := s.informer.tenure.Load().shard
	s.seen, s.listed, s.missing = rv, true, shard.Without(shard)
	s.lists, s.listedAt = s.lists+1, rv
}

// checkCoveredLocked tells who waits that every source has stored all of the shard, if so.
func (i *Informer[T]) checkCoveredLocked() {
	for _, s := range i.sources {
		if !s.missing.Empty() {
			return
		}
	}
	if t := i.tenure.Load(); !isClosed(t.covered) {
		close(t.covered)
	}
}

// follow runs the reflector. One that goes on watches from where it was, after what is missing of the shard has been listed:
// so that list is not older than where the watch begins, and what the watch tells of it once more is ignored. If the list
// fails, another one, of the whole shard, is the reflector's business.
func (s *source[T]) follow(ctx context.Context, goOn bool) error {
	if !goOn {
		return s.reflector.Run(ctx)
	}
	if err := s.fill(ctx); err != nil {
		if ctx.Err() == nil {
			s.opts.OnError(ctx, err)
		}
		return s.reflector.Run(ctx)
	}
	return s.reflector.Resume(ctx)
}

// fill lists what is missing of the shard, and adds it to what is stored.
func (s *source[T]) fill(ctx context.Context) error {
	i := s.informer
	i.mu.Lock()
	r := &replacement[T]{source: s, tenure: i.tenure.Load()}
	missing, listed, seen := s.missing, s.listed, s.seen
	i.mu.Unlock()
	if missing.Empty() || !listed { // a first list is the reflector's
		return nil
	}
	r.shared.keys = map[string]struct{}{}
	rv, err := reflector.List(ctx, listwatch.InShard(s.from, missing), s.opts, r.Add)
	if err != nil {
		return err
	}
	if versions.Older(rv, seen) {
		return &reflector.OldListError{Seen: seen, Listed: rv}
	}
	return i.extend(r)
}

// extend adds a list of what was missing to what the source has.
func (i *Informer[T]) extend(r *replacement[T]) error {
	s, next := r.source, &r.shared
	i.mu.Lock()
	defer i.mu.Unlock()
	if !s.presentLocked() || r.tenure != i.tenure.Load() {
		return ErrResharded
	}
	i.putLocked(next.changed, false)
	if s.held != nil {
		maps.Copy(s.held, next.keys)
	}
	for _, entry := range r.bad {
		i.bad.put(s, entry)
	}
	s.missing = r.tenure.shard.Without(r.tenure.shard)
	i.commitLocked()
	i.checkCoveredLocked()
	return nil
}

// shardedSource is a source that is asked for the informer's shard only.
type shardedSource[T any] struct{ of *source[T] }

func (s shardedSource[T]) now() listwatch.Source[T] {
	return listwatch.InShard(s.of.from, s.of.informer.tenure.Load().shard)
}

// List implements [listwatch.Source].
func (s shardedSource[T]) List(ctx context.Context, opts metav1.ListOptions) (listwatch.Page[T], error) {
	return s.now().List(ctx, opts)
}

// Watch implements [listwatch.Source].
func (s shardedSource[T]) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[T], error) {
	return s.now().Watch(ctx, opts)
}
