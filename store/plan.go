package store

import (
	"slices"
	"unsafe"
)

// plan is a transaction worked out and not yet applied. All calls of the user's functions are made for it, so that none
// is made while a reader may have to wait, and a panic leaves nothing half done.
type plan[T any] struct {
	changes []Change[T]
	steps   []step // beside changes
	tasks   []task // in order of steps
	values  scratch

	// Of the block of operations that is worked on: what index functions returned, index by index.
	calls  []call
	called scratch
}

type step struct {
	hash, slot uint32 // slot of the object there is, if HadOld
}

func (p *plan[T]) start(changes []Change[T]) { p.changes = changes[:0] }

func (p *plan[T]) reset() {
	clear(p.tasks)
	clear(p.calls)
	p.values.reset()
	p.called.reset()
	if cap(p.steps) > maxScratch || cap(p.values.values) > maxScratch {
		*p = plan[T]{}
		return
	}
	p.changes, p.steps, p.tasks = nil, p.steps[:0], p.tasks[:0]
}

// ahead is how many operations are worked on side by side, in loops so plain that the cache misses of many overlap. For a
// single one, too, the wait for its key is filled with the index functions (BenchmarkBatch, BenchmarkUpdate).
const ahead = 32

// planOpsLocked plans a batch.
func (w *Writer[T]) planOpsLocked(b *Batch[T]) {
	for block := range slices.Chunk(b.ops, ahead) {
		w.touchLocked(block)
		w.callLocked(block)
		w.findLocked(block)
		if b.Older != nil {
			w.skipLocked(block, b.Older)
		}
		w.planBlockLocked(block)
	}
}

// skipLocked leaves out those of a block, whose keys are looked up, that put what makes no change beside what is there.
func (w *Writer[T]) skipLocked(block []op[T], vain func(prev, next T) bool) {
	for i := range block {
		if o := &block[i]; o.kind == opPut && o.found && vain(w.unpackLocked(w.objects.cur.at(o.slot)), o.obj) {
			o.kind = opDead
		}
	}
}

// planPutsLocked plans those of ops, whose keys are looked up, that put what is not the Same as what is there.
func (w *Writer[T]) planPutsLocked(ops []op[T]) {
	for block := range slices.Chunk(ops, ahead) {
		if w.same != nil {
			w.skipLocked(block, w.same)
		}
		w.callLocked(block)
		w.planBlockLocked(block)
	}
}

// locateLocked looks up the keys of ops.
func (w *Writer[T]) locateLocked(ops []op[T]) {
	for block := range slices.Chunk(ops, ahead) {
		w.touchLocked(block)
		w.findLocked(block)
	}
}

func (w *Writer[T]) touchLocked(block []op[T]) { w.touched += touch(w.objects.cur, &w.under, block) }

func (w *Writer[T]) findLocked(block []op[T]) { find(w.objects.cur, block) }

// find looks up the keys of a block.
func find[T any](c *content[ref], block []op[T]) {
	for i := range block {
		if o := &block[i]; o.kind != opDead {
			slot, r := getRef(c, o.hash, o.key)
			o.slot, o.found = slot, r.p != nil
		}
	}
}

// touch reads what looking up a block will probably read: it returns something for which all of it is needed.
func touch[T any](c *content[ref], under *columns, block []op[T]) (all uint64) {
	for i := range block {
		e := c.hints.entries[c.hints.start(block[i].hash)].Load()
		block[i].slot = uint32(e) - 1
		all += e
	}
	for i := range block {
		if slot := block[i].slot; int(slot>>slotBits) < len(c.chunks) {
			j, k := split(slot)
			if p := c.chunks[slot>>slotBits].pages[j].Load(); p != nil {
				all += uint64(len(p[k].key)) + uint64(under.get(slot, 0))
			}
		}
	}
	return all
}

// callLocked calls the index functions for what a block puts.
func (w *Writer[T]) callLocked(block []op[T]) {
	p := &w.plan
	p.called.reset()
	p.calls = slices.Grow(p.calls[:0], len(block)*len(w.indexes))[:len(block)*len(w.indexes)]
	for i, x := range w.indexes {
		x.ix.callAll(block, &p.called, p.calls[i*len(block):][:len(block)])
	}
}

