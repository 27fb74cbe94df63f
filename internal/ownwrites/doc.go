// Package ownwrites lays a caller's own writes over a store that lags behind the server. It has the rules, once for all
// overlays: which of a write and a stored state is newer, what a deletion hides, when a write has been seen and is dropped,
// under which index values it is found, and what happens when there are too many.
//
// A [Write] stands alone: [Write.Against] tells how it compares with what a store has. A [Table] holds the writes that a
// store has not seen, one for each key. Both are plain data: they know no lock, no goroutine and no clock, call nobody but
// index functions, and are told what the store has, which resource version it has reached, and what time it is. The driver
// that owns them adds the rest.
//
// Resource versions are compared as the API concepts page of Kubernetes says, across all objects of a collection.
package ownwrites
