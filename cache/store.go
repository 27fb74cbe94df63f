package cache

// Store holds the current state of objects, each under its key. Safe for concurrent use. The objects it gives out are
// everybody's: they must not be changed.
type Store interface {
	// Add and Update put obj in, in the place of what there is under its key.
	Add(obj any) error
	Update(obj any) error
	// Delete removes what is under obj's key. It is no error if there is nothing.
	Delete(obj any) error

	// List returns all objects, in no particular order. The slice is the caller's, the objects are not.
	List() []any
	// ListKeys returns all keys, in no particular order.
	ListKeys() []string

	// LastStoreSyncResourceVersion is the resource version seen last: of an object put in or deleted, of a Replace, or
	// of a Bookmark. "" if none has been.
	LastStoreSyncResourceVersion() string
	// Bookmark says that all up to resource version rv has been seen.
	Bookmark(rv string)

	// Get returns what is under obj's key.
	Get(obj any) (item any, exists bool, err error)
	// GetByKey returns what is under key.
	GetByKey(key string) (item any, exists bool, err error)

	// Replace makes list the whole content, as of that resource version. The list is the store's from then on.
	Replace(list []any, resourceVersion string) error
	// Resync does nothing in most stores; see [ReflectorStore].
	Resync() error
}

// StoreOption configures [NewStore] and [NewIndexer].
type StoreOption = func(*cache)

// WithTransformer has objects transformed before they are put in. One that cannot be is not put in, and of a Replace
// with one nothing is.
func WithTransformer(transformer TransformFunc) StoreOption {
	return func(c *cache) { c.transform = transformer }
}

// WithStoreMetrics publishes the store's resource version under identifier. metrics makes the metric; nil: that of
// [SetInformerMetricsProvider].
func WithStoreMetrics(identifier InformerNameAndResource, metrics InformerMetricsProvider) StoreOption {
	return func(c *cache) { WithThreadSafeStoreMetrics(identifier, metrics)(c.content) }
}

// NewStore returns an empty store of objects with keys by keyFunc.
func NewStore(keyFunc KeyFunc, opts ...StoreOption) Store {
	return newCache(keyFunc, nil, opts...)
}

// NewIndexer returns an empty store that also finds objects by indexers.
func NewIndexer(keyFunc KeyFunc, indexers Indexers, opts ...StoreOption) Indexer {
	return newCache(keyFunc, indexers, opts...)
}

func newCache(keyFunc KeyFunc, indexers Indexers, opts ...StoreOption) *cache {
	c := &cache{keyFunc: keyFunc, content: newThreadSafeMap()}
	for _, opt := range opts {
		opt(c)
	}
	if err := c.AddIndexers(indexers); err != nil {
		panic("BUG: indexers clash in an empty store: " + err.Error())
	}
	return c
}

// cache is the usual Store and Indexer: a threadSafeMap whose keys a key function makes.
type cache struct {
	keyFunc   KeyFunc
	transform TransformFunc // nil: none
	content   *threadSafeMap
}

var (
	_ Indexer          = (*cache)(nil)
	_ TransactionStore = (*cache)(nil)
)

func (c *cache) Add(obj any) error { return c.put(obj) }

func (c *cache) Update(obj any) error { return c.put(obj) }

func (c *cache) put(obj any) error {
	key, obj, err := c.incoming(obj)
	if err != nil {
		return err
	}
	c.content.Update(key, obj)
	return nil
}

// incoming is what has to succeed before obj can be put in.
func (c *cache) incoming(obj any) (key string, _ any, err error) {
	if key, err = c.keyFunc.key(obj); err != nil {
		return "", nil, err
	}
	obj, err = transformed(c.transform, key, obj)
	return key, obj, err
}

func (c *cache) Delete(obj any) error {
	key, err := c.keyFunc.key(obj)
	if err != nil {
		return err
	}
	c.content.DeleteWithObject(key, obj)
	return nil
}

func (c *cache) Get(obj any) (item any, exists bool, err error) {
	key, err := c.keyFunc.key(obj)
	if err != nil {
		return nil, false, err
	}
	return c.GetByKey(key)
}

func (c *cache) GetByKey(key string) (item any, exists bool, err error) {
	item, exists = c.content.Get(key)
	return item, exists, nil
}

func (c *cache) Replace(list []any, resourceVersion string) error {
	keys, err := keysOf(list, c.keyFunc.key)
	if err != nil {
		return err
	}
	if err := transformedList(c.transform, keys, list); err != nil {
		return err
	}
	c.content.replace(keys, list, resourceVersion)
	return nil
}

func (c *cache) Transaction(txns ...Transaction) *TransactionError {
	keyed := make([]ThreadSafeStoreTransaction, 0, len(txns))
	done := make([]int, 0, len(txns))
	var errs []error
	for i, txn := range txns {
		key, obj, err := c.transactionObject(txn)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		keyed = append(keyed, ThreadSafeStoreTransaction{Key: key, Transaction: Transaction{Object: obj, Type: txn.Type}})
		done = append(done, i)
	}
	c.content.Transaction(keyed...)
	if errs == nil {
		return nil
	}
	return &TransactionError{SuccessfulIndices: done, TotalTransactions: len(txns), Errors: errs}
}

func (c *cache) transactionObject(txn Transaction) (key string, obj any, err error) {
	switch txn.Type {
	case TransactionTypeAdd, TransactionTypeUpdate:
		return c.incoming(txn.Object)
	case TransactionTypeDelete:
		key, err = c.keyFunc.key(txn.Object)
		return key, txn.Object, err
	}
	return "", nil, txn.unknownType()
}

func (c *cache) List() []any        { return c.content.List() }
func (c *cache) ListKeys() []string { return c.content.ListKeys() }
func (c *cache) LastStoreSyncResourceVersion() string {
	return c.content.LastStoreSyncResourceVersion()
}
func (c *cache) Bookmark(rv string)                     { c.content.Bookmark(rv) }
func (c *cache) Resync() error                          { return nil }
func (c *cache) GetIndexers() Indexers                  { return c.content.GetIndexers() }
func (c *cache) AddIndexers(newIndexers Indexers) error { return c.content.AddIndexers(newIndexers) }
func (c *cache) ListIndexFuncValues(name string) []string {
	return c.content.ListIndexFuncValues(name)
}
func (c *cache) Index(indexName string, obj any) ([]any, error) {
	return c.content.Index(indexName, obj)
}
func (c *cache) IndexKeys(indexName, indexedValue string) ([]string, error) {
	return c.content.IndexKeys(indexName, indexedValue)
}
func (c *cache) ByIndex(indexName, indexedValue string) ([]any, error) {
	return c.content.ByIndex(indexName, indexedValue)
}
