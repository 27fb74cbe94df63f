// Package e2e tests informerkit against a real API server and a real etcd, which run in the test's own process (package
// cluster). It has no code of its own.
//
//	go test ./e2e/...                                              all of it; -short for a smaller one
//	go test ./e2e -run TestSoak -duration 5m [-seed N]             random faults under random changes; the report names the seed
//	go test ./e2e -run '^$' -bench ForcedRelist -benchtime 1x      memory of a relist of 20,000 objects, beside client-go's
//	go test ./e2e -run NAME -server-logs                           with the logs of the servers
//
// Here, and only here, tests wait in real time: the servers are real. No test asserts how long something takes.
package e2e
