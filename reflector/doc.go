// Package reflector keeps a sink in step with a source: first sync, watch, relist, back-off.
//
// What to do next is decided by a pure machine in protocol.go; its golden traces are the specification. The driver in
// driver.go does the I/O and the waiting.
package reflector
