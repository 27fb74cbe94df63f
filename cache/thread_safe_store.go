package cache

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/store"
)

// ThreadSafeStore is an [Indexer] without a key function: callers say under which key an object is. Safe for concurrent
// use; every query is answered from one state of the store, and none waits for a write. What it gives out must not be
// changed.
type ThreadSafeStore interface {
	// Add and Update put obj in, in the place of what there is under key.
	Add(key string, obj any)
	Update(key string, obj any)
	// Delete is DeleteWithObject without the object, and so without its resource version.
	Delete(key string)
	// DeleteWithObject removes what is under key. obj is the deleted object's last state, whose resource version counts
	// as seen; nil if it is not known.
	DeleteWithObject(key string, obj any)
	// Get returns what is under key.
	Get(key string) (item any, exists bool)
	// List returns all objects and ListKeys all keys, in no particular order. The slices are the caller's.
	List() []any
	ListKeys() []string
	// Replace makes items the whole content, as of that resource version. The map is the store's from then on.
	Replace(items map[string]any, resourceVersion string)
	// Index and the rest are as in [Indexer], Bookmark and LastStoreSyncResourceVersion as in [Store].
	Index(indexName string, obj any) ([]any, error)
	IndexKeys(indexName, indexedValue string) ([]string, error)
	Bookmark(rv string)
	LastStoreSyncResourceVersion() string
	ListIndexFuncValues(name string) []string
	ByIndex(indexName, indexedValue string) ([]any, error)
	GetIndexers() Indexers
	AddIndexers(newIndexers Indexers) error
	// Resync does nothing.
	Resync() error
}

// ThreadSafeStoreOption configures [NewThreadSafeStore].
type ThreadSafeStoreOption = func(*threadSafeMap)

// WithThreadSafeStoreMetrics publishes the store's resource version under identifier. metricsProvider makes the metric;
// nil: that of [SetInformerMetricsProvider].
func WithThreadSafeStoreMetrics(identifier InformerNameAndResource, metricsProvider InformerMetricsProvider) ThreadSafeStoreOption {
	return func(m *threadSafeMap) { m.metric = newStoreMetric(identifier, metricsProvider) }
}

// NewThreadSafeStore returns an empty store with these indexers. It keeps its indexes itself: indices is not used.
func NewThreadSafeStore(indexers Indexers, indices Indices, opts ...ThreadSafeStoreOption) ThreadSafeStore {
	m := newThreadSafeMap()
	for _, opt := range opts {
		opt(m)
	}
	if err := m.AddIndexers(indexers); err != nil {
		panic("BUG: indexers clash in an empty store: " + err.Error())
	}
	return m
}

// threadSafeMap is package store's Store, with indexes that are found by name.
type threadSafeMap struct {
	store  *store.Store[any]
	writer *store.Writer[any]
	metric reservedGauge

	// writeMu guards batch, and keeps the metric in the order of the writes. Readers never take it.
	writeMu sync.Mutex
	batch   store.Batch[any]

	// indexMu guards changes to indexes, of which there is always a whole map. It is taken before no other lock of ours.
	indexMu sync.Mutex
	indexes atomic.Pointer[map[string]namedIndex]
}

type namedIndex struct {
	fn    IndexFunc
	index *store.Index[any]
}

var _ ThreadSafeStoreWithTransaction = (*threadSafeMap)(nil)

func newThreadSafeMap() *threadSafeMap {
	return newThreadSafeMapOver(store.New(store.Options[any]{}))
}

// newThreadSafeMapOver gives a store that exists the names of this package.
func newThreadSafeMapOver(s *store.Store[any], w *store.Writer[any]) *threadSafeMap {
	m := &threadSafeMap{store: s, writer: w}
	m.indexes.Store(&map[string]namedIndex{})
	return m
}

func (m *threadSafeMap) Add(key string, obj any) { m.Update(key, obj) }

func (m *threadSafeMap) Update(key string, obj any) {
	m.put(key, obj, resourceVersionOf(obj))
}

func (m *threadSafeMap) put(key string, obj any, rv string) {
	m.write(rv, func(batch *store.Batch[any]) { batch.Put(key, obj) })
}

func (m *threadSafeMap) Delete(key string) { m.DeleteWithObject(key, nil) }

func (m *threadSafeMap) DeleteWithObject(key string, obj any) {
	m.write(resourceVersionOf(obj), func(batch *store.Batch[any]) { batch.Delete(key) })
}

func (m *threadSafeMap) Bookmark(rv string) {
	m.write(rv, func(*store.Batch[any]) {})
}

func (m *threadSafeMap) Transaction(fns ...ThreadSafeStoreTransaction) {
	rv := ""
	for _, fn := range fns {
		if seen := resourceVersionOf(fn.Object); seen != "" {
			rv = seen
		}
	}
	m.write(rv, func(batch *store.Batch[any]) {
		for _, fn := range fns {
			switch fn.Type {
			case TransactionTypeAdd, TransactionTypeUpdate:
				batch.Put(fn.Key, fn.Object)
			case TransactionTypeDelete:
				batch.Delete(fn.Key)
			}
		}
	})
}

// write commits what fill puts in the batch as one version, with rv as the resource version seen last ("": that stays).
func (m *threadSafeMap) write(rv string, fill func(*store.Batch[any])) {
	m.writeMu.Lock()
	defer m.writeMu.Unlock()
	fill(&m.batch)
	m.batch.Revision = rv
	m.writer.Commit(&m.batch)
	m.publishLocked(rv)
}

