package cli

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/informerkit/informerkit/apitest"
)

// fault is something that goes wrong at a server.
type fault struct {
	// text says what, for people.
	text string
	// begin makes it happen. step makes one write of the workload. What it returns heals the fault; nil if there is nothing to heal.
	begin func(s *apitest.Server, step func() error) (heal func(), err error)
	// lasts is when to heal.
	lasts time.Duration
}

var errConnectionBroke = errors.New("connection broke")

// missedWrites is how many writes a gap loses.
const missedWrites = 12

// nextFault chooses one, for one of the resources.
func nextFault(r *rand.Rand, resources []string) fault {
	resource := resources[r.IntN(len(resources))]
	lasts := time.Duration(300+r.IntN(500)) * time.Millisecond
	switch r.IntN(5) {
	case 0:
		return fault{
			text: fmt.Sprintf("%s: the connection of the watch breaks", resource),
			begin: func(s *apitest.Server, _ func() error) (func(), error) {
				s.CloseWatches(resource, errConnectionBroke)
				return nil, nil
			},
		}
	case 1:
		return fault{
			text: fmt.Sprintf("all watches end, %d writes happen unseen, and the history is compacted: going on from there is answered with 410", missedWrites),
			begin: func(s *apitest.Server, step func() error) (func(), error) {
				var err error
				s.LoseEvents(func() {
					for range missedWrites {
						err = errors.Join(err, step())
					}
				})
				return nil, err
			},
		}
	case 2:
		return fault{
			text:  fmt.Sprintf("%s: the watch ends, and for %v the server answers 503", resource, lasts),
			lasts: lasts,
			begin: func(s *apitest.Server, _ func() error) (func(), error) {
				in := s.Inject(apitest.Fault{Resource: resource, Error: apierrors.NewServiceUnavailable("the server is starting")})
				s.CloseWatches(resource, nil)
				return in.Remove, nil
			},
		}
	case 3:
		return fault{
			text: fmt.Sprintf("%s: an ERROR event ends the watch", resource),
			begin: func(s *apitest.Server, _ func() error) (func(), error) {
				s.SendError(resource, apierrors.NewInternalError(errors.New("etcd leader changed")))
				return nil, nil
			},
		}
	}
	return fault{
		text:  fmt.Sprintf("%s: the watch ends, and for %v requests are too many (429)", resource, lasts),
		lasts: lasts,
		begin: func(s *apitest.Server, _ func() error) (func(), error) {
			in := s.Inject(apitest.Fault{Resource: resource, Error: apierrors.NewTooManyRequests("too many requests", 1)})
			s.CloseWatches(resource, nil)
			return in.Remove, nil
		},
	}
}
