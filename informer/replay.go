package informer

import (
	"cmp"
	"slices"
	"time"

	"github.com/informerkit/informerkit/store"
)

// replayTick is how often a spread replay goes on, at the most.
const replayTick = 100 * time.Millisecond

// replay tells objects again that did not change. It reads the store only when its handler has been told everything: then the
// objects it tells are what the handler was told last, and whatever comes later is newer.
type replay[T any] struct {
	registration *Registration[T]
	everything   bool               // a full replay is wanted
	snapshot     *store.Snapshot[T] // of the full replay under way
	told         int

	period time.Duration
	began  time.Time
	keys   []string // of this period, in order
	next   int      // keys[next:] are to come
	tick   *time.Timer
	due    bool // the timer fired
}

func newReplay[T any](r *Registration[T]) *replay[T] {
	p := &replay[T]{registration: r}
	if r.opts.Replay > 0 {
		p.period = max(r.opts.Replay, minReplay)
		p.begin(time.Now())
		p.tick = time.NewTimer(p.pause())
	}
	return p
}

func (p *replay[T]) stop() {
	if p.tick != nil {
		p.tick.Stop()
	}
}

// timer is nil where there is no period.
func (p *replay[T]) timer() <-chan time.Time {
	if p.tick == nil {
		return nil
	}
	return p.tick.C
}

// ask asks for a full replay.
func (p *replay[T]) ask() { p.everything = true }

// ticked notes that the timer fired.
func (p *replay[T]) ticked() { p.due = true }

// begin starts a period with the objects there are.
func (p *replay[T]) begin(now time.Time) {
	p.began, p.next, p.keys = now, 0, p.keys[:0]
	for key := range p.registration.informer.store.Snapshot().All() {
		p.keys = append(p.keys, key)
	}
	slices.SortFunc(p.keys, cmp.Compare[string])
}

// pause is the time until the next key is due, or the period ends, but a tick at least.
func (p *replay[T]) pause() time.Duration {
	if len(p.keys) == 0 {
		return p.period
	}
	return max(p.period/time.Duration(len(p.keys)), replayTick)
}

// run tells what is due. It reports false when something else has to be told first, or tell said stop.
func (p *replay[T]) run(tell func(Event[T]) bool) bool {
	if !p.everything && p.snapshot == nil && !p.due {
		return true
	}
	if p.snapshot == nil || p.due {
		current := p.registration.caughtUpSnapshot()
		if current == nil {
			return false
		}
		if p.everything {
			p.everything, p.snapshot, p.told = false, current, 0
		}
		if p.due && !p.tellDue(current, time.Now(), tell) {
			return false
		}
	}
	return p.tellAll(tell)
}

// tellDue tells the keys that are due at now, and starts the next period at the end of this one.
func (p *replay[T]) tellDue(current *store.Snapshot[T], now time.Time, tell func(Event[T]) bool) bool {
	upTo := min(int(float64(len(p.keys))*float64(now.Sub(p.began))/float64(p.period)), len(p.keys))
	for p.next < upTo {
		key := p.keys[p.next]
		p.next++
		if obj, ok := current.Get(key); ok && !tell(Event[T]{Type: Updated, Key: key, Old: obj, New: obj, Replay: true}) {
			return false
		}
	}
	if now.Sub(p.began) >= p.period {
		p.begin(now)
	}
	p.due = false
	p.tick.Reset(p.pause())
	return true
}

// tellAll goes on with the full replay.
func (p *replay[T]) tellAll(tell func(Event[T]) bool) bool {
	if p.snapshot == nil {
		return true
	}
	n := 0
	for key, obj := range p.snapshot.All() {
		if n++; n <= p.told {
			continue
		}
		p.told++
		if !tell(Event[T]{Type: Updated, Key: key, Old: obj, New: obj, Replay: true}) {
			return false
		}
	}
	p.snapshot = nil
	return true
}

// caughtUpSnapshot is the store's state if the handler has been told everything up to it, else nil.
func (r *Registration[T]) caughtUpSnapshot() *store.Snapshot[T] {
	i := r.informer
	i.mu.Lock()
	defer i.mu.Unlock()
	if r.reader.cursor.Position() != i.log.End() {
		return nil
	}
	return i.store.Snapshot()
}
