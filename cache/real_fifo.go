package cache

import (
	"slices"
	"time"

	"k8s.io/klog/v2"
)

// batchLimit bounds what PopBatch gives out at once.
const batchLimit = 1000

// RealFIFO is a [Queue] that gives out each single thing that happened, in the order in which it happened, for all
// objects together. Pop gives out [Deltas] of one. Safe for concurrent use.
//
// It knows what the consumer has (KnownObjects), and then works out deletions and resyncs itself, object by object; or
// (AtomicEvents) it passes lists and resyncs on as one delta each, for a consumer that works that out.
//
// A process function may add to the queue; it must not call what waits until it has returned: Pop and, unless
// UnlockWhileProcessing, Replace and Resync. KnownObjects is called with the queue's lock held and must not call back.
type RealFIFO struct {
	name      string
	logger    klog.Logger
	keyFunc   KeyFunc
	known     KeyListerGetter // nil if and only if events are atomic
	transform TransformFunc   // nil: none
	unlocked  bool            // Replace and Resync do not wait for what is being processed
	bookmarks bool
	metrics   queueMetrics

	queue   blockingQueue // its lock guards what follows
	items   []realItem
	initial initialList
}

var (
	_ QueueWithBatch    = (*RealFIFO)(nil)
	_ TransformingStore = (*RealFIFO)(nil)
	_ DoneChecker       = (*RealFIFO)(nil)
)

// realItem is one delta in line.
type realItem struct {
	Delta
	key string // "" if about no single object
	// initial: it came with the first Replace; awaited: and HasSynced still waits for it.
	initial, awaited bool
}

// single reports whether the delta is about one object.
func (item *realItem) single() bool {
	switch item.Type {
	case ReplacedAll, SyncAll, Bookmark:
		return false
	}
	return true
}

// RealFIFOOptions configures a [RealFIFO]. Exactly one of KnownObjects and AtomicEvents has to be set.
type RealFIFOOptions struct {
	// Logger is where errors of KnownObjects go. Nil: klog's.
	Logger *klog.Logger
	// Name is the queue's as a [DoneChecker], if Identifier has none. "": "RealFIFO".
	Name string
	// KeyFunction makes the keys of objects. Nil: [MetaNamespaceKeyFunc].
	KeyFunction KeyFunc
	// KnownObjects is what the consumer has.
	KnownObjects KeyListerGetter
	// Transformer is called on each object before it is put in the queue. Nil: none.
	Transformer TransformFunc
	// AtomicEvents makes of each Replace one ReplacedAll, and of each Resync one SyncAll.
	AtomicEvents bool
	// UnlockWhileProcessing lets Replace and Resync not wait for what is being processed. Needs AtomicEvents.
	UnlockWhileProcessing bool
	// Identifier is under what metrics are published. Zero: none are.
	Identifier InformerNameAndResource
	// MetricsProvider makes the metrics. Nil: that of [SetInformerMetricsProvider].
	MetricsProvider InformerMetricsProvider
	// EmitDeltaTypeBookmark makes of each Bookmark a delta. Needs AtomicEvents. Otherwise bookmarks are dropped.
	EmitDeltaTypeBookmark bool
}

// NewRealFIFO is [NewRealFIFOWithOptions] with these three options.
//
// Deprecated: use NewRealFIFOWithOptions.
func NewRealFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter, transformer TransformFunc) *RealFIFO {
	return NewRealFIFOWithOptions(RealFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects, Transformer: transformer})
}

// NewRealFIFOWithOptions returns an empty queue. It panics on options that contradict each other.
func NewRealFIFOWithOptions(opts RealFIFOOptions) *RealFIFO {
	switch {
	case opts.AtomicEvents && opts.KnownObjects != nil:
		panic("RealFIFOOptions: KnownObjects is of no use with AtomicEvents")
	case !opts.AtomicEvents && opts.KnownObjects == nil:
		panic("RealFIFOOptions: KnownObjects is needed without AtomicEvents")
	case !opts.AtomicEvents && opts.UnlockWhileProcessing:
		panic("RealFIFOOptions: UnlockWhileProcessing needs AtomicEvents")
	case !opts.AtomicEvents && opts.EmitDeltaTypeBookmark:
		panic("RealFIFOOptions: EmitDeltaTypeBookmark needs AtomicEvents")
	}
	f := &RealFIFO{
		name:      opts.Identifier.Name(),
		keyFunc:   opts.KeyFunction,
		known:     opts.KnownObjects,
		transform: opts.Transformer,
		unlocked:  opts.UnlockWhileProcessing,
		bookmarks: opts.EmitDeltaTypeBookmark,
		metrics:   newQueueMetrics(opts.Identifier, opts.MetricsProvider),
		initial:   newInitialList(),
	}
	if f.name == "" {
		f.name = opts.Name
	}
	if f.name == "" {
		f.name = "RealFIFO"
	}
	f.logger = queueLogger(opts.Logger, f.name)
	if f.keyFunc == nil {
		f.keyFunc = MetaNamespaceKeyFunc
	}
	f.queue.init(func() int { return len(f.items) }, ErrFIFOClosed)
	return f
}

