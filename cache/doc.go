// Package cache has the API of client-go's k8s.io/client-go/tools/cache on the machinery of this module: stores,
// indexers and listers, queues, reflectors, controllers and shared informers. It is for code that is written against
// that API. New code is better off with package informer, which is typed.
//
// # How to swap
//
// Change the import path:
//
//	"k8s.io/client-go/tools/cache"  ->  "github.com/informerkit/informerkit/cache"
//
// All of client-go v0.37.2's exported names are here with their signatures; `make api` compares both packages with
// go/types and fails on any difference that is not on a short list with reasons (internal/apicheck/differences.txt).
// Names that client-go had once are here too: [ErrRequeue], [Pop], [Index], Config.RetryOnError, and AddIfNotPresent, Get,
// GetByKey, List and ListKeys of [FIFO] and [DeltaFIFO].
//
// The types are not client-go's, so what client-go itself makes (its generated factories, a dynamic informer) still gives
// out its own; package clientgo plugs ours in there. A [Store], a [ListerWatcher] or a [ResourceEventHandler] is one on
// both sides, as all their methods are of types that both sides share.
//
// # What is better
//
//   - Reads wait for no write, and writes for no read: a query is answered from a snapshot, however long it takes, and
//     a Replace shows at once and as a whole. Get takes no lock.
//   - A transaction ([TransactionStore]) is one step to readers.
//   - An index function that fails, or panics, costs one object its place in that index, until it is written again. It
//     doesn't end the process.
//   - Nothing is half-applied: where one key of a list cannot be made, or one object not be transformed, stores and
//     queues are as they were.
//   - Process functions run with no lock held, one at a time, and may add to the queue they are called from; a slow one
//     holds up no producer that adds. HasSynced of a queue turns true when the last item of the first list has been
//     processed, not when its processing begins.
//   - Waiting for a sync polls nothing of this package.
//   - [ExpirationCache] reads what has not expired without a lock.
//   - [MutationCache] knows a deletion from an object that is yet to come, answers ByIndex by the values of the newer
//     state, and never loses a write silently to its size bound. It goes by the rules of package informer's Overlay.
//   - Listers are right without the namespace index, and quiet about it; a nil selector is an empty one.
//   - Shared informers keep no queue between the reflector and the store, keep unchanged objects through a relist, keep
//     what slow handlers lag behind once for all of them, and end with every goroutine they started.
//   - A relist tells a handler nothing of what it finds unchanged (same UID, same resource version), where client-go
//     tells an update for every object. It is taken in page by page.
//   - An object that is older than the stored one does not replace it. One that a transform refuses, or that is of
//     another type than expected, is left out and reported; the rest stays current, and it is taken in when it changes.
//   - [ShutDownEventHandler] may be called from inside the handler, and no call begins once RemoveEventHandler returned.
//   - A [WaitFor] that ends too early logs what is not synced and why: the last list or watch error.
//   - A failure that stays the same is logged at growing intervals.
//   - [FilteringResourceEventHandler] asks its filter about the object in a tombstone.
//   - A store's error in a [Reflector] leads to another list, with back-off; it is not only logged.
//   - Calls of a [ListerWatcher] that knows no context end with one all the same.
//
// # What differs, and why
//
//   - A handler that has been told nothing of an object is not told of its deletion either: with [NewInformer] too.
//   - A stopped informer drops what its handlers have not been told, and Run returns when the calls under way have.
//   - Errors are logged with klog, not handed to apimachinery's HandleError: that makes the caller wait, and whoever
//     reports here is often the one goroutine that follows the server. Panics of handlers and process functions go to
//     its HandleCrash, as they did, and so end the process unless ReallyCrash is false.
//   - A watch that ends with an error of the server is tried again a few times, with back-off, before the next list, also
//     without Reflector.MaxInternalErrorRetryDuration.
//   - A reflector's or controller's default name is the folder, file and line of who made it.
//   - [DeltaFIFO] and [RealFIFO] run the process function without their lock; what has to know the outcome (Replace,
//     Resync, DeltaFIFO's Delete) waits for it. Inside a process function these, and Pop, wait for ever, as they did;
//     Add and Update do not.
//   - A [FIFO] forgets the place of what is deleted: added again, it is last in line. If a second Replace comes before the
//     first list has been processed, it becomes the list that HasSynced waits for; with client-go, that never turns true
//     or does too early.
//   - isInInitialList is said of the items of the first Replace, and not of what was queued before by a Resync.
//   - [ErrRequeue] works in all queues. In a [RealFIFO], where a key may wait several times, an item goes to the end of
//     the line unless something newer of its key is in it.
//   - LastStoreSyncResourceVersion stays when an object has no resource version, instead of turning empty.
//   - Store.Transaction transforms objects as Add does, and reports types of transaction that do not exist.
//   - [NewThreadSafeStore] does not use its indices: the indexes are the store's own.
//   - [NewCacheMutationDetector] reads its environment variable when it is called, not when the process starts. A detector
//     looks a last time when it is stopped.
//   - A read of a [MutationCache] may be an [ErrMutationEvicted]: the newest state was written here, is lost to the size
//     bound, and the store does not have it yet.
//   - A typed index function ([TypedIndexFunc]) fails on an object of another type instead of panicking.
//
// # Concurrency and ownership
//
// Everything is safe for concurrent use unless it says otherwise. Objects are everybody's: who gets one from a store, a
// lister or a handler must not change it (KUBE_CACHE_MUTATION_DETECTOR=true finds who does). Slices and maps that are
// returned are the caller's. A list given to Replace is the callee's.
//
// Key functions, transforms and index functions must depend on their argument only, and may be called concurrently.
package cache
