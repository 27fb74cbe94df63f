// Package store holds objects of one type under string keys, in many versions at once, with indexes.
//
// # Guarantees
//
// Reading and writing are separate handles: [New] returns a [Store], which cannot change anything, and a [Writer].
// A transaction ([Writer.Commit] of a [Batch], or a [Replacement]) becomes one version.
//
//   - A [Snapshot] is one version: objects, indexes and orders together. It never changes, taking one costs O(1), and it
//     holds up neither the writer nor other readers however long it is held.
//   - [Store.Get] reads the newest version without a lock. A commit becomes visible to it at once and whole, a
//     [Replacement] of everything too; what one Get has seen, later Gets and snapshots do not take back.
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
// Objects lie in pages of 16, pages in chunks, chunks in a directory; the place of an object is its slot. A page never
// changes once a reader can reach it: the writer puts a changed copy in its place. A lock-free hash table says in which
// slots a key may be; the page decides. An index maps a value to a set of slots, and keeps its values in pages as well.
//
// A snapshot is a copy of a few pointers. What a version is made of carries the number of the time it was made in;
// taking a snapshot starts a new time, and the writer copies what is older before it changes it. With nobody taking
// snapshots an update copies one page; with a snapshot before each update, a page, a chunk and a directory.
package store
