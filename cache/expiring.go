package cache

import (
	"iter"
	"time"
)

// expiring holds one value per key, each until a time that is no earlier than that of those put before it. Not safe
// for concurrent use.
type expiring[V any] struct {
	items keyedItems[expiringValue[V]] // in the order of their times
}

type expiringValue[V any] struct {
	value V
	until time.Time
}

func newExpiring[V any]() *expiring[V] {
	e := &expiring[V]{}
	e.items.init()
	return e
}

// put holds value until a time, in the place of what there is under key.
func (e *expiring[V]) put(key string, value V, until time.Time) {
	e.remove(key)
	e.items.getOrAppend(key).value = expiringValue[V]{value, until}
}

func (e *expiring[V]) get(key string) (value V, ok bool) {
	if at := e.at(key); at != nil {
		return *at, true
	}
	return value, false
}

// at returns where the value under key is; nil if there is none.
func (e *expiring[V]) at(key string) *V {
	item := e.items.get(key)
	if item == nil {
		return nil
	}
	return &item.value.value
}

func (e *expiring[V]) remove(key string) (value V, ok bool) {
	item := e.items.get(key)
	if item == nil {
		return value, false
	}
	e.items.remove(item)
	return item.value.value, true
}

// expire removes what was held until now, or less long, and returns it.
func (e *expiring[V]) expire(now time.Time) (expired []V) {
	for item := range e.items.all() {
		if item.value.until.After(now) {
			break
		}
		e.items.remove(item)
		expired = append(expired, item.value.value)
	}
	return expired
}

// trim removes the oldest values, down to a number.
func (e *expiring[V]) trim(n int) {
	for e.items.len() > n {
		e.items.takeFirst()
	}
}

// values goes through where the values are, oldest first.
func (e *expiring[V]) values() iter.Seq[*V] {
	return func(yield func(*V) bool) {
		for item := range e.items.all() {
			if !yield(&item.value.value) {
				return
			}
		}
	}
}

// all copies the values, oldest first.
func (e *expiring[V]) all() []V {
	all := make([]V, 0, e.items.len())
	for at := range e.values() {
		all = append(all, *at)
	}
	return all
}
