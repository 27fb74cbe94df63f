package cli

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// ledger notes when the writes of one resource were made, to tell how far a copy is behind. Safe for concurrent use.
type ledger struct {
	mu     sync.Mutex // guards what follows
	writes []write    // by ascending resource version
	total  int
}

type write struct {
	rv uint64
	at time.Time
}

// wrote notes a write that is newer than all before.
func (l *ledger) wrote(rv uint64, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = append(l.writes, write{rv, at})
	l.total++
}

// last is the newest write's resource version, and how many there were.
func (l *ledger) last() (rv uint64, total int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.writes); n > 0 {
		rv = l.writes[n-1].rv
	}
	return rv, l.total
}

// at is when the write with a resource version was made; false if it is not known (yet, or any more).
func (l *ledger) at(rv uint64) (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, ok := slices.BinarySearchFunc(l.writes, rv, byRV)
	if !ok {
		return time.Time{}, false
	}
	return l.writes[i].at, true
}

// behind is how long the oldest write later than rv has been there at time now; 0 if there is none.
func (l *ledger) behind(rv uint64, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, _ := slices.BinarySearchFunc(l.writes, rv+1, byRV)
	if i == len(l.writes) {
		return 0
	}
	return now.Sub(l.writes[i].at)
}

// forget drops writes made before t, except the newest one.
func (l *ledger) forget(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := 0
	for i < len(l.writes)-1 && l.writes[i].at.Before(t) {
		i++
	}
	l.writes = slices.Delete(l.writes, 0, i)
}

func byRV(w write, rv uint64) int { return cmp.Compare(w.rv, rv) }
