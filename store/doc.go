// Package store holds objects of one type under string keys, in many versions at once, with indexes.
//
// # Guarantees
//
// Reading and writing are separate handles: [New] returns a [Store], which cannot change anything, and a [Writer].
// A transaction ([Writer.Commit] of a [Batch], or a [Replacement]) becomes one version.
//
//   - A [Snapshot] is one version: objects, indexes and orders together. It never changes, taking one costs O(1), and it
//     holds up neither the writer nor other readers however long it is held.
//   - [Store.Get] reads the newest version without a lock. What one Get has seen, later Gets and snapshots do not take
//     back. Gets see a [Replacement] whole or not at all; while a commit of several changes is written, which takes
//     microseconds, they may see some of them before others (a Snapshot does not).
//   - What a commit did can be read, by Get and in a Snapshot, when the commit returns.
//   - An index equals one rebuilt from the objects, in every version. An object whose index function fails is stored, is in the
//     other indexes, and is listed by [Store.Failures] until a good version of it comes.
//   - The store keeps no object alive that is neither in the newest version nor in a snapshot somebody holds.
//
// In plain words: readers never wait for the writer and writers never wait for readers; who wants to look at more than one
// object takes a snapshot.
//
// # What the caller does
//
// Objects are shared, not copied: do not modify one after it was put. Functions given to the store (Same, index functions)
// are pure, do not block and do not call the writer; they may read the store.
//
// # How it works
//
// Objects lie in pages of 16, pages in chunks of 64, chunks in a list; the place of an object is its slot. A lock-free hash
// table hints in which slots a key may be; the page decides. An index maps a value to a set of slots (a sorted list, or
// blocks of 4,096 bits), and keeps its values in pages as well.
//
// An object takes one word in its page. A pointer is that word; of an interface type it is the data, for as long as all objects
// are of one dynamic type; anything else is a pointer to a copy.
//
// A snapshot is a copy of a few pointers. What a version is made of carries a stamp; taking a snapshot begins a new one,
// and the writer copies what carries an older stamp before it changes it. So with nobody taking snapshots an update is
// one atomic write; with a snapshot before each update, it copies a page, a chunk and the list: some 2 KB at 100,000
// objects. A replacement changes only copies, of what differs, and is published by one pointer.
//
// The store's own memory is about 40 bytes per object, and 10 for each index with one value per object
// (BenchmarkMemory).
package store
