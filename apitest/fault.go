package apitest

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault says which coming requests the server answers badly, and how. Its first fields choose the requests, the others, in any
// combination, say what happens to them. Give it to [Server.Inject]. Several faults that choose one request all apply to it.
// Discovery is never hit.
type Fault struct {
	// Verb of the requests: get, list, watch, create, update, patch, delete or deletecollection. "": all.
	Verb string
	// Resource of the requests, by plural name. "": all.
	Resource string
	// Skip leaves that many matching requests alone first.
	Skip int
	// Times is how many requests are hit. 0: all, until [Injected.Remove].
	Times int

	// Error is the answer. An API status error (those of k8s.io/apimachinery/pkg/api/errors, [TooLargeResourceVersion]) is sent as such,
	// with its Retry-After; any other error breaks the connection without an answer, and is returned as it is in the process
	// (so that syscall.ECONNREFUSED is a refused connection there).
	Error error
	// AsEvent makes Error the first event of a watch that opens well, as servers tell 410, instead of the answer to its request.
	AsEvent bool
	// Hang never answers, until the fault is removed or the request's context ends.
	Hang bool
	// Latency delays the answer.
	Latency time.Duration

	// Silent opens watches that never send anything and never end by themselves, as a half-open connection does, until the fault is
	// removed.
	Silent bool
	// EventDelay lets that much time go by before each event of a watch.
	EventDelay time.Duration
	// CloseAfter ends a watch, as a server that restarts does, after that many events (bookmarks count). -1: before the first. 0: not.
	CloseAfter int
	// DropBookmarks sends none, also not the one that ends a streaming list.
	DropBookmarks bool
	// BookmarkDelay sends each that much later.
	BookmarkDelay time.Duration
	// IgnoreSendInitialEvents answers a streaming list as a server does that does not know the option: as a watch with the same
	// resource version. If that is "" or "0" it begins with the present objects, but nothing marks their end.
	IgnoreSendInitialEvents bool
	// NoInitialEvents sends no present objects at the start of a watch, and nothing to mark their end, as client-go's fake clientsets do.
	NoInitialEvents bool
	// NoInitialEventsEnd does not mark the end of a streaming list.
	NoInitialEventsEnd bool

	// ExpireContinue answers lists that carry a continue token with 410.
	ExpireContinue ContinueExpiry
	// StaleAt answers lists and gets that allow it (resource version "0", or not newer than StaleAt) from the state at this resource
	// version, as a server whose watch cache is behind. It has no effect once the history does not reach back so far. 0: not.
	StaleAt uint64

	// Undecodable are keys (namespace/name, or name) of objects that lists and watches send so that they can't be decoded into
	// their type. Their metadata has name, namespace, UID and resource version as usual.
	Undecodable []string
	// WrongType are keys of objects that lists and watches send as an object of another kind with the same metadata. A protobuf list can't say
	// that.
	WrongType []string
}

// ContinueExpiry says how a server answers a continue token that is too old.
type ContinueExpiry uint8

const (
	// ExpireWithToken answers 410 with a token that goes on from the same place in the present state.
	ExpireWithToken ContinueExpiry = iota + 1
	// ExpireWithoutToken answers 410 and nothing more.
	ExpireWithoutToken
)

// Injected is a fault at work.
type Injected struct {
	fault   Fault
	s       *Server
	seen    int // requests that matched
	hits    int
	gone    bool
	removed chan struct{} // closed when gone is set
}

// Inject puts a fault to work for the requests that come from now on.
func (s *Server) Inject(f Fault) *Injected {
	f.Undecodable, f.WrongType = slices.Clone(f.Undecodable), slices.Clone(f.WrongType)
	in := &Injected{fault: f, s: s, removed: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, in)
	return in
}

// Remove heals the fault: coming requests are answered well, hanging ones are answered now, and watches that were opened
// under it go on without it. Idempotent.
func (in *Injected) Remove() {
	in.s.mu.Lock()
	defer in.s.mu.Unlock()
	in.removeLocked()
}

func (in *Injected) removeLocked() {
	if in.gone {
		return
	}
	in.gone = true
	close(in.removed)
	in.s.faults = slices.DeleteFunc(in.s.faults, func(f *Injected) bool { return f == in })
	for _, w := range in.s.watchersLocked() {
		w.wakeLocked()
	}
}

