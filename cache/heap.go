package cache

import (
	"container/heap"
	"errors"
	"fmt"
)

// LessFunc reports whether a comes out before b. It is called with the heap's lock held: it must be quick, and not use
// the heap.
type LessFunc func(a, b any) bool

var (
	errHeapClosed = errors.New("heap is closed")
	errNotInHeap  = errors.New("object not found")
)

// Heap is a priority queue of objects by key: Pop gives out the least by a [LessFunc]. Safe for concurrent use. Made by
// [NewHeap].
type Heap struct {
	keyFunc KeyFunc
	queue   blockingQueue // its lock guards items
	items   *heapItems
}

// NewHeap returns an empty heap of objects with keys by keyFn and in the order of lessFn.
func NewHeap(keyFn KeyFunc, lessFn LessFunc) *Heap {
	h := &Heap{keyFunc: keyFn, items: &heapItems{less: lessFn, byKey: map[string]*heapItem{}}}
	h.queue.init(h.items.Len, errHeapClosed)
	return h
}

// Add puts obj in, in the place of what there is under its key. It is an error if the heap is closed.
func (h *Heap) Add(obj any) error { return h.add([]any{obj}, h.items.put) }

// Update is Add.
func (h *Heap) Update(obj any) error { return h.Add(obj) }

// BulkAdd adds the objects of list together: nothing is popped between. If the heap is closed or a key cannot be made,
// none is added.
func (h *Heap) BulkAdd(list []any) error { return h.add(list, h.items.put) }

// AddIfNotPresent adds obj, unless something is under its key already. It is an error if the heap is closed.
func (h *Heap) AddIfNotPresent(obj any) error {
	return h.add([]any{obj}, func(key string, obj any) {
		if h.items.byKey[key] == nil {
			h.items.put(key, obj)
		}
	})
}

func (h *Heap) add(list []any, put func(key string, obj any)) error {
	keys, err := keysOf(list, h.keyFunc.key)
	if err != nil {
		return err
	}
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	if h.queue.closed {
		return errHeapClosed
	}
	for i, obj := range list {
		put(keys[i], obj)
	}
	h.queue.changed.Broadcast()
	return nil
}

// Delete takes out what is under obj's key. It is an error if there is nothing.
func (h *Heap) Delete(obj any) error {
	key, err := h.keyFunc.key(obj)
	if err != nil {
		return err
	}
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	item := h.items.byKey[key]
	if item == nil {
		return fmt.Errorf("deleting %q: %w", key, errNotInHeap)
	}
	heap.Remove(h.items, item.index)
	return nil
}

// Pop waits for an object and takes the least one out. It is an error if the heap is closed and empty.
func (h *Heap) Pop() (any, error) {
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	if err := h.queue.awaitLocked(); err != nil {
		return nil, err
	}
	return heap.Pop(h.items), nil
}

// Get returns what is under obj's key.
func (h *Heap) Get(obj any) (item any, exists bool, err error) {
	key, err := h.keyFunc.key(obj)
	if err != nil {
		return nil, false, err
	}
	return h.GetByKey(key)
}

// GetByKey returns what is under key. The error is always nil.
func (h *Heap) GetByKey(key string) (item any, exists bool, err error) {
	h.queue.mu.RLock()
	defer h.queue.mu.RUnlock()
	if found := h.items.byKey[key]; found != nil {
		return found.obj, true, nil
	}
	return nil, false, nil
}

// List returns all objects, in no particular order. The slice is the caller's.
func (h *Heap) List() []any {
	h.queue.mu.RLock()
	defer h.queue.mu.RUnlock()
	list := make([]any, 0, h.items.Len())
	for _, item := range h.items.order {
		list = append(list, item.obj)
	}
	return list
}

// ListKeys returns all keys, in no particular order.
func (h *Heap) ListKeys() []string {
	h.queue.mu.RLock()
	defer h.queue.mu.RUnlock()
	keys := make([]string, 0, h.items.Len())
	for _, item := range h.items.order {
		keys = append(keys, item.key)
	}
	return keys
}

// Close makes adding an error, and Pop one too when the heap is empty. Idempotent.
func (h *Heap) Close() { h.queue.close() }

// IsClosed reports whether Close was called.
func (h *Heap) IsClosed() bool { return h.queue.isClosed() }

// heapItems is a binary heap (heap.Interface) that also finds its items by key. It lies behind the lock of a Heap.
type heapItems struct {
	less  LessFunc
	byKey map[string]*heapItem
	order []*heapItem
}

type heapItem struct {
	key   string
	obj   any
	index int // in order
}

// put adds obj, or replaces what there is under key and moves it to its place.
func (items *heapItems) put(key string, obj any) {
	if item := items.byKey[key]; item != nil {
		item.obj = obj
		heap.Fix(items, item.index)
		return
	}
	heap.Push(items, &heapItem{key: key, obj: obj})
}

func (items *heapItems) Len() int { return len(items.order) }

func (items *heapItems) Less(i, j int) bool {
	return items.less(items.order[i].obj, items.order[j].obj)
}

func (items *heapItems) Swap(i, j int) {
	order := items.order
	order[i], order[j] = order[j], order[i]
	order[i].index, order[j].index = i, j
}

// Push is for container/heap, which wants any.
func (items *heapItems) Push(x any) {
	item := x.(*heapItem)
	item.index = len(items.order)
	items.order = append(items.order, item)
	items.byKey[item.key] = item
}

// Pop is for container/heap. It returns the object of the item.
func (items *heapItems) Pop() any {
	last := len(items.order) - 1
	item := items.order[last]
	items.order[last] = nil
	items.order = items.order[:last]
	delete(items.byKey, item.key)
	return item.obj
}
