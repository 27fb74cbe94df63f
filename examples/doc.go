// Package examples compares the example programs below it with their originals. See README.md for what there is.
package examples
