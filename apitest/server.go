package apitest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Options configures a [Server]. The zero value serves the built-in resources.
type Options struct {
	// Resources are served besides the built-in ones, as custom resources.
	Resources []Resource
	// Scheme tells the kinds of Go types that are neither built in nor carry their kind, for [Create] and its like.
	// nil: none.
	Scheme *runtime.Scheme
	// History is how many changes are kept per resource for watches and lists at older resource versions. 0: 10,000.
	History int
	// WatchBuffer is how many changes a watch may be behind before the server ends it, as a real server does to slow
	// readers. 0: no bound.
	WatchBuffer int
	// BookmarkInterval is the time between bookmarks of watches that allow them; one more comes two seconds before a watch's
	// timeout. 0: one minute, as real servers have it.
	BookmarkInterval time.Duration
	// NoWatchCache makes lists at resource version "0" honour their limit, as servers started without watch cache do. With it
	// (the default) such a list is complete whatever its limit.
	NoWatchCache bool
	// Sharding makes lists and watches give what their shardSelector says, as servers with the feature gate ShardedListAndWatch do.
	// Without it (the default) the selector is ignored, as by all others.
	Sharding bool
	// Seed makes UIDs and generated names repeatable.
	Seed uint64
}

// Server is an in-memory API server. Make one with [NewServer].
type Server struct {
	opts Options

	// mu guards all that follows, and everything in resource, watcher and Injected. It is held for short, computing steps
	// only: never over I/O, a wait or a callback.
	mu       sync.Mutex
	rv       uint64 // of the last write
	rand     *rand.Rand
	served   map[schema.GroupVersionResource]endpoint
	faults   []*Injected
	requests requestLog
	losing   int // LoseEvents calls under way: changes reach neither history nor watches
	closed   bool

	done    chan struct{}  // closed by Close
	running sync.WaitGroup // goroutines: the listener's and each ListerWatcher watch's

	// httpMu guards the listener; taken before mu, never inside it.
	httpMu sync.Mutex
	http   *http.Server
	url    string
}

// NewServer makes a server without objects. It starts nothing. A Resource that is not valid, or is declared twice, is a mistake in the
// test and panics; use [Server.AddResource] for an error.
func NewServer(opts Options) *Server {
	if opts.History <= 0 {
		opts.History = 10_000
	}
	if opts.BookmarkInterval <= 0 {
		opts.BookmarkInterval = time.Minute
	}
	s := &Server{
		opts:   opts,
		rv:     1,
		rand:   rand.New(rand.NewPCG(opts.Seed, 0x61706974657374)),
		served: map[schema.GroupVersionResource]endpoint{},
		done:   make(chan struct{}),
	}
	for _, r := range slices.Concat(builtins, []Resource{crdResource}, opts.Resources) {
		if err := s.AddResource(r); err != nil {
			panic(fmt.Sprintf("apitest: %v", err))
		}
	}
	return s
}

// ResourceVersion is that of the last write, of any resource.
func (s *Server) ResourceVersion() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return formatRV(s.rv)
}

// newUIDLocked makes a UID of the seeded sequence, in the form of a random (version 4) UUID.
func (s *Server) newUIDLocked() types.UID {
	a, b := s.rand.Uint64(), s.rand.Uint64()
	return types.UID(fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x",
		a>>32, a>>16&0xffff, a&0xfff, b>>48&0x3fff|0x8000, b&0xffffffffffff))
}

// nameSuffixLocked makes the random end of a generated name.
func (s *Server) nameSuffixLocked() string {
	const letters = "bcdfghjklmnpqrstvwxz2456789" // no vowels: no words by accident
	b := make([]byte, 5)
	for i := range b {
		b[i] = letters[s.rand.IntN(len(letters))]
	}
	return string(b)
}

// Close ends every watch and every hanging request, stops serving HTTP, and returns when all goroutines have ended. Requests in the
// process fail from then on. Idempotent.
func (s *Server) Close() {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
		for _, w := range s.watchersLocked() {
			w.endLocked(errServerClosed, true)
		}
	}
	s.mu.Unlock()
	s.stopHTTP()
	s.running.Wait()
}
