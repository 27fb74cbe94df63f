// Package cluster runs a real Kubernetes API server and a real etcd inside a test's own process, and breaks them on
// request.
//
// [Start] brings up etcd, the API server for custom resources (apiextensions-apiserver) and a [Gate] in front of it: a TLS
// reverse proxy with an address that outlives every restart behind it. Clients talk to the gate, as they would to a load
// balancer. All three listen on 127.0.0.1 only, on ports the system chose, and end with the test ([New] and [Cluster.Stop] are for
// clusters that several tests share).
//
// What can go wrong on request:
//
//   - [Gate.CutWatches] resets every open watch; [Gate.Hold] refuses lists and new watches meanwhile;
//   - [Gate.Expire] answers the next watches as a server does whose history has gone (410);
//   - [Gate.Authenticate] demands a bearer token and answers 401 without it;
//   - [Cluster.Compact] drops etcd's history; [Cluster.RestartServer] empties the API server's watch cache, too, so that
//     both together make every older resource version answer 410;
//   - [Cluster.RestartEtcd], [Cluster.StopServer], [Cluster.StartServer].
//
// [Gate.Requests] tells what clients asked for, so that a test can check that a list was really streamed, or paged.
//
// The API server's and etcd's logs are off unless [Options.Logs] is set. klog is process-wide, so klog of everything else in
// the process goes the same way.
package cluster
