package informer

import (
	"sync"
	"sync/atomic"

	"github.com/informerkit/informerkit/feed"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/store"
)

// Informer is a live local copy of one collection. Make one with [New].
type Informer[T any] struct {
	opts     Options[T]
	store    *store.Store[T]
	writer   *store.Writer[T]
	log      *feed.Log[T]
	appender *feed.Appender[T]
	bad      quarantine
	fresh    freshness

	synced     chan struct{} // closed when the first list is stored
	initialEnd atomic.Uint64 // feed position after the first list, plus one; 0 before it is stored

	// mu makes "commit to the store and append to the feed" one step, so that a snapshot and a cursor taken under it
	// belong together. It guards what follows. Order: mu before Registration.mu.
	mu            sync.Mutex
	tenure        atomic.Pointer[tenure] // written under mu
	sources       map[string]*source[T]
	shared        bool                // there were several sources at some time: each notes the keys it has
	batch         store.Batch[T]      // empty between calls
	inBatch       map[string]struct{} // keys in batch, where there are several events
	finals        map[string]T        // for keys that batch deletes: the final state
	changes       []feed.Change[T]    // scratch of publishLocked
	overlays      []*Overlay[T]
	registrations map[*Registration[T]]struct{}
	handlers      int   // registrations so far
	life          *life // nil while not running
}

// New makes an informer of what from lists and watches; further sources can be added ([Informer.AddSource]), and nil is for
// those who add them all. It does nothing until Run. The error names the option that can't be right.
func New[T any](from listwatch.Source[T], opts Options[T]) (*Informer[T], error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	i := &Informer[T]{
		opts:          opts,
		synced:        make(chan struct{}),
		sources:       map[string]*source[T]{},
		inBatch:       map[string]struct{}{},
		finals:        map[string]T{},
		registrations: map[*Registration[T]]struct{}{},
	}
	i.tenure.Store(newTenure(opts.Shard))
	if opts.Writer != nil {
		i.store, i.writer = opts.Writer.Store(), opts.Writer
	} else {
		i.store, i.writer = store.New(store.Options[T]{Same: Same[T]})
	}
	i.log, i.appender = feed.New[T]()
	if from != nil {
		if err := i.AddSource("", from); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// Name is Options.Name, or what stands for it.
func (i *Informer[T]) Name() string { return i.opts.Name }

// Get returns the newest object under key. It waits for nobody. The object is shared: do not change it.
func (i *Informer[T]) Get(key string) (T, bool) { return i.store.Get(key) }

// Len is the number of objects now.
func (i *Informer[T]) Len() int { return i.store.Len() }

// Snapshot returns the newest version of the whole collection and its indexes, at the cost of a few pointers. Its objects
// are shared: do not change them.
func (i *Informer[T]) Snapshot() *store.Snapshot[T] { return i.store.Snapshot() }

// AddIndex adds an index to the informer's store, at any time; it is complete when AddIndex returns. The name is for
// people and need not be unique: the index is the returned value. See [store.AddIndex].
func AddIndex[T any, F store.IndexFunc[T]](i *Informer[T], name string, fn F) *store.Index[T] {
	return store.AddIndex(i.writer, name, fn)
}

// RemoveIndex drops an index made by [AddIndex].
func (i *Informer[T]) RemoveIndex(ix *store.Index[T]) { i.writer.RemoveIndex(ix) }
