// Package workload makes a small cluster in which something is always going on, on an in-memory API server.
//
// A [Workload] has Nodes, Deployments, and Pods that come, are scheduled, run, and go as the Deployments are scaled and rolled
// out. It makes one write per [Workload.Step]; the same seed makes the same writes. The number of objects is bounded.
package workload
