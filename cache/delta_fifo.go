package cache

import (
	"fmt"
	"slices"

	"k8s.io/klog/v2"
)

// DeltaFIFO is a [Queue] that holds, per object, all that happened to it since it was popped last: Pop gives out
// [Deltas]. Objects come out in the order in which they came in. Safe for concurrent use.
//
// It is made for a consumer that keeps what it has processed in a store, known to the queue as KnownObjects: Delete,
// Replace and Resync take from there what is not in the queue. They therefore wait while something is being processed;
// a process function must not call them, or Pop, but may call the rest. KnownObjects is called with the queue's lock
// held and must not call back.
type DeltaFIFO struct {
	name         string
	logger       klog.Logger
	keyFunc      KeyFunc
	known        KeyListerGetter // nil: nothing is known
	transform    TransformFunc   // nil: none
	replacedType DeltaType       // of what Replace lists
	queue        blockingQueue   // its lock guards what follows
	items        keyedItems[Deltas]
	initial      initialList
}

var (
	_ Queue             = (*DeltaFIFO)(nil)
	_ TransformingStore = (*DeltaFIFO)(nil)
	_ DoneChecker       = (*DeltaFIFO)(nil)
)

// DeltaFIFOOptions configures a [DeltaFIFO]. The zero value works.
type DeltaFIFOOptions struct {
	// Logger is where errors of KnownObjects go. Nil: klog's.
	Logger *klog.Logger
	// Name is the queue's as a [DoneChecker]. "": "DeltaFIFO".
	Name string
	// KeyFunction makes the keys of objects. Nil: [MetaNamespaceKeyFunc].
	KeyFunction KeyFunc
	// KnownObjects is what the consumer has. Nil: Replace notices no deletions but of what is in the queue, Delete
	// ignores what is not in the queue, and Resync does nothing.
	KnownObjects KeyListerGetter
	// EmitDeltaTypeReplaced makes deltas from Replace distinguishable: Replaced instead of Sync.
	EmitDeltaTypeReplaced bool
	// Transformer is called on each object before it is put in the queue. Nil: none.
	Transformer TransformFunc
}

// NewDeltaFIFO is [NewDeltaFIFOWithOptions] with these two options.
//
// Deprecated: use NewDeltaFIFOWithOptions, with EmitDeltaTypeReplaced.
func NewDeltaFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter) *DeltaFIFO {
	return NewDeltaFIFOWithOptions(DeltaFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects})
}

// NewDeltaFIFOWithOptions returns an empty queue.
func NewDeltaFIFOWithOptions(opts DeltaFIFOOptions) *DeltaFIFO {
	f := &DeltaFIFO{
		name:         opts.Name,
		keyFunc:      opts.KeyFunction,
		known:        opts.KnownObjects,
		transform:    opts.Transformer,
		replacedType: Sync,
		initial:      newInitialList(),
	}
	if f.name == "" {
		f.name = "DeltaFIFO"
	}
	f.logger = queueLogger(opts.Logger, f.name)
	if f.keyFunc == nil {
		f.keyFunc = MetaNamespaceKeyFunc
	}
	if opts.EmitDeltaTypeReplaced {
		f.replacedType = Replaced
	}
	f.items.init()
	f.queue.init(f.items.len, ErrFIFOClosed)
	return f
}

func queueLogger(own *klog.Logger, name string) klog.Logger {
	if own == nil {
		return klog.LoggerWithName(klog.Background(), name)
	}
	return klog.LoggerWithName(*own, name)
}

// KeyOf is the key of an object, of Deltas (that of the newest one), or of a [DeletedFinalStateUnknown]. The error is
// a [KeyError].
func (f *DeltaFIFO) KeyOf(obj any) (string, error) { return f.keyFunc.keyInQueue(obj) }

// Transformer returns the option of that name.
func (f *DeltaFIFO) Transformer() TransformFunc { return f.transform }

// Add queues an Added.
func (f *DeltaFIFO) Add(obj any) error { return f.enqueue(Added, obj) }

// Update queues an Updated.
func (f *DeltaFIFO) Update(obj any) error { return f.enqueue(Updated, obj) }

