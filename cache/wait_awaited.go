package cache

import (
	"sync"
	"sync/atomic"

	"github.com/informerkit/informerkit/internal/goroutine"
)

// An InformerSynced is a function: nothing says when to ask it again. But what it asks, directly or not, is mostly a
// HasSynced of this package, called in the goroutine of the one who waits; and that knows a channel. So while a
// function is asked, what says "not yet" leaves its channel here.
var asking struct {
	n atomic.Int32 // how many are in byGoroutine: almost always 0, and then nothing has to be done
	// byGoroutine: channels left, by the goroutine that asks; int64 to *awaitedChannel.
	byGoroutine sync.Map
}

type awaitedChannel struct{ done <-chan struct{} }

// askSynced calls synced. If the answer is no, awaited closes when it is worth asking again; it is nil if that is not
// known.
func askSynced(synced InformerSynced) (ok bool, awaited <-chan struct{}) {
	id, left := goroutine.ID(), &awaitedChannel{}
	before, nested := asking.byGoroutine.Swap(id, left)
	asking.n.Add(1)
	defer func() {
		asking.n.Add(-1)
		if nested {
			asking.byGoroutine.Store(id, before)
		} else {
			asking.byGoroutine.Delete(id)
		}
	}()
	return synced(), left.done
}

// askAllSynced is askSynced of all functions, up to the first that says no.
func askAllSynced(all []InformerSynced) (ok bool, awaited <-chan struct{}) {
	for _, synced := range all {
		if ok, awaited := askSynced(synced); !ok {
			return false, awaited
		}
	}
	return true, nil
}

// isSynced reports whether done is closed, and tells one who waits for a sync that this is what to wait for.
func isSynced(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
	}
	if asking.n.Load() > 0 {
		if left, ok := asking.byGoroutine.Load(goroutine.ID()); ok {
			left.(*awaitedChannel).done = done
		}
	}
	return false
}
