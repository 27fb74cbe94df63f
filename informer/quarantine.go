package informer

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Reason says at which step an object could not be taken in.
type Reason string

const (
	ReasonDecode    Reason = "decode"
	ReasonTransform Reason = "transform"
	ReasonKey       Reason = "key"
	ReasonIndex     Reason = "index"
)

// Quarantined is an object that could not be taken in, or (ReasonIndex) is stored but missing from one index. What was stored of
// it before stays. It is tried again when it changes and whenever it is listed.
type Quarantined struct {
	// Key is the object's; of one whose key can't be read, what is known of it in parentheses.
	Key string
	// UID is the object's, if it is known. It is not, for ReasonIndex.
	UID    string
	Reason Reason
	// Index names the index, for ReasonIndex.
	Index string
	Err   error
	Since time.Time
}

// quarantine holds the objects that failed. Safe for concurrent use.
type quarantine struct {
	mu sync.Mutex // guards m; a leaf: nothing is called under it
	m  map[string]quarantined
}

// quarantined is an entry and the source it came from.
type quarantined struct {
	Quarantined
	from any
}

func (q *quarantine) put(from any, entry Quarantined) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.putLocked(from, entry)
}

func (q *quarantine) putLocked(from any, entry Quarantined) {
	if q.m == nil {
		q.m = map[string]quarantined{}
	}
	if had, ok := q.m[entry.Key]; ok {
		entry.Since = had.Since
	}
	q.m[entry.Key] = quarantined{entry, from}
}

func (q *quarantine) release(key string) {
	q.mu.Lock()
	delete(q.m, key)
	q.mu.Unlock()
}

// keep releases all that wanted says no to.
func (q *quarantine) keep(wanted func(*Quarantined) bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	maps.DeleteFunc(q.m, func(_ string, entry quarantined) bool { return !wanted(&entry.Quarantined) })
}

// replace makes next all that came from one source; what was there before keeps its Since.
func (q *quarantine) replace(from any, next map[string]Quarantined) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, entry := range next {
		q.putLocked(from, entry)
	}
	for key, entry := range q.m {
		if _, still := next[key]; !still && entry.from == from {
			delete(q.m, key)
		}
	}
}

// list is sorted by key.
func (q *quarantine) list() []Quarantined {
	q.mu.Lock()
	defer q.mu.Unlock()
	entries := make([]Quarantined, 0, len(q.m))
	for _, key := range slices.Sorted(maps.Keys(q.m)) {
		entries = append(entries, q.m[key].Quarantined)
	}
	return entries
}
