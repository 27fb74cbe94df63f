package apitest

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Request is one request for a resource that the server got, by HTTP or through [Source] or [Server.ListerWatcher]. Discovery and
// the preparing calls ([Create] and its like) are not requests.
type Request struct {
	// Verb is get, list, watch, create, update, patch, delete or deletecollection.
	Verb        string
	Resource    schema.GroupVersionResource
	Subresource string // "status" or ""
	Namespace   string // "" for all namespaces and for cluster-scoped resources
	Name        string
	// Options are those of a list, watch or deletecollection; of a get, the resource version.
	Options metav1.ListOptions
}

// keptRequests bounds the memory of a server that runs for long.
const keptRequests = 10_000

type requestLog struct{ requests []Request }

func (l *requestLog) add(r Request) {
	if len(l.requests) >= 2*keptRequests {
		l.requests = slices.Clone(l.requests[len(l.requests)-keptRequests:])
	}
	l.requests = append(l.requests, r)
}

// Requests gives the requests since the start or the last [Server.ForgetRequests], in the order they came, also those that a fault
// answered. Of very many, the last 10,000.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests.requests[max(0, len(s.requests.requests)-keptRequests):])
}

// CountRequests counts the [Server.Requests] with this verb and, unless it is "", this resource (its plural name).
func (s *Server) CountRequests(verb, resource string) int {
	n := 0
	for _, r := range s.Requests() {
		if r.Verb == verb && (resource == "" || r.Resource.Resource == resource) {
			n++
		}
	}
	return n
}

// ForgetRequests empties what [Server.Requests] gives.
func (s *Server) ForgetRequests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests.requests = nil
}

// admit records a request, waits as its faults say, and gives the faults that shape the answer, or the error that is the answer.
func (s *Server) admit(ctx context.Context, r Request) (active, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errServerClosed
	}
	s.requests.add(r)
	faults := s.matchLocked(r)
	s.mu.Unlock()

	for _, f := range faults {
		if f.fault.Hang {
			select {
			case <-f.removed:
			case <-s.done:
				return nil, errServerClosed
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		if f.fault.Latency > 0 {
			if err := s.sleep(ctx, f.fault.Latency); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range faults {
		if f.fault.Error != nil && !(r.Verb == "watch" && f.fault.AsEvent) {
			return nil, f.fault.Error
		}
	}
	return faults, nil
}

func (s *Server) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-s.done:
		return errServerClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
