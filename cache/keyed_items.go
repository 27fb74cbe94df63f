package cache

import "iter"

// keyedItems holds one value per key, in the order in which the keys came. Not safe for concurrent use: it lies behind
// the lock of a queue.
type keyedItems[V any] struct {
	byKey map[string]*keyedItem[V]
	ends  keyedItem[V] // of the ring: ends.next is the first item, ends.prev the last
}

type keyedItem[V any] struct {
	key   string
	value V
	// initial: it came with the first Replace; awaited: and HasSynced still waits for it.
	initial, awaited bool

	prev, next *keyedItem[V]
}

func (items *keyedItems[V]) init() {
	items.byKey = map[string]*keyedItem[V]{}
	items.ends.prev, items.ends.next = &items.ends, &items.ends
}

func (items *keyedItems[V]) len() int { return len(items.byKey) }

// get returns nil if there is nothing under key.
func (items *keyedItems[V]) get(key string) *keyedItem[V] { return items.byKey[key] }

// getOrAppend returns what is under key; if nothing, a new item at the end, for the caller to give a value.
func (items *keyedItems[V]) getOrAppend(key string) *keyedItem[V] {
	if item := items.byKey[key]; item != nil {
		return item
	}
	item := &keyedItem[V]{key: key}
	items.append(item)
	return item
}

// append puts item at the end; nothing may be under its key.
func (items *keyedItems[V]) append(item *keyedItem[V]) {
	if _, taken := items.byKey[item.key]; taken {
		panic("BUG: a key twice in a queue: " + item.key)
	}
	last := items.ends.prev
	item.prev, item.next = last, &items.ends
	last.next, items.ends.prev = item, item
	items.byKey[item.key] = item
}

func (items *keyedItems[V]) remove(item *keyedItem[V]) {
	item.prev.next, item.next.prev = item.next, item.prev
	item.prev, item.next = nil, nil
	delete(items.byKey, item.key)
}

// takeFirst removes and returns the first item. There must be one.
func (items *keyedItems[V]) takeFirst() *keyedItem[V] {
	first := items.ends.next
	items.remove(first)
	return first
}

// all goes through the items in their order. The one it is at may be removed.
func (items *keyedItems[V]) all() iter.Seq[*keyedItem[V]] {
	return func(yield func(*keyedItem[V]) bool) {
		for item := items.ends.next; item != &items.ends; {
			next := item.next
			if !yield(item) {
				return
			}
			item = next
		}
	}
}

func (items *keyedItems[V]) keys() []string {
	keys := make([]string, 0, items.len())
	for item := range items.all() {
		keys = append(keys, item.key)
	}
	return keys
}