// Hits is the number of requests the fault was applied to.
func (in *Injected) Hits() int {
	in.s.mu.Lock()
	defer in.s.mu.Unlock()
	return in.hits
}

// RemoveFaults heals all faults.
func (s *Server) RemoveFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range slices.Clone(s.faults) {
		f.removeLocked()
	}
}

// matchLocked gives the faults that hit r, and counts them.
func (s *Server) matchLocked(r Request) active {
	var hit active
	for _, f := range s.faults {
		if !matches(f.fault.Verb, f.fault.Resource, r.Verb, r.Resource) {
			continue
		}
		if f.fault.ExpireContinue != 0 && r.Options.Continue == "" {
			continue // about later pages only: must not use up Times on first ones
		}
		f.seen++
		if f.seen <= f.fault.Skip || f.fault.Times > 0 && f.hits >= f.fault.Times {
			continue
		}
		f.hits++
		hit = append(hit, f)
	}
	return hit
}

func matches(verb, resource, gotVerb string, gvr schema.GroupVersionResource) bool {
	return (verb == "" || verb == gotVerb) && (resource == "" || resource == gvr.Resource)
}

// active are the faults that apply to one request. Its methods need Server.mu, and skip those that were removed meanwhile.
type active []*Injected

func (a active) any(is func(*Injected) bool) bool {
	return slices.ContainsFunc(a, func(f *Injected) bool { return !f.gone && is(f) })
}

func (a active) sum(of func(*Injected) time.Duration) time.Duration {
	var d time.Duration
	for _, f := range a {
		if !f.gone {
			d += of(f)
		}
	}
	return d
}

func (a active) silent() bool { return a.any(func(f *Injected) bool { return f.fault.Silent }) }
func (a active) dropBookmarks() bool {
	return a.any(func(f *Injected) bool { return f.fault.DropBookmarks })
}
func (a active) noInitialEvents() bool {
	return a.any(func(f *Injected) bool { return f.fault.NoInitialEvents })
}
func (a active) noInitialEventsEnd() bool {
	return a.any(func(f *Injected) bool { return f.fault.NoInitialEventsEnd || f.fault.NoInitialEvents })
}
func (a active) ignoreSendInitialEvents() bool {
	return a.any(func(f *Injected) bool { return f.fault.IgnoreSendInitialEvents })
}
func (a active) eventDelay() time.Duration {
	return a.sum(func(f *Injected) time.Duration { return f.fault.EventDelay })
}
func (a active) bookmarkDelay() time.Duration {
	return a.sum(func(f *Injected) time.Duration { return f.fault.BookmarkDelay })
}

// closeAfter is the least of the faults' CloseAfter that are set; false if none is.
func (a active) closeAfter() (int, bool) {
	n, set := 0, false
	for _, f := range a {
		if f.gone || f.fault.CloseAfter == 0 {
			continue
		}
		if after := max(f.fault.CloseAfter, 0); !set || after < n {
			n, set = after, true
		}
	}
	return n, set
}

func (a active) continueExpiry() ContinueExpiry {
	for _, f := range a {
		if !f.gone && f.fault.ExpireContinue != 0 {
			return f.fault.ExpireContinue
		}
	}
	return 0
}

func (a active) staleRV() uint64 {
	for _, f := range a {
		if !f.gone && f.fault.StaleAt != 0 {
			return f.fault.StaleAt
		}
	}
	return 0
}

func (a active) firstEventError() error {
	for _, f := range a {
		if !f.gone && f.fault.AsEvent && f.fault.Error != nil {
			return f.fault.Error
		}
	}
	return nil
}

// damage is what is wrong with an object as it is sent.
type damage uint8

const (
	sound damage = iota
	undecodable
	wrongType
)

func (a active) damageTo(key string) damage {
	switch {
	case a.any(func(f *Injected) bool { return slices.Contains(f.fault.Undecodable, key) }):
		return undecodable
	case a.any(func(f *Injected) bool { return slices.Contains(f.fault.WrongType, key) }):
		return wrongType
	}
	return sound
}
