package store

import "math/bits"

// Replace starts a replacement of the whole content, built beside it: nothing is visible before Commit.
// Dropping it without Commit leaves the store as it was.
func (w *Writer[T]) Replace() *Replacement[T] { return &Replacement[T]{w: w, base: w.s.Snapshot()} }

// Replacement is the next content in the making. What it needs is memory for what differs from the content there was when it
// began, and a bit for each object that does not. Not safe for concurrent use; commits by others are safe meanwhile.
type Replacement[T any] struct {
	w     *Writer[T]
	base  *Snapshot[T]
	kept  bitset // slots of base whose object was put again as the Same
	nkept int
	other Batch[T] // the rest

	// Put and not decided of yet: blocks are looked up side by side, see ahead.
	pending [ahead]op[T]
	n, next int    // pending[next:n] are left
	touched uint64 // see touch
}

var noColumns columns

// Put adds an object. Where the store already holds the Same, that one is kept and obj is not retained. Of a key put twice
// the later object counts.
func (r *Replacement[T]) Put(key string, obj T) {
	if r.n == len(r.pending) {
		r.settle()
	}
	r.pending[r.n] = op[T]{key: key, obj: obj, hash: hashOf(key), kind: opPut}
	r.n++
}

// settle decides of what is pending. If Same panics, it can go on.
func (r *Replacement[T]) settle() {
	left := r.pending[r.next:r.n]
	r.touched += touch(r.base.objects, &noColumns, left)
	find(r.base.objects, left)
	for ; r.next < r.n; r.next++ {
		r.put(&r.pending[r.next])
	}
	clear(r.pending[:r.n])
	r.n, r.next = 0, 0
}

func (r *Replacement[T]) put(o *op[T]) {
	if o.found {
		if r.w.same != nil && r.w.same(r.base.unpack(r.base.objects.at(o.slot)), o.obj) {
			if r.kept.set(o.slot) {
				r.nkept++
			}
			r.other.override(o.hash, o.key)
			return
		}
		if r.kept.clear(o.slot) {
			r.nkept--
		}
	}
	r.other.add(*o)
}

// Delete takes a key out of the replacement again, and so out of the content it makes. An unknown one is ignored.
func (r *Replacement[T]) Delete(key string) {
	r.settle()
	hash := hashOf(key)
	if slot, at := r.base.objects.find(hash, key); at != nil && r.kept.clear(slot) {
		r.nkept--
	}
	r.other.override(hash, key)
}

// Len is the number of keys put so far.
func (r *Replacement[T]) Len() int {
	r.settle()
	return r.nkept + r.other.Len()
}

// Commit makes the replacement the store's content as one version and returns the changes against what the store holds by
// now: deletions of what is no longer there, then additions and updates in the order of Put (first of all, restored objects that
// a commit since Replace changed and that were put as the Same before). The slice is the caller's. The replacement is
// used up: calling it again panics.
func (r *Replacement[T]) Commit(revision string) []Change[T] {
	if r.base == nil {
		panic("store: Replacement used after Commit")
	}
	r.settle()
	w := r.w
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.plan.reset()
	w.plan.start(nil)
	keep, restore := r.resolveLocked()
	for slot, at := range w.objects.cur.all() {
		if !keep.has(slot) {
			w.planDeleteLocked(hashOf(at.key), slot)
		}
	}
	w.planPutsLocked(restore)
	w.planPutsLocked(r.other.ops)
	w.applyLocked(revision, true)
	changes := w.plan.changes
	*r = Replacement[T]{}
	return changes
}

// resolveLocked returns the slots, in the version there is now, of keys that stay, and the objects to be restored. It looks
// up the keys of all ops.
func (r *Replacement[T]) resolveLocked() (keep bitset, restore []op[T]) {
	w := r.w
	if r.base.version == w.version {
		keep = r.kept
	} else {
		for slot := range r.kept.all() {
			if was := r.base.objects.at(slot); w.objects.cur.lookup(slot) == was {
				keep.set(slot)
			} else {
				restore = append(restore, op[T]{key: was.key, obj: r.base.unpack(was), hash: hashOf(was.key), kind: opPut})
			}
		}
	}
	for _, ops := range [][]op[T]{restore, r.other.ops} {
		w.locateLocked(ops)
		for i := range ops {
			if ops[i].kind == opPut && ops[i].found {
				keep.set(ops[i].slot)
			}
		}
	}
	return keep, restore
}

// bitset is a set of slots being gathered.
type bitset struct{ words []uint64 }

func (b *bitset) has(slot uint32) bool {
	return int(slot>>6) < len(b.words) && b.words[slot>>6]>>(slot&63)&1 != 0
}

// set adds slot and reports whether it is new.
func (b *bitset) set(slot uint32) bool {
	if b.has(slot) {
		return false
	}
	for int(slot>>6) >= len(b.words) {
		b.words = append(b.words, 0)
	}
	b.words[slot>>6] |= 1 << (slot & 63)
	return true
}

// clear removes slot and reports whether it was there.
func (b *bitset) clear(slot uint32) bool {
	if !b.has(slot) {
		return false
	}
	b.words[slot>>6] &^= 1 << (slot & 63)
	return true
}

func (b *bitset) all() func(yield func(uint32) bool) {
	return func(yield func(uint32) bool) {
		for i, x := range b.words {
			for ; x != 0; x &= x - 1 {
				if !yield(uint32(i<<6 | bits.TrailingZeros64(x))) {
					return
				}
			}
		}
	}
}
