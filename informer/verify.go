package informer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/informerkit/informerkit/feed"
	"github.com/informerkit/informerkit/internal/versions"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/store"
)

// Verification is what [Informer.Verify] found.
type Verification struct {
	// ResourceVersion is the one that the server was read at; of several sources, which are read in turn, the first one's.
	ResourceVersion string
	// Objects is how many the server has, not counting those that Transform drops or that can't be taken in.
	Objects int
	// Drift lists the differences, sorted by key. Empty: the copy is what the server has.
	Drift []Drift
}

// Drift is a difference between the copy and the server that no event on its way makes up for.
type Drift struct {
	Key  string
	Kind DriftKind
	// Server is what the server had, and Copy what the informer has; zero where there is no object.
	Server, Copy State
}

// State tells one state of an object from all others.
type State struct{ UID, ResourceVersion string }

// DriftKind says how the copy differs.
type DriftKind uint8

const (
	// DriftMissing: the server has the object, the copy has not.
	DriftMissing DriftKind = iota + 1
	// DriftStale: the copy has a state from before, or a former object of that name.
	DriftStale
	// DriftExtra: the copy has an object that is gone from the server, or that it should have dropped.
	DriftExtra
)

// String is the kind in a word.
func (k DriftKind) String() string {
	switch k {
	case DriftMissing:
		return "missing"
	case DriftStale:
		return "stale"
	case DriftExtra:
		return "extra"
	}
	return fmt.Sprintf("DriftKind(%d)", uint8(k))
}

// errSourcesChanged ends a verification whose sources are not those that it has read.
var errSourcesChanged = errors.New("a source was added or removed meanwhile")

// Verify reads the collection from the server once more, consistently and in pages, and compares it with the copy, by key, UID
// and resource version. It holds keys only, no second copy, and what events bring while it reads is no drift: if anything
// differs, it waits until the copy has seen the version that was read ([Informer.WaitFor]), which with a quiet server takes until the
// next bookmark, about a minute, and looks again. Objects in quarantine are not compared: [Informer.Status] has them.
//
// Nothing is repaired; an informer that drifts has lost an event, which is worth finding out about. To repair it all the same,
// end Run and call it again: it begins with a list, which the copy is compared with.
//
// Transform and Key are called, in the caller's goroutine, with objects that the copy does not have as they are. The list counts
// against the reflector's limit and is not tried again. The error is the list's, a [NotSyncedError] when ctx ends before the
// copy has seen that version, [ErrResharded], or says that sources have come or gone.
func (i *Informer[T]) Verify(ctx context.Context) (Verification, error) {
	v := i.newVerifier()
	defer v.cursor.Close()
	for _, s := range v.sources {
		if err := v.read(ctx, s); err != nil {
			return Verification{}, fmt.Errorf("informer %s: verify: %w", i.opts.Name, err)
		}
	}
	drift, err := v.compare()
	if err == nil && len(drift) > 0 {
		if err = i.WaitFor(ctx, v.newest); err == nil {
			drift, err = v.compare()
		}
	}
	if err != nil {
		return Verification{}, fmt.Errorf("informer %s: verify: %w", i.opts.Name, err)
	}
	return Verification{ResourceVersion: v.oldest, Objects: v.objects, Drift: drift}, nil
}

// verifier gathers what the server has and is not at once found in the copy.
type verifier[T any] struct {
	informer *Informer[T]
	tenure   *tenure
	sources  []*source[T]
	lists    []int           // of each, before it was read
	cursor   *feed.Cursor[T] // over what happens to the copy meanwhile

	oldest, newest string // the versions that the first and the last source were read at
	objects        int
	listed         map[string]struct{}
	different      map[string]listedState // what the copy had otherwise when it was read
	bad            map[string]struct{}    // UIDs of what can't be taken in: the copy may have a former state
	deleted        map[string]string      // what the copy lost since, and the version of the deletion; "" unknown
}

// listedState is a state that the server had.
type listedState struct {
	State
	dropped bool // and that the transform leaves out
}

func (i *Informer[T]) newVerifier() *verifier[T] {
	i.mu.Lock()
	defer i.mu.Unlock()
	v := &verifier[T]{
		informer:  i,
		tenure:    i.tenure.Load(),
		sources:   i.sourcesLocked(),
		cursor:    i.log.Cursor(feed.EveryChange),
		listed:    map[string]struct{}{},
		different: map[string]listedState{},
		bad:       map[string]struct{}{},
		deleted:   map[string]string{},
	}
	for _, s := range v.sources {
		v.lists = append(v.lists, s.lists)
	}
	return v
}

