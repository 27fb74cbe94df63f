// Package listwatch says where objects come from: one interface, [Source], over typed clients, REST, dynamic and
// metadata clients, and plain functions.
//
// A source does what a server does and decides nothing: it gives pages of a list and streams of changes, with the
// options it is asked for. Paging, watching on, retrying and back-off are the business of package reflector.
//
// An [Item] carries the identity of an object and gives the object on demand. An object that can't be had (undecodable,
// or of another type) is still an item, so that its reader can name it and go on with the others.
//
// [For] takes a client, [Funcs] two functions, [REST] a REST client, whose answers it takes apart object by object. [Narrow]
// adds selectors, [InShard] leaves a range of hashes, a [Shard]. All are safe for concurrent use; a [Stream] is read by one goroutine and starts none.
package listwatch