func (f *DeltaFIFO) enqueue(what DeltaType, obj any) error {
	key, err := f.KeyOf(obj)
	if err != nil {
		return err
	}
	if obj, err = transformed(f.transform, key, obj); err != nil {
		return err
	}
	f.queue.mu.Lock()
	defer f.queue.mu.Unlock()
	f.initial.begin(0)
	f.appendLocked(key, Delta{what, obj})
	return nil
}

func (f *DeltaFIFO) appendLocked(key string, delta Delta) *keyedItem[Deltas] {
	item := f.items.getOrAppend(key)
	item.value = item.value.withDelta(delta)
	f.queue.changed.Broadcast()
	return item
}

// Delete queues a Deleted, of an object that is known or in the queue; of any other one it does nothing. If the last
// that happened to the object is a Deleted too, the one of the two is kept that knows more.
func (f *DeltaFIFO) Delete(obj any) error {
	key, err := f.KeyOf(obj)
	if err != nil {
		return err
	}
	if obj, err = transformed(f.transform, key, obj); err != nil {
		return err
	}
	f.queue.lockIdle()
	defer f.queue.mu.Unlock()
	f.initial.begin(0)
	if f.items.get(key) == nil && !f.knownLocked(key) {
		return nil
	}
	f.appendLocked(key, Delta{Deleted, obj})
	return nil
}

// knownLocked gives the benefit of the doubt when KnownObjects cannot tell.
func (f *DeltaFIFO) knownLocked(key string) bool {
	if f.known == nil {
		return false
	}
	_, exists, err := f.known.GetByKey(key)
	return exists || err != nil
}

// AddIfNotPresent puts popped Deltas back in line, unless something of their key has come since. Anything but Deltas
// is an error.
func (f *DeltaFIFO) AddIfNotPresent(obj any) error {
	deltas, ok := obj.(Deltas)
	if !ok {
		return fmt.Errorf("AddIfNotPresent takes Deltas, not %T", obj)
	}
	key, err := f.KeyOf(deltas)
	if err != nil {
		return err
	}
	f.queue.mu.Lock()
	defer f.queue.mu.Unlock()
	f.initial.begin(0)
	if f.items.get(key) == nil {
		f.items.getOrAppend(key).value = slices.Clone(deltas)
		f.queue.changed.Broadcast()
	}
	return nil
}

// Replace queues a Replaced (or Sync) for each object of list, and a Deleted with a [DeletedFinalStateUnknown] for each
// object that is known or in the queue and not in list. It does all of it or, if a key cannot be made or an object not
// be transformed, none.
func (f *DeltaFIFO) Replace(list []any, _ string) error {
	keys, err := keysOf(list, f.KeyOf)
	if err != nil {
		return err
	}
	if err := transformedList(f.transform, keys, list); err != nil {
		return err
	}
	listed := make(map[string]struct{}, len(keys))
	for _, key := range keys {
		listed[key] = struct{}{}
	}

	f.queue.lockIdle()
	defer f.queue.mu.Unlock()
	touched := make([]*keyedItem[Deltas], 0, len(list))
	for i, obj := range list {
		touched = append(touched, f.appendLocked(keys[i], Delta{f.replacedType, obj}))
	}
	for item := range f.items.all() {
		if _, ok := listed[item.key]; !ok {
			gone := tombstoneOf(item.key, item.value.Newest().Object)
			touched = append(touched, f.appendLocked(item.key, Delta{Deleted, gone}))
		}
	}
	for _, key := range f.knownKeysLocked() {
		if _, ok := listed[key]; ok || f.items.get(key) != nil {
			continue
		}
		obj, _ := f.knownObjectLocked(key)
		touched = append(touched, f.appendLocked(key, Delta{Deleted, tombstoneOf(key, obj)}))
	}
	f.beginLocked(touched)
	return nil
}

// beginLocked makes the items that a Replace touched the initial list, if it is the first.
func (f *DeltaFIFO) beginLocked(touched []*keyedItem[Deltas]) {
	if f.initial.begun {
		return
	}
	n := 0
	for _, item := range touched {
		if !item.awaited { // an object listed twice is one item
			item.initial, item.awaited = true, true
			n++
		}
	}
	f.initial.begin(n)
}