// Transformer returns the option of that name.
func (f *RealFIFO) Transformer() TransformFunc { return f.transform }

// Add queues an Added.
func (f *RealFIFO) Add(obj any) error { return f.enqueue(Added, obj) }

// Update queues an Updated.
func (f *RealFIFO) Update(obj any) error { return f.enqueue(Updated, obj) }

// Delete queues a Deleted, whatever is known of the object.
func (f *RealFIFO) Delete(obj any) error { return f.enqueue(Deleted, obj) }

func (f *RealFIFO) enqueue(what DeltaType, obj any) error {
	key, err := f.keyFunc.keyInQueue(obj)
	if err != nil {
		return err
	}
	if obj, err = transformed(f.transform, key, obj); err != nil {
		return err
	}
	f.queue.mu.Lock()
	defer f.queue.mu.Unlock()
	f.initial.begin(0)
	f.appendLocked(realItem{Delta: Delta{what, obj}, key: key})
	return nil
}

func (f *RealFIFO) appendLocked(items ...realItem) {
	f.items = append(f.items, items...)
	f.metrics.queued.set(float64(len(f.items)))
	f.queue.changed.Broadcast()
}

// lockSettled locks the queue for one who has to know what the consumer has.
func (f *RealFIFO) lockSettled() {
	if f.unlocked {
		f.queue.mu.Lock()
		return
	}
	f.queue.lockIdle()
}

// Replace queues one ReplacedAll if events are atomic; otherwise, a Deleted with a [DeletedFinalStateUnknown] for each
// object that is known or in the queue (and not deleted there) and not in newItems, and then a Replaced for each object
// of newItems. If a key cannot be made or an object not be transformed, it does nothing.
func (f *RealFIFO) Replace(newItems []any, resourceVersion string) error {
	keys, err := keysOf(newItems, f.keyFunc.keyInQueue)
	if err != nil {
		return err
	}
	if err := transformedList(f.transform, keys, newItems); err != nil {
		return err
	}
	f.lockSettled()
	defer f.queue.mu.Unlock()
	var items []realItem
	if f.known == nil {
		all := ReplacedAllInfo{ResourceVersion: resourceVersion, Objects: newItems}
		items = []realItem{{Delta: Delta{ReplacedAll, all}}}
	} else {
		items = f.goneLocked(keys)
		items = slices.Grow(items, len(newItems))
		for i, obj := range newItems {
			items = append(items, realItem{Delta: Delta{Replaced, obj}, key: keys[i]})
		}
	}
	if f.initial.begin(len(items)) {
		for i := range items {
			items[i].initial, items[i].awaited = true, true
		}
	}
	f.appendLocked(items...)
	return nil
}

// goneLocked makes a Deleted for all that is in the queue, or else known, and not listed.
func (f *RealFIFO) goneLocked(listed []string) []realItem {
	seen := make(map[string]struct{}, len(listed))
	for _, key := range listed {
		seen[key] = struct{}{}
	}
	var gone []realItem
	for _, item := range slices.Backward(f.items) { // what happened last to a key is what counts
		if _, ok := seen[item.key]; ok {
			continue
		}
		seen[item.key] = struct{}{}
		if item.Type != Deleted {
			gone = append(gone, realItem{Delta: Delta{Deleted, tombstoneOf(item.key, item.Object)}, key: item.key})
		}
	}
	slices.Reverse(gone)
	for _, key := range f.known.ListKeys() {
		if _, ok := seen[key]; ok {
			continue
		}
		obj, _ := lookUp(f.known, f.logger, key)
		gone = append(gone, realItem{Delta: Delta{Deleted, tombstoneOf(key, obj)}, key: key})
	}
	return gone
}

// Resync queues one SyncAll if events are atomic; otherwise, a Sync for each known object that has nothing in the queue.
func (f *RealFIFO) Resync() error {
	f.lockSettled()
	defer f.queue.mu.Unlock()
	if f.known == nil {
		f.appendLocked(realItem{Delta: Delta{SyncAll, SyncAllInfo{}}})
		return nil
	}
	queued := make(map[string]struct{}, len(f.items))
	for i := range f.items {
		queued[f.items[i].key] = struct{}{}
	}
	for _, key := range f.known.ListKeys() {
		if _, ok := queued[key]; ok {
			continue
		}
		if obj, exists := lookUp(f.known, f.logger, key); exists {
			f.appendLocked(realItem{Delta: Delta{Sync, obj}, key: key})
		}
	}
	return nil
}

