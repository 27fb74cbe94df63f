package store

import "math/bits"

// selection is the slots of one block that a query has found so far. The zero value is empty.
type selection struct {
	some uint64 // a bit per word that is not 0
	words
}

// bitOf returns where a slot, or an offset in a block, has its bit.
func bitOf[E uint16 | uint32](x E) (word int, bit uint64) {
	return int(x>>6) & (blockWords - 1), 1 << (x & 63)
}

func (s *selection) add(word int, bits uint64) {
	s.words[word] |= bits
	s.some |= 1 << word
}

// keep takes all but bits out of a word that is not 0.
func (s *selection) keep(word int, bits uint64) {
	if s.words[word] &= bits; s.words[word] == 0 {
		s.some &^= 1 << word
	}
}

func (s *selection) clear() {
	for m := s.some; m != 0; m &= m - 1 {
		s.words[bits.TrailingZeros64(m)] = 0
	}
	s.some = 0
}

func (s *selection) addAll(t *selection) {
	for m := t.some; m != 0; m &= m - 1 {
		j := bits.TrailingZeros64(m)
		s.words[j] |= t.words[j]
	}
	s.some |= t.some
}

func (s *selection) keepAll(t *words) {
	for m := s.some; m != 0; m &= m - 1 {
		j := bits.TrailingZeros64(m)
		s.keep(j, t[j])
	}
}

func (s *selection) cutAll(t *words) {
	for m := s.some; m != 0; m &= m - 1 {
		j := bits.TrailingZeros64(m)
		s.keep(j, ^t[j])
	}
}

// keepList keeps the offsets in an ascending list.
func (s *selection) keepList(list []uint16) {
	for m := s.some; m != 0; m &= m - 1 {
		j := bits.TrailingZeros64(m)
		var w uint64
		for len(list) > 0 && int(list[0]>>6) <= j {
			if word, bit := bitOf(list[0]); word == j {
				w |= bit
			}
			list = list[1:]
		}
		s.keep(j, w)
	}
}

func (s *selection) count() int {
	n := 0
	for m := s.some; m != 0; m &= m - 1 {
		n += bits.OnesCount64(s.words[bits.TrailingZeros64(m)])
	}
	return n
}

// add selects the slots of block i in p too.
func (p posting) add(i int, to *selection) {
	if p.set == nil || p.set.blocks == nil {
		var buf [1]uint32
		for _, x := range p.fewIn(i, &buf) {
			to.add(bitOf(x))
		}
		return
	}
	b := p.set.block(i)
	if b == nil {
		return
	}
	if b.words != nil {
		for j, w := range b.words {
			if w != 0 {
				to.add(j, w)
			}
		}
	}
	for _, x := range b.list {
		to.add(bitOf(x))
	}
}

// keep selects only what is in p as well.
func (p posting) keep(i int, in *selection) {
	if p.set == nil || p.set.blocks == nil {
		var one [1]uint32
		var buf [fewMax]uint16
		few := p.fewIn(i, &one)
		list := buf[:len(few)]
		for k, x := range few {
			list[k] = uint16(x & (blockSlots - 1))
		}
		in.keepList(list)
		return
	}
	switch b := p.set.block(i); {
	case b == nil:
		in.clear()
	case b.words != nil:
		in.keepAll(b.words)
	default:
		in.keepList(b.list)
	}
}

// cut selects only what is not in p.
func (p posting) cut(i int, from *selection) {
	cut := func(word int, bit uint64) {
		if from.words[word]&bit != 0 {
			from.keep(word, ^bit)
		}
	}
	if p.set == nil || p.set.blocks == nil {
		var buf [1]uint32
		for _, x := range p.fewIn(i, &buf) {
			cut(bitOf(x))
		}
		return
	}
	switch b := p.set.block(i); {
	case b == nil:
	case b.words != nil:
		from.cutAll(b.words)
	default:
		for _, x := range b.list {
			cut(bitOf(x))
		}
	}
}