// read lists what a source has of the shard.
func (v *verifier[T]) read(ctx context.Context, s *source[T]) error {
	rv, err := reflector.List(ctx, listwatch.InShard(s.from, v.tenure.shard), s.opts, v.page)
	if err != nil {
		return err
	}
	if v.oldest == "" {
		v.oldest = rv
	}
	v.newest = rv
	return nil
}

func (v *verifier[T]) page(items []listwatch.Item[T]) error {
	v.follow()
	i := v.informer
	for n := range items {
		it := &items[n]
		o := op[T]{key: it.Key, uid: it.UID, rv: it.ResourceVersion}
		if i.opts.Key != nil || !v.matches(&o) {
			o, _ = i.admit(it)
		}
		if o.what == bad {
			v.bad[o.uid] = struct{}{}
		}
		// By a key that was asked for, what is not taken in can't be found.
		if _, had := i.store.Get(o.key); o.what == take || had && i.opts.Key == nil {
			v.note(&o)
		}
	}
	return nil
}

// matches reports that the copy has the very state.
func (v *verifier[T]) matches(o *op[T]) bool {
	current, had := v.informer.store.Get(o.key)
	m := metaOf(current)
	return had && m != nil && sameState(m, o.uid, o.rv)
}

// note keeps a state, if it is not the copy's. What a later source has is not older.
func (v *verifier[T]) note(o *op[T]) {
	if _, again := v.listed[o.key]; !again && o.what == take {
		v.objects++
	}
	v.listed[o.key] = struct{}{}
	if o.what == bad || o.what == take && v.matches(o) {
		return
	}
	v.different[o.key] = listedState{State{o.uid, o.rv}, o.what == drop}
}

// follow notes what was deleted from the copy.
func (v *verifier[T]) follow() {
	var batch [readerBatch]feed.Change[T]
	for {
		n := v.cursor.Next(batch[:])
		if n == 0 {
			return
		}
		for _, c := range batch[:n] {
			switch {
			case c.Kind != feed.Deleted:
			case c.Lost:
				v.deleted[c.Key] = ""
			default:
				v.deleted[c.Key] = stateOf(c.New).ResourceVersion
			}
		}
	}
}

// compare gives the differences that there are by now.
func (v *verifier[T]) compare() (drift []Drift, err error) {
	i := v.informer
	i.mu.Lock()
	snapshot, relisted, err := v.presentLocked()
	i.mu.Unlock()
	if err != nil {
		return nil, err
	}
	v.follow() // which tells all that has led to the snapshot
	for key, server := range v.different {
		current, had := snapshot.Get(key)
		deletion, deleted := v.deleted[key]
		gone := deleted && !versions.Older(deletion, server.ResourceVersion) ||
			relisted != "" && !versions.Older(relisted, server.ResourceVersion)
		switch {
		case !had && !gone && !server.dropped:
			drift = append(drift, Drift{Key: key, Kind: DriftMissing, Server: server.State})
		case had && versions.Older(stateOf(current).ResourceVersion, server.ResourceVersion):
			drift = append(drift, Drift{Key: key, Kind: DriftStale, Server: server.State, Copy: stateOf(current)})
		}
	}
	for key, obj := range snapshot.All() {
		state := stateOf(obj)
		_, listed := v.listed[key]
		_, former := v.bad[state.UID]
		if !listed && !former && !versions.Older(v.oldest, state.ResourceVersion) {
			drift = append(drift, Drift{Key: key, Kind: DriftExtra, Copy: state})
		}
	}
	slices.SortFunc(drift, func(a, b Drift) int { return cmp.Compare(a.Key, b.Key) })
	return drift, nil
}

// presentLocked is the copy now, and the version of the newest list that it was compared with since the verifier began: what that
// did not have had come and gone. "" without one.
func (v *verifier[T]) presentLocked() (now *store.Snapshot[T], relisted string, err error) {
	i := v.informer
	switch {
	case i.tenure.Load() != v.tenure:
		return nil, "", ErrResharded
	case !slices.Equal(i.sourcesLocked(), v.sources):
		return nil, "", errSourcesChanged
	}
	for n, s := range v.sources {
		if s.lists != v.lists[n] && (relisted == "" || versions.Older(relisted, s.listedAt)) {
			relisted = s.listedAt
		}
	}
	return i.store.Snapshot(), relisted, nil
}

func stateOf[T any](obj T) State {
	m := metaOf(obj)
	if m == nil {
		return State{}
	}
	return State{string(m.GetUID()), m.GetResourceVersion()}
}