// removeEntries removes those of entries that are still what is under their key, and returns their keys.
func (m *threadSafeMap) removeEntries(entries []*TimestampedEntry) (removed []string) {
	m.write("", func(batch *store.Batch[any]) {
		for _, entry := range entries {
			// Nobody else writes now.
			if current, ok := m.store.Get(entry.key); ok && current == any(entry) {
				batch.Delete(entry.key)
				removed = append(removed, entry.key)
			}
		}
	})
	return removed
}

func (m *threadSafeMap) Replace(items map[string]any, resourceVersion string) {
	replacement := m.writer.Replace()
	for key, obj := range items {
		replacement.Put(key, obj)
	}
	m.commit(replacement, resourceVersion)
}

// replace is Replace for a list of keys and one of objects, the later ones winning over earlier ones of the same key.
func (m *threadSafeMap) replace(keys []string, objs []any, resourceVersion string) {
	replacement := m.writer.Replace()
	for i, key := range keys {
		replacement.Put(key, objs[i])
	}
	m.commit(replacement, resourceVersion)
}

func (m *threadSafeMap) commit(replacement *store.Replacement[any], rv string) {
	m.writeMu.Lock()
	defer m.writeMu.Unlock()
	replacement.Commit(rv)
	m.publishLocked(rv)
}

func (m *threadSafeMap) publishLocked(rv string) {
	if m.metric.gauge == nil {
		return
	}
	if n, err := strconv.ParseUint(rv, 10, 64); err == nil {
		m.metric.set(float64(n))
	}
}

func (m *threadSafeMap) LastStoreSyncResourceVersion() string { return m.store.Revision() }

func (m *threadSafeMap) Resync() error { return nil }

func (m *threadSafeMap) Get(key string) (item any, exists bool) { return m.store.Get(key) }

func (m *threadSafeMap) List() []any { return m.store.Snapshot().Objects() }

func (m *threadSafeMap) ListKeys() []string {
	snapshot := m.store.Snapshot()
	keys := make([]string, 0, snapshot.Len())
	for key := range snapshot.All() {
		keys = append(keys, key)
	}
	return keys
}

// index finds an index, and a version of the store that has it.
func (m *threadSafeMap) index(name string) (namedIndex, *store.Snapshot[any], error) {
	ix, ok := (*m.indexes.Load())[name]
	if !ok {
		return namedIndex{}, nil, fmt.Errorf("index with name %q does not exist", name)
	}
	return ix, m.store.Snapshot(), nil
}

func (m *threadSafeMap) Index(indexName string, obj any) ([]any, error) {
	ix, snapshot, err := m.index(indexName)
	if err != nil {
		return nil, err
	}
	values, err := ix.fn.values(obj)
	if err != nil {
		return nil, fmt.Errorf("index %q: %w", indexName, err)
	}
	if len(values) == 1 {
		return ix.index.Objects(snapshot, values[0]), nil
	}
	byKey := map[string]any{}
	for _, value := range values {
		maps.Insert(byKey, ix.index.Get(snapshot, value))
	}
	return slices.AppendSeq(make([]any, 0, len(byKey)), maps.Values(byKey)), nil
}

func (m *threadSafeMap) ByIndex(indexName, indexedValue string) ([]any, error) {
	ix, snapshot, err := m.index(indexName)
	if err != nil {
		return nil, err
	}
	return ix.index.Objects(snapshot, indexedValue), nil
}

func (m *threadSafeMap) IndexKeys(indexName, indexedValue string) ([]string, error) {
	ix, snapshot, err := m.index(indexName)
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, ix.index.Count(snapshot, indexedValue))
	for key := range ix.index.Get(snapshot, indexedValue) {
		keys = append(keys, key)
	}
	return keys, nil
}

func (m *threadSafeMap) ListIndexFuncValues(name string) []string {
	ix, snapshot, err := m.index(name)
	if err != nil {
		return []string{}
	}
	return slices.AppendSeq([]string{}, ix.index.Values(snapshot))
}

func (m *threadSafeMap) GetIndexers() Indexers {
	indexes := *m.indexes.Load()
	indexers := make(Indexers, len(indexes))
	for name, ix := range indexes {
		indexers[name] = ix.fn
	}
	return indexers
}

func (m *threadSafeMap) AddIndexers(newIndexers Indexers) error {
	m.indexMu.Lock()
	defer m.indexMu.Unlock()
	indexes := maps.Clone(*m.indexes.Load())
	for name := range newIndexers {
		if _, taken := indexes[name]; taken {
			return fmt.Errorf("indexer conflict: index %q exists already", name)
		}
	}
	for name, fn := range newIndexers {
		// The store's constraint names plain function types.
		indexes[name] = namedIndex{fn, store.AddIndex(m.writer, name, (func(any) ([]string, error))(fn))}
	}
	m.indexes.Store(&indexes)
	return nil
}

// resourceVersionOf is "" for what has none.
func resourceVersionOf(obj any) string {
	switch obj := obj.(type) {
	case nil:
		return ""
	case DeletedFinalStateUnknown:
		return "" // its object is not the final state
	case metav1.ObjectMetaAccessor:
		if objectMeta := obj.GetObjectMeta(); objectMeta != nil {
			return objectMeta.GetResourceVersion()
		}
		return ""
	}
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}
