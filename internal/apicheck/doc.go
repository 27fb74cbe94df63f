// Command apicheck compares the exported API of package cache with that of client-go's tools/cache, of which it is to
// be a drop-in.
//
// It prints what is missing in ours and what is different, and fails on any of it that differences.txt does not name
// with a reason; also on a line of that file that is not true any more. What ours has in addition is only listed.
//
// Compared are names and their kinds, types and signatures (but for the name of the package, and of parameters), type
// parameters and their constraints, method sets, the exported fields of structs, and the values of constants.
package main
