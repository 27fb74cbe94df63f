// Package objdiff tells what changed between two states of a JSON-like object, one line per change.
//
// Objects are what JSON decodes to: maps from string, slices, strings, booleans, numbers and nil. [Diff] of equal objects
// is empty; otherwise its changes, put into the old object, give the new one. Changes come in the order of field names,
// and in the order of elements within a list, so the same two states always give the same lines.
//
// Elements of a list are matched by what tells them apart where all of them have such a field (a container's name, a
// condition's type), and by position otherwise.
//
// Everything here is a pure function.
package objdiff
