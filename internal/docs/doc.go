// Package docs tests that the documents at the root of the repository are true: their code is code that runs, their commands are
// the ones that are checked, their links lead somewhere.
package docs
