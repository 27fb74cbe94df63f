// Package feed is one log of changes that many read, each at its own pace.
//
// The writer appends; a [Cursor] reads. The log is a linked list of fixed segments: what no cursor can reach any more is
// garbage, so nothing is trimmed, and a change is held once however many cursors lag behind it. A cursor's [Policy] says
// what a reader that lags pays for: every change, or the latest state per key.
package feed
