//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used so far; false: nobody knows.
func cpuTime() (time.Duration, bool) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, false
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), true
}
