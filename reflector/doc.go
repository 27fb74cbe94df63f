// Package reflector keeps a [Sink] in step with a listwatch.Source: first sync, watch, relist, back-off.
//
// # Guarantees
//
// The sink sees a prefix of what the server says happened: a complete list, committed at once, then every event after it
// in the server's order, each once. If the stream can't be followed without a gap, another complete list is committed; in
// between the sink keeps what it has. A list that fails, is cut short or comes from the past is never committed.
//
// The resource version seen moves only when the sink took the events in, and moves back only with a list that says so
// ([ListInfo].Reset): a consistent read that is older than what was seen, as after a restore from a backup. Resource
// versions that are not numbers are never taken for older.
//
// In plain words: what is in the sink was true, all of it at once, at the resource version it was told; it gets newer;
// and if it can't, [Reflector.Status] says why, and Options.OnError is told.
//
// # What it asks of a server
//
// A streaming list where the server does them (Options.Streaming), else a list: from the server's cache at first, later
// not older than what was seen, and a consistent read once that can't be had (410 Gone, or a resource version the server
// has not got to). Then watches, each from the last resource version seen, with bookmarks, for a random time. A watch that
// ends, breaks or falls silent is opened again from there; a list follows only if the server has forgotten that far back,
// the sink refused, or three watches in a row brought nothing. Before every list, and after every failure, there is a wait
// that grows ([Backoff]), and that a server's Retry-After can lengthen. The lists of a process share a [Limiter].
//
// The rules come from https://kubernetes.io/docs/reference/using-api/api-concepts/ and, where that leaves it open, from
// what client-go does.
//
// # Concurrency
//
// One goroutine, in [Reflector.Run], calls source and sink; another one, of a few lines, ends requests that take too long.
// Both are gone when Run returns. Every wait ends with Run's context; a source that ignores its context is waited for.
//
// # Structure and tests
//
// What to do next is decided by a pure machine (protocol.go and its parts); the files in testdata are its specification, a
// scenario each, written anew with "go test -run TestTraces -update". A driver (driver.go) does the I/O and the waiting.
// The machine is fuzzed against the promises above, and the whole runs against a server of random faults (world_test.go).
package reflector
