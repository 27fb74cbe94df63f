// Package feed is one log of changes that many read, each at its own pace.
//
// [New] gives a [Log] to read from and the [Appender] to write to it. A [Cursor] is one reader's place. The log is a linked
// list of fixed segments: what no cursor can reach any more is garbage, so nothing is trimmed, and a change is held once
// however many cursors lag behind it. A cursor's [Policy] says what a reader that lags is given, and so what its lag costs.
//
// # Guarantees
//
//   - Order: every cursor sees the changes in the order in which they were appended, and the changes of one Append all at
//     once. Under [LatestState] this holds key by key.
//   - Completeness: applying what a cursor hands over, to the state as it was when the cursor was made, gives the state at
//     [Cursor.Position]; for that, keys that wait count as not yet changed. Nothing is dropped.
//   - Isolation: appending never waits for a reader, and no reader waits for another. Appending one change costs the same
//     whether nobody lags or all do, apart from waking those who wait and a bounded share in merging (below).
//   - Bounds: a lag under [EveryChange] costs the changes it consists of, once for all cursors. A lag under LatestState costs
//     two states per key and, for the last Append and some hundred changes before it, those changes; more for moments
//     only, when changes arrive faster than the machine can merge them.
//   - No rests: once every cursor has read everything, the log holds no change at all; nor does it while there is no
//     cursor. A cursor that was closed keeps nothing alive.
//   - Wake-ups: a reader in the loop shown at Cursor misses none and never spins.
//
// In plain words: a handler that hangs for an hour costs nobody else anything, and with LatestState it costs next to no
// memory; when it comes back, it is told what changed in the meantime, once per key.
//
// # Concurrency
//
// Log and Appender are safe for concurrent use; each Cursor is for one reading goroutine, while anybody may ask it for its
// backlog or close it. Readers take no lock of the log's: a change is published by one atomic store of the log's end.
//
// The package starts goroutines in two cases, neither of which waits for anything. When a LatestState cursor stays some
// hundred changes behind, one merges for it until it is at the end of the log; [Cursor.Close] waits for that. And when there
// are many cursors, waking their readers is left to one.
//
// # What the caller must do
//
// Close cursors. Append only changes that can follow one another: feed compares no states, and merges by [Change.Kind]
// alone. Not change what was appended: all readers share it. Not keep the dst of [Cursor.Next] filled for longer than needed,
// since it keeps alive what is in it.
//
// # Testing
//
// Everything works in testing/synctest bubbles: waiting is waiting on a channel, and ages follow the bubble's clock.
package feed
