// Package bench measures this module beside client-go and other stores: the same workloads on the same objects in the same
// run of one program.
//
//	go run ./bench/cmd/bench            # everything; writes bench/RESULTS.md
//	go run ./bench/cmd/bench -short     # does everything once, small; writes nothing
//	go test -bench Get ./bench          # one group, with Go's own tools
//
// # What is compared
//
// A contender is a way to hold objects or to follow a server: informer and store of this module ("typed"), its package
// cache ("cache"), client-go's tools/cache ("client-go"), controller-runtime's cache reader on top of client-go
// ("controller-runtime", with the deep copies it makes unless told not to, and "controller-runtime-nocopy"), cilium/statedb and
// hashicorp/go-memdb. A workload is one thing that is done with them; a contender that has no notion of it is left out.
//
// # What is done to be fair
//
//   - All hold the same pods, decoded once from protobuf as a client would have done, under the indexes "namespace" and
//     "node". They were listed in the order of their keys, as a server lists them, and then a quarter of them was deleted and
//     added again in random order, so that nobody profits from a fresh layout.
//   - Contenders take turns (A B C, B C A, ...), each round from a garbage-collected heap. A ratio is one of two
//     medians' neighbours: it is made within a round, and the median over rounds is reported, with the smallest and the largest.
//   - Who is given an object makes its key; who is given a key need not. Keys of the typed store are made anew for each put.
//   - What is written one by one, or in a batch, was received a moment ago, as it is when it comes from a server: what a store reads of
//     it (names, versions, values to index) is in the processor's cache; what the store holds is where it is.
//   - Keys that are asked for were made a moment ago, too: they lie in memory in the order in which they are asked for.
//   - Whole informers have one source: a list, and a watch whose channel buffers, so that not the hand-over from the
//     source is measured. It is the same type for all, but for relists, where the typed informer gets items that are decoded on
//     demand, as package listwatch has them from a REST client, and the others get lists, as they have them from one.
//   - Collecting garbage is part of a workload as far as it happens within it.
//
// Times are this machine's. Ratios travel better. What they depend on most is how long a read from memory takes, which is measured
// and said with the machine. Of a target that was missed the results show where the time went: a profile of some more turns.
package bench
