// Package listwatch says where objects come from: one interface, [Source], over typed clients, REST, dynamic and
// metadata clients, and plain functions.
package listwatch
