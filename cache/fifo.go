package cache

// FIFO is a [Queue] that holds the newest state of each object, in the order in which the objects came. An object that
// is added again while it waits keeps its place and is processed once, in its newest state; one that is deleted is not
// processed. Safe for concurrent use. Made by [NewFIFO].
//
// A process function may use the FIFO, except for what waits until it has returned: Pop, Delete and Replace.
// No two process functions run at the same time.
type FIFO struct {
	keyFunc KeyFunc
	queue   blockingQueue // its lock guards what follows
	items   keyedItems[any]
	initial initialList
}

var (
	_ Queue       = (*FIFO)(nil)
	_ DoneChecker = (*FIFO)(nil)
)

// NewFIFO returns an empty FIFO of objects with keys by keyFunc.
func NewFIFO(keyFunc KeyFunc) *FIFO {
	f := &FIFO{keyFunc: keyFunc, initial: newInitialList()}
	f.items.init()
	f.queue.init(f.items.len, ErrFIFOClosed)
	return f
}

// Add puts obj in line, or in the place of its predecessor that waits. A failing key function is a [KeyError].
func (f *FIFO) Add(obj any) error {
	key, err := f.keyFunc.key(obj)
	if err != nil {
		return err
	}
	f.queue.mu.Lock()
	defer f.queue.mu.Unlock()
	f.initial.begin(0)
	f.items.getOrAppend(key).value = obj
	f.queue.changed.Broadcast()
	return nil
}

// Update is Add.
func (f *FIFO) Update(obj any) error { return f.Add(obj) }

// AddIfNotPresent puts obj in line, unless something of its key waits already, which is taken for newer. It is for
// objects whose processing failed.
func (f *FIFO) AddIfNotPresent(obj any) error {
	key, err := f.keyFunc.key(obj)
	if err != nil {
		return err
	}
	f.queue.mu.Lock()
	defer f.queue.mu.Unlock()
	f.initial.begin(0)
	if f.items.get(key) == nil {
		f.items.getOrAppend(key).value = obj
		f.queue.changed.Broadcast()
	}
	return nil
}

// Delete takes the object out of line. It waits while something is being processed, so that what is put back by that
// does not come after it.
func (f *FIFO) Delete(obj any) error {
	key, err := f.keyFunc.key(obj)
	if err != nil {
		return err
	}
	f.queue.lockIdle()
	defer f.queue.mu.Unlock()
	f.initial.begin(0)
	if item := f.items.get(key); item != nil {
		f.items.remove(item)
		f.settleLocked(item)
	}
	return nil
}

// Replace makes list, in its order, all that waits. Of two objects with the same key the later one counts. If the
// first list has not been processed yet, this one takes its part. Like Delete it waits for what is being processed.
func (f *FIFO) Replace(list []any, _ string) error {
	keys, err := keysOf(list, f.keyFunc.key)
	if err != nil {
		return err
	}
	f.queue.lockIdle()
	defer f.queue.mu.Unlock()
	isInitial := !f.initial.synced()
	f.items.init()
	for i, obj := range list {
		item := f.items.getOrAppend(keys[i])
		item.value = obj
		item.initial, item.awaited = isInitial, isInitial
	}
	if isInitial {
		f.initial.restart(f.items.len())
	}
	f.queue.changed.Broadcast()
	return nil
}

// Resync has nothing to do: all that is stored is in line.
func (f *FIFO) Resync() error { return nil }

// Pop waits for an object and gives it to process; see [Queue].
func (f *FIFO) Pop(process PopProcessFunc) (any, error) {
	var item *keyedItem[any]
	var popped any // not item.value: once put back, that is others' to change
	err := f.queue.consume(
		func() { item = f.items.takeFirst(); popped = item.value },
		func() error { return process(popped, item.initial) },
		func(requeue bool) {
			f.settleLocked(item)
			if requeue && f.items.get(item.key) == nil {
				f.items.append(item)
			}
		})
	return popped, err
}

// settleLocked says that HasSynced need not wait for item any more.
func (f *FIFO) settleLocked(item *keyedItem[any]) {
	if item.awaited {
		item.awaited = false
		f.initial.settle(1)
	}
}

// Get returns what waits under obj's key.
func (f *FIFO) Get(obj any) (item any, exists bool, err error) {
	key, err := f.keyFunc.key(obj)
	if err != nil {
		return nil, false, err
	}
	return f.GetByKey(key)
}

// GetByKey returns what waits under key. The error is always nil.
func (f *FIFO) GetByKey(key string) (item any, exists bool, err error) {
	f.queue.mu.RLock()
	defer f.queue.mu.RUnlock()
	if found := f.items.get(key); found != nil {
		return found.value, true, nil
	}
	return nil, false, nil
}

// List returns what waits, in order. The slice is the caller's.
func (f *FIFO) List() []any {
	f.queue.mu.RLock()
	defer f.queue.mu.RUnlock()
	list := make([]any, 0, f.items.len())
	for item := range f.items.all() {
		list = append(list, item.value)
	}
	return list
}

// ListKeys returns the keys of what waits, in order.
func (f *FIFO) ListKeys() []string {
	f.queue.mu.RLock()
	defer f.queue.mu.RUnlock()
	return f.items.keys()
}

// HasSynced reports whether the first list has been processed: all of the first Replace has been popped or deleted, or
// something else came before any Replace.
func (f *FIFO) HasSynced() bool { return isSynced(f.initial.done) }

// HasSyncedChecker is done when HasSynced turns true.
func (f *FIFO) HasSyncedChecker() DoneChecker { return f }

// Name says what this is as a [DoneChecker].
func (f *FIFO) Name() string { return "FIFO" }

// Done closes when HasSynced turns true.
func (f *FIFO) Done() <-chan struct{} { return f.initial.done }

// Close makes Pop return [ErrFIFOClosed] when nothing waits. Adding is still possible.
func (f *FIFO) Close() { f.queue.close() }

// IsClosed reports whether Close was called.
func (f *FIFO) IsClosed() bool { return f.queue.isClosed() }
