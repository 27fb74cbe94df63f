package cache

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
)

// MutationCache lays the caller's own writes over a store that lags behind the server: a read gives the newer state of
// the two. Safe for concurrent use.
//
// A write is held until the store has a state as new, or has seen the object deleted, or the TTL is over. What is over
// the size bound gives up its object, the oldest write first, but is not forgotten: reading it, or an index it may be
// in, is an [ErrMutationEvicted] until the store has caught up. The caller is to try again later.
//
// An object that the store does not have may have been deleted, or be yet to come. It is taken for deleted if the store
// was seen to have an older state of it, or by OnDelete, which informers' handlers should call: the store is ahead of
// them. The store's resource version as a whole tells nothing here: its objects may come from several sources, of
// which one lags behind the other.
type MutationCache interface {
	// GetByKey returns the newer of what was written and what is stored under key.
	GetByKey(key string) (any, bool, error)
	// ByIndex returns what is found by the index in the store, as it were if the writes had been seen.
	ByIndex(indexName, indexKey string) ([]any, error)
	// Mutation says that the caller wrote an object, which is the server's answer. An object without an integer
	// resource version is not held, and logged. One that is no newer than what is known already is not held.
	Mutation(obj any)
	// OnAddOrUpdate says that the store has, or will have at once, this state of an object.
	OnAddOrUpdate(obj runtime.Object)
	// OnDelete says that an object was deleted; obj is its last state. No earlier write to it is shown from then on, nor
	// held when it comes late; one to a successor of the same name is.
	OnDelete(obj runtime.Object)
}

// ResourceVersionComparator compares objects by resource version: negative if lhs is older, positive if it is newer.
type ResourceVersionComparator interface {
	CompareResourceVersion(lhs, rhs runtime.Object) int
}

// ErrMutationEvicted is in the error of reading an object, or index, whose newest state was written through the
// [MutationCache] and is lost to its size bound, while the store has an older one.
var ErrMutationEvicted = errors.New("own write evicted before the store has caught up")

var errNoIndexer = errors.New("no indexer has been provided to the mutation cache")

const (
	defaultMutationTTL  = 5 * time.Minute
	defaultMutationSize = 100
)

// MutationCacheOptions configures [NewIntegerResourceVersionMutationCacheWithOptions]. The zero value works.
type MutationCacheOptions struct {
	// Indexer is the store's, for ByIndex. Nil: ByIndex is an error.
	Indexer Indexer
	// TTL is for how long a write is held at most, from when it was told. Zero: 5 minutes.
	TTL time.Duration
	// IncludeAdds shows also objects that the store does not have.
	IncludeAdds bool
	// MaxCacheSize is how many objects are held. Zero: 100.
	MaxCacheSize int
}

// NewIntegerResourceVersionMutationCache is [NewIntegerResourceVersionMutationCacheWithOptions] with these options.
func NewIntegerResourceVersionMutationCache(logger klog.Logger, backingCache Store, indexer Indexer, ttl time.Duration, includeAdds bool) MutationCache {
	return NewIntegerResourceVersionMutationCacheWithOptions(logger, backingCache, MutationCacheOptions{
		Indexer: indexer, TTL: ttl, IncludeAdds: includeAdds,
	})
}

// NewIntegerResourceVersionMutationCacheWithOptions returns an overlay of backingCache, whose objects' resource
// versions have to be integers that grow with each write to any of them, as the API server's do.
func NewIntegerResourceVersionMutationCacheWithOptions(logger klog.Logger, backingCache Store, options MutationCacheOptions) MutationCache {
	if options.TTL <= 0 {
		options.TTL = defaultMutationTTL
	}
	if options.MaxCacheSize <= 0 {
		options.MaxCacheSize = defaultMutationSize
	}
	return &mutationCache{
		logger:  logger,
		backing: backingCache,
		indexer: options.Indexer,
		adds:    options.IncludeAdds,
		writes:  newOwnWrites(options.TTL, options.MaxCacheSize),
	}
}

type mutationCache struct {
	logger  klog.Logger
	backing Store
	indexer Indexer // nil: none
	adds    bool
	writes  *ownWrites
}

