package reflector

import (
	"sync"
	"time"
)

// Phase is what a reflector is doing.
type Phase uint8

const (
	Idle       Phase = iota // Run was not called yet
	Queued                  // waits for the limiter
	Listing                 // a list, paged or streaming, is under way
	Watching                // in step, as of the last event
	BackingOff              // waits after a failure
	Stopped                 // Run has returned
)

// String is the phase in words.
func (p Phase) String() string {
	switch p {
	case Idle:
		return "idle"
	case Queued:
		return "queued"
	case Listing:
		return "listing"
	case Watching:
		return "watching"
	case BackingOff:
		return "backing off"
	case Stopped:
		return "stopped"
	}
	return "unknown"
}

// Status tells where a reflector stands.
type Status struct {
	Phase           Phase
	Since           time.Time // in this phase
	LastError       error     // the last list, watch or sink error; nil once a list was complete, a watch opened or an event came after it
	LastErrorAt     time.Time // stays
	Attempts        int       // failures in a row
	RetryAt         time.Time // end of the wait; zero unless BackingOff
	ResourceVersion string    // last seen, by list, event or bookmark
	LastEvent       time.Time // last event or bookmark
	Lists           int       // complete lists so far
	Resets          int       // of them, those that found the server's history reset
	Received        int64     // objects of the list under way, or of the last one; of a streaming list, events
	Expected        int64     // objects that list has in all; -1 unknown
	NoStreaming     error     // why lists are paged though streaming is on; nil if they are not
}

// board is the status, written by Run's goroutine.
type board struct {
	// mu guards s, which is read by anyone at any time.
	mu sync.Mutex
	s  Status
}

func (b *board) get() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.s
}

func (b *board) set(change func(s *Status)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.s)
}

func (b *board) enter(now time.Time, p Phase) {
	b.set(func(s *Status) { s.enter(now, p) })
}

func (s *Status) enter(now time.Time, p Phase) {
	if s.Phase != p {
		s.Phase, s.Since = p, now
	}
	if p != BackingOff {
		s.RetryAt = time.Time{}
	}
}
