// Package apitest is an in-memory Kubernetes API server with faults, for tests of code that lists and watches.
//
// A [Server] keeps objects with the rules a real API server has for them: one resource version counter, conflicts,
// finalizers, selectors, paged and streaming lists, watches with bookmarks and a bounded history. It can be used in two
// ways, at the same time and on the same objects:
//
//   - in the same process: [Source] and [Server.ListerWatcher] list and watch, and [Create], [Update], [Delete], [Get] and
//     [List] prepare and inspect state. Nothing runs in the background, except a goroutine for each open watch of a
//     ListerWatcher, and all waiting is on channels and timers, so this works inside a testing/synctest bubble;
//   - over HTTP: [Server.Start] serves 127.0.0.1 and [Server.Config] gives the rest.Config for it. Typed clients (JSON and
//     protobuf), dynamic and metadata clients, discovery and REST mappers, and kubectl's usual verbs work.
//
// # Faults
//
// Real servers fail in ways that are hard to bring about. Here each is a call. [Server.Inject] changes how coming requests
// are answered (errors, hanging, missing bookmarks, undecodable objects, ...); methods of Server do things to what is open
// now ([Server.CloseWatches], [Server.SendError], [Server.Compact], [Server.LoseEvents], [Server.Restore]).
// [Server.Requests] tells what was asked, so that a test can say "one list and one watch, nothing else".
//
// # What it is not
//
// There is no admission, defaulting, authorization, garbage collection or namespace lifecycle: namespaces need not exist,
// deleting an owner leaves its dependants. A pod is deleted at once, without a grace period. Server-side apply merges, without tracking
// managers. Validation covers metadata only. Of subresources there is status. Each built-in resource is served in one version.
//
// # Resource versions
//
// They are numbers from one counter for all resources, as with etcd; every write that changes something takes the next. Lists and watches
// follow https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions with one exception, on the side of
// finding mistakes: a watch from a resource version that this server has never given out gets 410, where a real server waits
// for that version to come. As from a real server, a watch whose options are good gets its 410 as an ERROR event; for one as the
// answer to its request, use [Fault].Error.
//
// # Concurrency and ownership
//
// All is safe for concurrent use. Objects handed in are copied, objects handed out are copies: both are the caller's.
package apitest
