package informer

import (
	"cmp"
	"slices"

	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// Status tells where an informer stands.
type Status struct {
	Name string
	// Running: Run has been called and has not returned.
	Running bool
	// Synced: the first list is stored.
	Synced  bool
	Objects int
	// Shard is the part of the collection that is held.
	Shard   listwatch.Shard
	Version Version
	// Reflector tells of listing and watching: phase, last error, attempts, progress. Where there are several sources, of the
	// one most to blame.
	Reflector reflector.Status
	// Sources lists the sources in the order of their names.
	Sources []SourceStatus
	// Quarantined lists the objects that could not be taken in, sorted by key.
	Quarantined []Quarantined
	// Handlers lists the registered handlers in the order they came.
	Handlers []HandlerStatus
}

// SourceStatus tells where one source of an informer stands.
type SourceStatus struct {
	// Name is "" for the source given to New.
	Name string
	// Synced: its first list is stored.
	Synced    bool
	Reflector reflector.Status
}

// HandlerStatus tells where a handler stands.
type HandlerStatus struct {
	Name    string
	Synced  bool
	Backlog Backlog
	// Panics counts calls that panicked.
	Panics int
}

// Status may be called at any time, from anywhere.
func (i *Informer[T]) Status() Status {
	s := Status{
		Name:        i.opts.Name,
		Synced:      isClosed(i.synced),
		Objects:     i.store.Len(),
		Shard:       i.tenure.Load().shard,
		Version:     i.fresh.get(),
		Quarantined: i.bad.list(),
	}
	for _, f := range i.store.Failures() {
		s.Quarantined = append(s.Quarantined, Quarantined{Key: f.Key, Reason: ReasonIndex, Index: f.Index, Err: f.Err, Since: f.Since})
	}
	slices.SortStableFunc(s.Quarantined, func(a, b Quarantined) int { return cmp.Compare(a.Key, b.Key) })
	i.mu.Lock()
	s.Running = i.life != nil
	_, s.Reflector = i.blameLocked()
	for _, from := range i.sourcesLocked() {
		s.Sources = append(s.Sources, SourceStatus{Name: from.name, Synced: from.listed, Reflector: from.reflector.Status()})
	}
	registrations := i.registrationsLocked()
	i.mu.Unlock()
	for _, r := range registrations {
		s.Handlers = append(s.Handlers, r.status())
	}
	return s
}