func (m *mutationCache) GetByKey(key string) (any, bool, error) {
	// The write first: were the store looked at first, it could catch up and the write be dropped in between.
	write, written := m.writes.get(key)
	if !written {
		return m.backing.GetByKey(key)
	}
	return m.newer(write)
}

// newer returns the newer of a write and what is stored under its key.
func (m *mutationCache) newer(write ownWrite) (any, bool, error) {
	stored, exists, err := m.backing.GetByKey(write.key)
	if err != nil {
		return nil, false, err
	}
	switch write.against(stored, exists) {
	case settled:
		m.writes.drop(write)
		return stored, exists, nil
	case deleted:
		m.writes.gone(write)
		return nil, false, nil
	case overtaking:
		m.writes.sawOlder(write, stored)
	case adding:
		if !m.adds {
			return nil, false, nil
		}
	}
	if write.evicted() {
		return nil, false, fmt.Errorf("mutation cache: %q at resource version %s: %w", write.key, write.rv, ErrMutationEvicted)
	}
	return write.obj, true, nil
}

func (m *mutationCache) ByIndex(indexName, indexKey string) ([]any, error) {
	if m.indexer == nil {
		return nil, errNoIndexer
	}
	writes := m.writes.all()
	found, err := m.indexer.ByIndex(indexName, indexKey)
	if err != nil || len(writes) == 0 {
		return found, err
	}
	fn := m.indexer.GetIndexers()[indexName]
	// Of what was written, the newer state decides whether it is found, and not what the store's index said.
	written := make(map[string]struct{}, len(writes))
	for _, write := range writes {
		written[write.key] = struct{}{}
	}
	list := make([]any, 0, len(found)+len(writes))
	for _, obj := range found {
		key, err := DeletionHandlingMetaNamespaceKeyFunc(obj)
		if err != nil {
			return nil, KeyError{Obj: obj, Err: err}
		}
		if _, ok := written[key]; !ok {
			list = append(list, obj)
		}
	}
	for _, write := range writes {
		obj, exists, err := m.newer(write)
		if err != nil {
			return nil, fmt.Errorf("index %q: %w", indexName, err)
		}
		if exists && hasIndexValue(fn, obj, indexKey) {
			list = append(list, obj)
		}
	}
	return list, nil
}

// hasIndexValue is false for an object that the index function fails on, as it is not found in the store's index either.
func hasIndexValue(fn IndexFunc, obj any, value string) bool {
	values, err := fn.values(obj)
	return err == nil && slices.Contains(values, value)
}

func (m *mutationCache) Mutation(obj any) {
	write, err := newOwnWrite(obj)
	if err != nil {
		m.logger.Error(err, "An own write is not held by the mutation cache")
		return
	}
	stored, exists, err := m.backing.GetByKey(write.key)
	if err != nil {
		m.logger.Error(err, "Reading the store under the mutation cache", "key", write.key)
	} else {
		switch write.against(stored, exists) {
		case settled:
			return
		case overtaking:
			write.seenOlder = write.sameObject(stored)
		}
	}
	if m.writes.put(write) {
		m.writes.makeRoom(m.settled)
	}
}

// settled reports whether the store has caught up with a write.
func (m *mutationCache) settled(write ownWrite) bool {
	stored, exists, err := m.backing.GetByKey(write.key)
	return err == nil && write.against(stored, exists) == settled
}

func (m *mutationCache) OnAddOrUpdate(obj runtime.Object) {
	seen, err := newOwnWrite(obj)
	if err != nil {
		m.logger.Error(err, "The mutation cache was told of an object it cannot hold")
		return
	}
	m.writes.seen(seen)
}

func (m *mutationCache) OnDelete(obj runtime.Object) {
	gone, err := newOwnWrite(obj)
	if err != nil {
		m.logger.Error(err, "The mutation cache was told of an object it cannot hold")
		return
	}
	m.writes.gone(gone)
}

// CompareResourceVersion implements [ResourceVersionComparator]. What cannot be compared is equal.
func (m *mutationCache) CompareResourceVersion(lhs, rhs runtime.Object) int {
	left, errLeft := meta.Accessor(lhs)
	right, errRight := meta.Accessor(rhs)
	if errLeft != nil || errRight != nil {
		return 0
	}
	order, _ := compareVersions(left.GetResourceVersion(), right.GetResourceVersion())
	return order
}