// Bookmark queues a Bookmark, if the options say so.
func (f *RealFIFO) Bookmark(resourceVersion string) error {
	if !f.bookmarks {
		return nil
	}
	f.queue.mu.Lock()
	defer f.queue.mu.Unlock()
	f.appendLocked(realItem{Delta: Delta{Bookmark, BookmarkInfo{ResourceVersion: resourceVersion}}})
	return nil
}

// Pop waits for a delta and gives it to process, as [Deltas] of one; see [Queue]. What process puts back
// ([ErrRequeue]) goes to the end, unless something newer about the same object, or a whole list, is in line; what is
// about no single object goes back to the front.
func (f *RealFIFO) Pop(process PopProcessFunc) (any, error) {
	var popped Deltas
	err := f.pop(1, func(items []realItem) error {
		popped = Deltas{items[0].Delta}
		return process(popped, items[0].initial)
	})
	if popped == nil {
		return nil, err
	}
	return popped, err
}

// PopBatch is Pop for as many deltas as there are, up to 1000, all about different objects and all of the initial list
// or none. A single one goes to processSingle as [Deltas].
func (f *RealFIFO) PopBatch(processBatch ProcessBatchFunc, processSingle PopProcessFunc) error {
	return f.pop(batchLimit, func(items []realItem) error {
		if len(items) == 1 {
			return processSingle(Deltas{items[0].Delta}, items[0].initial)
		}
		batch := make([]Delta, len(items))
		for i := range items {
			batch[i] = items[i].Delta
		}
		return processBatch(batch, items[0].initial)
	})
}

func (f *RealFIFO) pop(limit int, process func([]realItem) error) error {
	var taken []realItem
	var start time.Time
	return f.queue.consume(
		func() {
			taken = f.takeLocked(batchLen(f.items, limit))
			f.metrics.queued.set(float64(len(f.items)))
			start = f.metrics.start()
		},
		func() error { return process(taken) },
		func(requeue bool) {
			f.metrics.processed(start)
			for i := range taken {
				if taken[i].awaited {
					taken[i].awaited = false
					f.initial.settle(1)
				}
			}
			if requeue {
				f.items = requeued(f.items, taken)
				f.metrics.queued.set(float64(len(f.items)))
			}
		})
}

// takeLocked takes n items out of line.
func (f *RealFIFO) takeLocked(n int) []realItem {
	taken := slices.Clone(f.items[:n])
	clear(f.items[:n]) // or the array would keep the objects
	if n == len(f.items) && cap(f.items) <= batchLimit {
		f.items = f.items[:0] // a queue that is kept empty needs no new array each time
	} else {
		f.items = f.items[n:]
	}
	return taken
}

// batchLen is how many of items, at least one, can be processed together.
func batchLen(items []realItem, limit int) int {
	if limit == 1 || !items[0].single() {
		return 1
	}
	keys := make(map[string]struct{}, min(limit, len(items)))
	for i := range items {
		if i == limit || !items[i].single() || items[i].initial != items[0].initial {
			return i
		}
		if _, ok := keys[items[i].key]; ok {
			return i
		}
		keys[items[i].key] = struct{}{}
	}
	return len(items)
}

// requeued puts back into line what was taken from its front, as [RealFIFO.Pop] says.
func requeued(line, taken []realItem) []realItem {
	if !taken[0].single() {
		return append(slices.Clone(taken), line...)
	}
	newer := make(map[string]struct{}, len(line))
	for i := range line {
		if line[i].Type == ReplacedAll {
			return line
		}
		newer[line[i].key] = struct{}{}
	}
	for _, item := range taken {
		if _, ok := newer[item.key]; !ok {
			line = append(line, item)
		}
	}
	return line
}

// HasSynced reports whether the first list has been processed: all that the first Replace put in the queue has been
// popped, or an Add, Update or Delete came before it.
func (f *RealFIFO) HasSynced() bool { return isSynced(f.initial.done) }

// HasSyncedChecker is done when HasSynced turns true.
func (f *RealFIFO) HasSyncedChecker() DoneChecker { return f }

// Name is the Identifier's, or the option of that name.
func (f *RealFIFO) Name() string { return f.name }

// Done closes when HasSynced turns true.
func (f *RealFIFO) Done() <-chan struct{} { return f.initial.done }

// Close makes Pop return [ErrFIFOClosed] when nothing waits. Adding is still possible.
func (f *RealFIFO) Close() { f.queue.close() }

// IsClosed reports whether Close was called.
func (f *RealFIFO) IsClosed() bool { return f.queue.isClosed() }
