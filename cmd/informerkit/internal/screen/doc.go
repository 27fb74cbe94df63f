// Package screen puts lines on a terminal or into a pipe: aligned columns, and a stream of lines with a table below it that is
// refreshed in place where there is a terminal to do so.
package screen