// planBlockLocked plans a block whose keys are looked up and whose index functions have been called.
func (w *Writer[T]) planBlockLocked(block []op[T]) {
	p := &w.plan
	for n := range block {
		switch o := &block[n]; {
		case o.kind == opDelete && o.found:
			w.planDeleteLocked(o.hash, o.slot)
		case o.kind == opPut:
			c := Change[T]{Key: o.key, New: o.obj, HasNew: true}
			if o.found {
				at := w.objects.cur.at(o.slot)
				c.Key, c.Old, c.HadOld = at.key, w.unpackLocked(at), true
			}
			for i, x := range w.indexes {
				call := &p.calls[i*len(block)+n]
				values := p.called.values[call.lo:call.hi]
				if call.err == nil && o.found && x.unchanged(o.slot, o.key, values) {
					continue
				}
				t := task{step: int32(len(p.steps)), index: int32(i), err: call.err}
				t.lo, t.hi = p.values.keep(values)
				p.tasks = append(p.tasks, t)
			}
			p.changes = append(p.changes, c)
			p.steps = append(p.steps, step{o.hash, o.slot})
		}
	}
}

func (w *Writer[T]) planDeleteLocked(hash, slot uint32) {
	at := w.objects.cur.at(slot)
	w.plan.changes = append(w.plan.changes, Change[T]{Key: at.key, Old: w.unpackLocked(at), HadOld: true})
	w.plan.steps = append(w.plan.steps, step{hash, slot})
}

// quick is the most changes that are written while snapshots may have to wait for it.
const quick = 1024

// applyLocked makes the plan the newest version.
//
// Objects are changed in place, one atomic write each, where no snapshot can reach them; or else (together), all that
// changes is copied, and published by one pointer. Indexes are changed in place, and Store.mu keeps snapshots away
// meanwhile. If there is much to do, the version so far is frozen first, so that nobody waits: snapshots are given
// that one, and everything is changed beside it.
func (w *Writer[T]) applyLocked(revision string, together bool) {
	fitting := w.fittingLocked()
	if len(w.plan.changes) > quick {
		w.s.Snapshot()
		w.objects.cur = fitting
		w.applyStepsLocked()
		w.s.mu.Lock()
		w.s.latest.Store(nil)
	} else {
		w.s.lockSoon()
		if w.s.latest.Load() != nil {
			w.s.latest.Store(nil)
		}
		if together {
			w.made = w.stampLocked()
		}
		w.objects.cur = fitting
		w.applyStepsLocked()
	}
	defer w.s.mu.Unlock()
	w.version++
	if w.s.objects.Load() != w.objects.cur {
		w.s.objects.Store(w.objects.cur)
	}
	if n := int64(w.objects.n); w.s.n.Load() != n {
		w.s.n.Store(n)
	}
	if revision != "" && revision != w.revision {
		w.revision = revision
		published := revision // declared here, to escape only here
		w.s.revision.Store(&published)
	}
}

// fittingLocked returns the newest version, or an equal one made beside it that can hold what the plan puts: see ref.
func (w *Writer[T]) fittingLocked() *content[ref] {
	cur := w.objects.cur
	if w.refs.kind != refInterface {
		return cur
	}
	var of unsafe.Pointer
	puts := false
	for i := range w.plan.changes {
		c := &w.plan.changes[i]
		if !c.HasNew {
			continue
		}
		if t := w.refs.typeOf(&c.New); !puts {
			of, puts = t, true
		} else if of != t {
			of = nil
			break
		}
	}
	switch {
	case !puts || of == cur.of:
		return cur
	case w.objects.n > 0 && cur.of == nil:
		return cur
	case w.objects.n > 0:
		of = nil
	}
	next := cur.mapped(func(r ref) ref { return w.refs.pack(of, w.refs.unpack(cur.of, r)) })
	next.of = of
	return next
}

func (w *Writer[T]) unpackLocked(at *cell[ref]) T { return w.refs.unpack(w.objects.cur.of, at.val) }

func (w *Writer[T]) applyStepsLocked() {
	p := &w.plan
	if len(p.changes) == 0 {
		return
	}
	st, ist := stamp{w.made, w.stampLocked()}, stamp{w.indexed, w.indexed}
	tasks := p.tasks
	for i := range p.changes {
		c, s := &p.changes[i], p.steps[i]
		switch {
		case !c.HasNew:
			for _, x := range w.indexes {
				x.drop(s.slot, c.Key, ist)
			}
			for _, o := range w.orders {
				o.remove(s.slot, w.objects.cur, ist.made)
			}
			w.objects.remove(s.hash, s.slot, st)
		case c.HadOld:
			w.objects.update(s.slot, w.refs.pack(w.objects.cur.of, c.New), st)
		default:
			s.slot = w.objects.insert(s.hash, c.Key, w.refs.pack(w.objects.cur.of, c.New), st)
			for _, o := range w.orders {
				o.insert(s.slot, w.objects.cur, ist.made)
			}
		}
		for len(tasks) > 0 && int(tasks[0].step) == i {
			t := tasks[0]
			tasks = tasks[1:]
			w.indexes[t.index].apply(&p.values, t, s.slot, c.Key, ist)
		}
	}
}
