package cache

import (
	"time"

	"k8s.io/utils/clock"
)

// ExpirationPolicy decides when an entry of an [ExpirationCache] has expired. It is called concurrently and with no
// lock held.
type ExpirationPolicy interface {
	IsExpired(obj *TimestampedEntry) bool
}

// TimestampedEntry is what an [ExpirationCache] holds: an object, and when it was put in by the cache's clock. It must
// not be changed.
type TimestampedEntry struct {
	Obj       any
	Timestamp time.Time
	key       string
}

// TTLPolicy expires what is older than TTL.
type TTLPolicy struct {
	// TTL of zero or less: nothing expires.
	TTL time.Duration
	// Clock tells what time it is. It must be set if TTL is.
	Clock clock.Clock
}

// IsExpired reports whether the entry is older than TTL.
func (p *TTLPolicy) IsExpired(obj *TimestampedEntry) bool {
	return p.TTL > 0 && p.Clock.Since(obj.Timestamp) > p.TTL
}

// ExpirationCache is a [Store] whose objects expire, by a policy, some time after they were put in. Who comes across
// an expired object does not see it and removes it, unless it has been put in anew meanwhile. Nothing removes objects
// that nobody reads. Reading takes no lock unless it finds something expired.
type ExpirationCache struct {
	keyFunc KeyFunc
	policy  ExpirationPolicy
	clock   clock.Clock
	content *threadSafeMap // of *TimestampedEntry, each made for one put
	// removed is called with each key that was deleted or found expired, with no lock held; nil: nobody cares.
	removed func(key string)
}

var _ Store = (*ExpirationCache)(nil)

// NewTTLStore returns an empty [ExpirationCache] with a [TTLPolicy]: ttl of zero or less, nothing expires.
func NewTTLStore(keyFunc KeyFunc, ttl time.Duration) Store {
	return NewExpirationStore(keyFunc, &TTLPolicy{TTL: ttl, Clock: clock.RealClock{}})
}

// NewExpirationStore returns an empty [ExpirationCache] with that policy, by the real clock.
func NewExpirationStore(keyFunc KeyFunc, expirationPolicy ExpirationPolicy) Store {
	return newExpirationCache(keyFunc, expirationPolicy, clock.RealClock{})
}

func newExpirationCache(keyFunc KeyFunc, policy ExpirationPolicy, clock clock.Clock) *ExpirationCache {
	return &ExpirationCache{keyFunc: keyFunc, policy: policy, clock: clock, content: newThreadSafeMap()}
}

// Add puts obj in, fresh.
func (c *ExpirationCache) Add(obj any) error {
	key, err := c.keyFunc.key(obj)
	if err != nil {
		return err
	}
	c.content.put(key, c.stamped(key, obj), resourceVersionOf(obj))
	return nil
}

// Update is Add.
func (c *ExpirationCache) Update(obj any) error { return c.Add(obj) }

func (c *ExpirationCache) stamped(key string, obj any) *TimestampedEntry {
	return &TimestampedEntry{Obj: obj, Timestamp: c.clock.Now(), key: key}
}

// Delete removes what is under obj's key.
func (c *ExpirationCache) Delete(obj any) error {
	key, err := c.keyFunc.key(obj)
	if err != nil {
		return err
	}
	c.content.DeleteWithObject(key, obj)
	if c.removed != nil {
		c.removed(key)
	}
	return nil
}

// Replace makes list the whole content, all of it fresh.
func (c *ExpirationCache) Replace(list []any, resourceVersion string) error {
	keys, err := keysOf(list, c.keyFunc.key)
	if err != nil {
		return err
	}
	for i, obj := range list {
		list[i] = c.stamped(keys[i], obj)
	}
	c.content.replace(keys, list, resourceVersion)
	return nil
}

// Get returns what is under obj's key, unless it has expired.
func (c *ExpirationCache) Get(obj any) (item any, exists bool, err error) {
	key, err := c.keyFunc.key(obj)
	if err != nil {
		return nil, false, err
	}
	return c.GetByKey(key)
}

// GetByKey returns what is under key, unless it has expired. The error is always nil.
func (c *ExpirationCache) GetByKey(key string) (item any, exists bool, err error) {
	found, ok := c.content.Get(key)
	if !ok {
		return nil, false, nil
	}
	entry := found.(*TimestampedEntry)
	if c.policy.IsExpired(entry) {
		c.remove(entry)
		return nil, false, nil
	}
	return entry.Obj, true, nil
}

// List returns the objects that have not expired, in no particular order. The slice is the caller's.
func (c *ExpirationCache) List() []any {
	list := c.content.List()
	var expired []*TimestampedEntry
	live := list[:0]
	for _, found := range list {
		entry := found.(*TimestampedEntry)
		if c.policy.IsExpired(entry) {
			expired = append(expired, entry)
		} else {
			live = append(live, entry.Obj)
		}
	}
	clear(list[len(live):])
	c.remove(expired...)
	return live
}

// remove removes expired entries, but no successor of one.
func (c *ExpirationCache) remove(expired ...*TimestampedEntry) {
	if len(expired) == 0 {
		return
	}
	for _, key := range c.content.removeEntries(expired) {
		if c.removed != nil {
			c.removed(key)
		}
	}
}

// ListKeys returns all keys, also those of expired objects that nobody came across yet.
func (c *ExpirationCache) ListKeys() []string { return c.content.ListKeys() }

// LastStoreSyncResourceVersion is as in [Store].
func (c *ExpirationCache) LastStoreSyncResourceVersion() string {
	return c.content.LastStoreSyncResourceVersion()
}

// Bookmark is as in [Store].
func (c *ExpirationCache) Bookmark(rv string) { c.content.Bookmark(rv) }

// Resync does nothing.
func (c *ExpirationCache) Resync() error { return nil }
