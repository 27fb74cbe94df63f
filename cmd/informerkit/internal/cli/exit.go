package cli

import (
	"errors"
	"fmt"
)

// Exit codes.
const (
	// ExitOK: the command did what was asked. To be ended by --for, --once or Ctrl-C is what was asked.
	ExitOK = 0
	// ExitFailed: the cluster can't be reached, refused or doesn't know what was asked for; the kubeconfig is bad; the first list was not
	// complete in time; or the demo's copies differ from the server's objects.
	ExitFailed = 1
	// ExitUsage: the command line is wrong.
	ExitUsage = 2
)

// usageError says that the command line is wrong.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func exitCode(err error) int {
	usage := (*usageError)(nil)
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &usage):
		return ExitUsage
	}
	return ExitFailed
}
