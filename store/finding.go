package store

import (
	"cmp"
	"iter"
	"math/bits"
	"slices"
)

// finding is a query resolved in a snapshot: a set of slots that is worked out block by block. It keeps scratch, so it
// belongs to one goroutine.
type finding interface {
	len() int       // how many slots at most
	from(i int) int // the first block not before i that may have some, or -1

	// What the finding has of block i is added to a selection, alone kept in it, or cut from it.
	add(i int, to *selection)
	keep(i int, in *selection)
	cut(i int, from *selection)

	has(slot uint32) bool // of a slot that is live
}

// fewFound is how many slots are better looked at one by one than by blocks.
const fewFound = 32

// candidates returns a small set that has all that f has, if there is one.
func candidates(f finding) (p posting, ok bool) {
	switch f := f.(type) {
	case posting:
		return f, true
	case *common:
		p, ok = f.of[0].(posting)
		return p, ok && p.len() <= fewFound
	case *except:
		p, ok = candidates(f.finding)
		return p, ok && p.len() <= fewFound
	}
	return p, false
}

// found iterates over the slots of f in ascending order.
func found(f finding) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if p, ok := candidates(f); ok {
			foundAmong(p, f, yield)
			return
		}
		var sel selection
		for i := f.from(0); i >= 0; i = f.from(i + 1) {
			f.add(i, &sel)
			for m := sel.some; m != 0; m &= m - 1 {
				j := bits.TrailingZeros64(m)
				for x := sel.words[j]; x != 0; x &= x - 1 {
					if !yield(uint32(i<<blockBits | j<<6 | bits.TrailingZeros64(x))) {
						return
					}
				}
			}
			sel.clear()
		}
	}
}

func foundAmong(p posting, f finding, yield func(uint32) bool) {
	var buf [runSlots]uint32
	_, all := f.(posting)
	for at := 0; ; {
		run := p.run(&at, &buf)
		if len(run) == 0 {
			return
		}
		for _, slot := range run {
			if (all || f.has(slot)) && !yield(slot) {
				return
			}
		}
	}
}

// union is what any of its parts has.
type union struct {
	of   []finding
	part part
}

func anyOf(of []finding) finding {
	if len(of) == 1 {
		return of[0]
	}
	return &union{of: of}
}

func (u *union) len() int {
	n := 0
	for _, f := range u.of {
		n += f.len()
	}
	return n
}

func (u *union) from(i int) int {
	first := -1
	for _, f := range u.of {
		if at := f.from(i); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

func (u *union) add(i int, to *selection) {
	for _, f := range u.of {
		f.add(i, to)
	}
}

func (u *union) keep(i int, in *selection) { in.keepAll(&u.part.of(u, i).words) }

func (u *union) cut(i int, from *selection) {
	for _, f := range u.of {
		f.cut(i, from)
	}
}

func (u *union) has(slot uint32) bool {
	return slices.ContainsFunc(u.of, func(f finding) bool { return f.has(slot) })
}

// common is what all of its parts (at least one) have, the smallest first.
type common struct {
	of   []finding
	part part
}

func allOf(of []finding) finding {
	if len(of) == 1 {
		return of[0]
	}
	slices.SortFunc(of, func(a, b finding) int { return cmp.Compare(a.len(), b.len()) })
	return &common{of: of}
}

func (c *common) len() int { return c.of[0].len() }

func (c *common) from(i int) int { return c.of[0].from(i) }

func (c *common) add(i int, to *selection) {
	if to.some != 0 {
		to.addAll(c.part.of(c, i))
		return
	}
	c.of[0].add(i, to)
	for _, f := range c.of[1:] {
		f.keep(i, to)
	}
}

func (c *common) keep(i int, in *selection) {
	for _, f := range c.of {
		f.keep(i, in)
	}
}

func (c *common) cut(i int, from *selection) { from.cutAll(&c.part.of(c, i).words) }

func (c *common) has(slot uint32) bool {
	for _, f := range c.of {
		if !f.has(slot) {
			return false
		}
	}
	return true
}

// except is what the first has and none of the others.
type except struct {
	finding
	not  []finding
	part part
}

func (e *except) add(i int, to *selection) {
	if to.some != 0 {
		to.addAll(e.part.of(e, i))
		return
	}
	e.finding.add(i, to)
	for _, f := range e.not {
		f.cut(i, to)
	}
}

func (e *except) keep(i int, in *selection) {
	e.finding.keep(i, in)
	for _, f := range e.not {
		f.cut(i, in)
	}
}

func (e *except) cut(i int, from *selection) { from.cutAll(&e.part.of(e, i).words) }

func (e *except) has(slot uint32) bool {
	return e.finding.has(slot) && !slices.ContainsFunc(e.not, func(f finding) bool { return f.has(slot) })
}

// part is room for what a finding has of one block, made when it is first needed.
type part struct{ sel *selection }

func (p *part) of(f finding, i int) *selection {
	if p.sel == nil {
		p.sel = new(selection)
	}
	p.sel.clear()
	f.add(i, p.sel)
	return p.sel
}

// every is all objects.
type every[T any] struct{ s *Snapshot[T] }

func (e every[T]) len() int { return e.s.n }

func (e every[T]) from(i int) int {
	if i<<blockBits < len(e.s.objects.chunks)<<slotBits {
		return i
	}
	return -1
}

func (e every[T]) add(i int, to *selection) {
	const chunks = blockSlots >> slotBits // of a block
	all := e.s.objects.chunks
	for k := i * chunks; k < min(len(all), (i+1)*chunks); k++ {
		for j, m := range &all[k].live {
			if m != 0 {
				slot := uint32(k<<slotBits | j<<pageBits)
				to.add(int(slot>>6)&(blockWords-1), uint64(m)<<(slot&63))
			}
		}
	}
}

func (e every[T]) keep(int, *selection) {}

func (e every[T]) cut(_ int, from *selection) { from.clear() }

func (e every[T]) has(uint32) bool { return true }
