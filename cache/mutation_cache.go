package cache

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/internal/ownwrites"
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
	// held when it comes late, nor what a store that lags behind still has of it; a successor of the same name is. The
	// deletion is remembered for the TTL, and no more deletions than the size bound says.
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
		writes:  ownwrites.NewTable[any](ownwrites.Options{Max: options.MaxCacheSize, TTL: options.TTL}),
	}
}

type mutationCache struct {
	logger  klog.Logger
	backing Store
	indexer Indexer // nil: none
	adds    bool

	mu     sync.Mutex // guards writes; the stores are not called with it held
	writes *ownwrites.Table[any]
}

// lockNow locks mu, and drops what has been held for too long.
func (m *mutationCache) lockNow() {
	m.mu.Lock()
	m.writes.Tick(time.Now())
}

func (m *mutationCache) GetByKey(key string) (any, bool, error) {
	// The write first: were the store looked at first, it could catch up and the write be dropped in between.
	m.lockNow()
	write, written := m.writes.Get(key)
	m.mu.Unlock()
	if !written {
		return m.backing.GetByKey(key)
	}
	return m.newer(write)
}

// newer returns the newer of a write and what is stored under its key.
func (m *mutationCache) newer(write ownwrites.Write[any]) (any, bool, error) {
	stored, exists, err := m.backing.GetByKey(write.Key)
	if err != nil {
		return nil, false, err
	}
	m.lockNow()
	standing := m.writes.Saw(write, stored, exists, "")
	m.mu.Unlock()
	if standing == ownwrites.Shown && !exists && !m.adds {
		return nil, false, nil
	}
	if standing == ownwrites.Shown && write.Kind == ownwrites.Evicted {
		return nil, false, fmt.Errorf("mutation cache: %q at resource version %s: %w", write.Key, write.Version, ErrMutationEvicted)
	}
	obj, shown := write.Show(stored, exists, "")
	return obj, shown, nil
}

func (m *mutationCache) ByIndex(indexName, indexKey string) ([]any, error) {
	if m.indexer == nil {
		return nil, errNoIndexer
	}
	m.lockNow()
	writes := m.writes.All()
	m.mu.Unlock()
	found, err := m.indexer.ByIndex(indexName, indexKey)
	if err != nil || len(writes) == 0 {
		return found, err
	}
	fn := m.indexer.GetIndexers()[indexName]
	// Of what was written, the newer state decides whether it is found, and not what the store's index said.
	list := make([]any, 0, len(found)+len(writes))
	for _, obj := range found {
		key, err := DeletionHandlingMetaNamespaceKeyFunc(obj)
		if err != nil {
			return nil, KeyError{Obj: obj, Err: err}
		}
		if write, ok := writes[key]; !ok || write.Kind == ownwrites.Deletion && !write.Against(obj, true, "").Unseen() {
			list = append(list, obj)
		}
	}
	for _, write := range writes {
		if write.Kind == ownwrites.Deletion {
			continue
		}
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
	write, err := ownwrites.New(obj)
	if err != nil {
		m.logger.Error(err, "An own write is not held by the mutation cache")
		return
	}
	stored, exists, err := m.backing.GetByKey(write.Key)
	if err != nil {
		m.logger.Error(err, "Reading the store under the mutation cache", "key", write.Key)
	} else if !write.Against(stored, exists, "").Unseen() {
		return
	}
	m.lockNow()
	m.writes.Put(write)
	crowd := m.writes.Crowd()
	m.mu.Unlock()
	for _, write := range crowd {
		_, _, _ = m.newer(write) // which drops it, if the store has caught up
	}
	m.mu.Lock()
	m.writes.Evict()
	m.mu.Unlock()
}

func (m *mutationCache) OnAddOrUpdate(obj runtime.Object) {
	seen, err := ownwrites.New[any](obj)
	if err != nil {
		m.logger.Error(err, "The mutation cache was told of an object it cannot hold")
		return
	}
	m.lockNow()
	defer m.mu.Unlock()
	// An older state tells nothing: the store need not have it yet.
	if write, ok := m.writes.Get(seen.Key); ok && !write.Against(obj, true, "").Unseen() {
		m.writes.Saw(write, obj, true, "")
	}
}

func (m *mutationCache) OnDelete(obj runtime.Object) {
	gone, err := ownwrites.NewDeletion[any](obj)
	if err != nil {
		m.logger.Error(err, "The mutation cache was told of an object it cannot hold")
		return
	}
	m.lockNow()
	defer m.mu.Unlock()
	m.writes.Put(gone)
}

// CompareResourceVersion implements [ResourceVersionComparator]. What cannot be compared is equal.
func (m *mutationCache) CompareResourceVersion(lhs, rhs runtime.Object) int {
	left, errLeft := meta.Accessor(lhs)
	right, errRight := meta.Accessor(rhs)
	if errLeft != nil || errRight != nil {
		return 0
	}
	order, _ := resourceversion.CompareResourceVersion(left.GetResourceVersion(), right.GetResourceVersion())
	return order
}
