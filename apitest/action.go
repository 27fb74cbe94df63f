package apitest

import (
	"io"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func (s *Server) watchersLocked() []*watcher {
	var all []*watcher
	seen := map[*resource]bool{}
	for _, e := range s.served {
		if seen[e.resource] {
			continue
		}
		seen[e.resource] = true
		for w := range e.watchers {
			all = append(all, w)
		}
	}
	return all
}

// resourcesLocked gives each stored resource once.
func (s *Server) resourcesLocked() map[*resource]endpoint {
	all := map[*resource]endpoint{}
	for _, e := range s.served {
		all[e.resource] = e
	}
	return all
}

// OpenWatches counts the watches that are open on a resource (its plural name; "": on all).
func (s *Server) OpenWatches(resource string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, w := range s.watchersLocked() {
		if resource == "" || w.gvr.Resource == resource {
			n++
		}
	}
	return n
}

// CloseWatches ends the open watches of a resource (its plural name; "": of all), after what they have still to send. With nil they
// end well, as when a server restarts in good order; any other error breaks the connection, as a network does (what was still to
// be sent is lost, and comes again to a watch from the last resource version). For an error event see [Server.SendError].
func (s *Server) CloseWatches(resource string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endWatchesLocked(resource, err)
}

func (s *Server) endWatchesLocked(resource string, err error) {
	if err == nil {
		err = io.EOF
	}
	for _, w := range s.watchersLocked() {
		if resource == "" || w.gvr.Resource == resource {
			w.endLocked(err, err != io.EOF)
		}
	}
}

// SendError sends err as an ERROR event on the open watches of a resource (its plural name; "": of all), after what they have still
// to send, and ends them. err is an API status error; any other error breaks the connection.
func (s *Server) SendError(resource string, err error) {
	_, isStatus := statusOf(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watchersLocked() {
		if resource == "" || w.gvr.Resource == resource {
			w.endLocked(err, !isStatus)
		}
	}
}

// Compact forgets all history: watches and exact lists at resource versions before the present one, and continue tokens, are
// answered with 410. Open watches go on. That is what a real server does that was started after etcd was compacted (every few
// minutes); one that runs on may still have in its watch cache what etcd has no more.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r := range s.resourcesLocked() {
		r.history.compact(s.rv)
	}
}

// LoseEvents makes a gap: whatever is written while write runs is never told to any watch. Open watches end before, after what
// they have still to send; watches from resource versions before the gap are answered with 410. So a client that was watching
// has to list again, and finds what was deleted by write missing: the way to a tombstone (a delete whose final state is not known) in
// one call.
func (s *Server) LoseEvents(write func()) {
	s.mu.Lock()
	s.losing++
	s.endWatchesLocked("", nil)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.losing--
		for r := range s.resourcesLocked() {
			r.history.compact(s.rv)
		}
		s.endWatchesLocked("", nil) // those opened meanwhile
	}()
	write()
}

// Backup is the state of a server at one time. See [Server.Backup].
type Backup struct {
	rv      uint64
	objects map[schema.GroupKind]map[string]*object
}

// Backup takes the state of all objects, for [Server.Restore].
func (s *Server) Backup() *Backup {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &Backup{rv: s.rv, objects: map[schema.GroupKind]map[string]*object{}}
	for r, e := range s.resourcesLocked() {
		b.objects[e.gvk.GroupKind()] = maps.Clone(r.objects)
	}
	return b
}

// Restore goes back to a backup, as when etcd is restored: the objects and the resource version are what they were, so that
// resource versions given out since mean nothing or, later, something else. All watches are broken off and all history is gone.
// Resources that are served now stay served.
func (s *Server) Restore(b *Backup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endWatchesLocked("", io.ErrUnexpectedEOF)
	s.rv = b.rv
	for r, e := range s.resourcesLocked() {
		r.objects = maps.Clone(b.objects[e.gvk.GroupKind()])
		if r.objects == nil {
			r.objects = map[string]*object{}
		}
		r.keys = sortedKeys{}
		for key := range r.objects {
			r.keys.add(key)
		}
		r.history.reset(s.rv)
	}
}
