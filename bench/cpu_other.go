//go:build !unix

package bench

import "time"

// cpuTime stands in with the time that has passed.
func cpuTime() time.Duration { return time.Since(start) }

var start = time.Now()
