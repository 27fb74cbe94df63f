// Package informer keeps a live, indexed, typed local copy of one Kubernetes collection and tells handlers what changed.
//
// An [Informer] is a source, a reflector that follows it, a store that holds the objects and a feed that tells of
// changes. One goroutine, Run's, takes what the server says, commits it to the store and appends it to the feed;
// each handler reads the feed in a goroutine of its own. There is no queue in between.
//
// A [Group] holds many informers, counted and shared; [FollowAll] has one for every resource of a server; an [Overlay] shows own
// writes before the watch brings them back; a [Lister] reads by name, namespace and label selector. An informer may hold a
// part of its collection, one of several replicas' ([Options].Shard), and move to another ([Informer.Reshard]);
// [Informer.Verify] reads the server once more and tells how the copy differs.
//
// # Guarantees
//
//   - For one object, the store and every handler see states in the server's order. A late, older state is ignored.
//   - Every read ([Informer.Get], [Informer.Snapshot], an index) is answered from one committed version, and a read made
//     by a handler sees at least the state the handler was called for.
//   - A relist shows at once or not at all. An object whose UID and resource version did not change keeps its pointer and
//     causes no event.
//   - A handler's calls follow one another; a slow one delays nobody else, and what it lags costs what its [Delivery] says.
//   - A deletion is a [Deletion]: its key, the last state known, whether that was the final one, and whether the object only
//     moved to another shard. An object that was deleted and made again under the same name is a Deleted and an Added.
//   - Nothing is dropped silently: what can't be decoded, transformed, keyed or indexed is listed in [Status] with its reason
//     until it changes to something that can.
//   - Synced is three questions: [Informer.Synced] (the store is filled), [Registration.Synced] (this handler was given
//     everything of the first list) and, for several informers, a group's. Waiting returns an error that says who is not ready and why.
//   - [Informer.Run] returns when every goroutine it started has ended, and may be called again: what the informer holds
//     stays readable, and the next list is compared with it.
//
// # Concurrency
//
// All methods are safe for concurrent use, before, during and after Run, and from inside handlers.
//
// # What the caller must do
//
// Objects are shared by everyone who reads them: change a deep copy, never the object. A handler that blocks for ever
// makes Run wait for it (see [Options.ShutdownTimeout]).
package informer
