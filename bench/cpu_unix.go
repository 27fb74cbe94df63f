//go:build unix

package bench

import (
	"syscall"
	"time"
)

// cpuTime is the processor time that this process has used.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
