// Package store holds objects of one type under string keys, in many versions at once.
//
// Reading and writing are separate handles: [New] returns a [Store], which cannot change anything, and a [Writer].
// A transaction ([Writer.Commit] of a [Batch], or a [Replacement]) becomes one version. A [Snapshot] is one version,
// objects and indexes together: taking one costs O(1), it never changes, and it holds up nobody.
package store