func (f *DeltaFIFO) knownKeysLocked() []string {
	if f.known == nil {
		return nil
	}
	return f.known.ListKeys()
}

// knownObjectLocked returns what the consumer has under a key it listed.
func (f *DeltaFIFO) knownObjectLocked(key string) (obj any, exists bool) {
	return lookUp(f.known, f.logger, key)
}

// lookUp finds the known object under a key that was listed just now. That there is none is logged: the content changed
// behind the queue's back, or cannot be read.
func lookUp(known KeyGetter, logger klog.Logger, key string) (obj any, exists bool) {
	obj, exists, err := known.GetByKey(key)
	if err != nil {
		logger.Error(err, "Reading a known object", "key", key)
		return nil, false
	}
	if !exists {
		logger.Info("A known object is gone without the queue having been told", "key", key)
	}
	return obj, exists
}

// Resync queues a Sync for each known object that has nothing in the queue.
func (f *DeltaFIFO) Resync() error {
	f.queue.lockIdle()
	defer f.queue.mu.Unlock()
	for _, key := range f.knownKeysLocked() {
		if f.items.get(key) != nil {
			continue
		}
		if obj, exists := f.knownObjectLocked(key); exists {
			f.appendLocked(key, Delta{Sync, obj})
		}
	}
	return nil
}

// Pop waits for an object to which something happened and gives all of that, as [Deltas], to process; see [Queue].
func (f *DeltaFIFO) Pop(process PopProcessFunc) (any, error) {
	var item *keyedItem[Deltas]
	var popped Deltas // not item.value: once put back, that may be appended to
	err := f.queue.consume(
		func() { item = f.items.takeFirst(); popped = item.value },
		func() error { return process(popped, item.initial) },
		func(requeue bool) {
			if item.awaited {
				item.awaited = false
				f.initial.settle(1)
			}
			if requeue && f.items.get(item.key) == nil {
				item.value = slices.Clip(popped) // appending must not write behind what was handed out
				f.items.append(item)
			}
		})
	if item == nil {
		return nil, err
	}
	return popped, err
}

// Get returns the [Deltas] in the queue under obj's key: a copy.
func (f *DeltaFIFO) Get(obj any) (item any, exists bool, err error) {
	key, err := f.KeyOf(obj)
	if err != nil {
		return nil, false, err
	}
	return f.GetByKey(key)
}

// GetByKey returns the [Deltas] in the queue under key: a copy. The error is always nil.
func (f *DeltaFIFO) GetByKey(key string) (item any, exists bool, err error) {
	f.queue.mu.RLock()
	defer f.queue.mu.RUnlock()
	if found := f.items.get(key); found != nil {
		return slices.Clone(found.value), true, nil
	}
	return nil, false, nil
}

// List returns the newest state of each object in the queue, in order. The slice is the caller's.
func (f *DeltaFIFO) List() []any {
	f.queue.mu.RLock()
	defer f.queue.mu.RUnlock()
	list := make([]any, 0, f.items.len())
	for item := range f.items.all() {
		list = append(list, item.value.Newest().Object)
	}
	return list
}

// ListKeys returns the keys of the objects in the queue, in order.
func (f *DeltaFIFO) ListKeys() []string {
	f.queue.mu.RLock()
	defer f.queue.mu.RUnlock()
	return f.items.keys()
}

// HasSynced reports whether the first list has been processed: all that the first Replace put in the queue has been
// popped, or something else came before any Replace.
func (f *DeltaFIFO) HasSynced() bool { return isSynced(f.initial.done) }

// HasSyncedChecker is done when HasSynced turns true.
func (f *DeltaFIFO) HasSyncedChecker() DoneChecker { return f }

// Name is the option of that name.
func (f *DeltaFIFO) Name() string { return f.name }

// Done closes when HasSynced turns true.
func (f *DeltaFIFO) Done() <-chan struct{} { return f.initial.done }

// Close makes Pop return [ErrFIFOClosed] when nothing waits. Adding is still possible.
func (f *DeltaFIFO) Close() { f.queue.close() }

// IsClosed reports whether Close was called.
func (f *DeltaFIFO) IsClosed() bool { return f.queue.isClosed() }
