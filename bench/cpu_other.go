//go:build !unix

package bench

import "time"

// cpuTime is what this process has used so far; false: nobody knows.
func cpuTime() (time.Duration, bool) { return 0, false }
