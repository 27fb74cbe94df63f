// Command conformance runs the tests of those who depend on client-go's tools/cache twice: on client-go's own, and on ours.
//
// Usage, from anywhere in the repository:
//
//	go run ./conformance [flags]
//
// It copies the client-go module out of the module cache to a folder of its own (-cache), replaces the files of its tools/cache by
// aliases of this repository's cache package (generated from the package's compiled types; its subpackages testing and
// synctrack stay client-go's), and has a scratch module use the copy. The scratch module's test runs of other people's
// packages then run on our code, and not a line of theirs is changed.
//
// A test that passes on client-go's cache and does not on ours is run again (-confirm times). If it fails again on ours, and passes each
// time on client-go's, it is lost, and the command exits with 1; if not, it is listed as flaky. When many are lost at once, the
// suite is run again as a whole instead. What the command can't do at all (no module, no build of ours) is exit code 2.
//
// Results on client-go's cache are kept (-cache) and used again as long as Go, the versions and the suite are the same; -fresh runs
// them anew.
//
// Ginkgo suites are compared spec by spec, others test by test, including subtests.
//
// The suites of controller-runtime mostly need a kube-apiserver and an etcd. With -envtest both are built from their Go modules,
// which takes some minutes the first time; without, only the suites that start without them are run.
package main
