package cache

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
)

// NewFakeExpirationStore returns an empty [ExpirationCache] for tests: with a clock of their own, and a channel that is
// sent each key that was deleted or found expired. Who caused that waits for the channel; nil is nobody.
func NewFakeExpirationStore(keyFunc KeyFunc, deletedKeys chan<- string, expirationPolicy ExpirationPolicy, cacheClock clock.Clock) Store {
	c := newExpirationCache(keyFunc, expirationPolicy, cacheClock)
	if deletedKeys != nil {
		c.removed = func(key string) { deletedKeys <- key }
	}
	return c
}

// FakeExpirationPolicy is for tests: all but some keys have expired.
type FakeExpirationPolicy struct {
	// NeverExpire are the keys that have not.
	NeverExpire sets.Set[string]
	// RetrieveKeyFunc makes the key of a *TimestampedEntry.
	RetrieveKeyFunc KeyFunc
}

// IsExpired reports whether the key is one that expires. One that cannot be made is.
func (p *FakeExpirationPolicy) IsExpired(obj *TimestampedEntry) bool {
	key, err := p.RetrieveKeyFunc(obj)
	return err != nil || !p.NeverExpire.Has(key)
}
