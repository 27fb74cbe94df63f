package store

import "math/bits"

// slots hands out slot numbers, always the lowest free one, so that what is stored stays dense.
type slots struct {
	top  uint32   // slots from here on were never used
	free []uint64 // a bit per slot below top that was given back
	sum  []uint64 // a bit per word of free that is not 0
	n    int      // bits in free
}

func (s *slots) take() uint32 {
	if s.n == 0 {
		s.top++
		return s.top - 1
	}
	for i, sum := range s.sum {
		if sum == 0 {
			continue
		}
		w := i<<6 | bits.TrailingZeros64(sum)
		b := bits.TrailingZeros64(s.free[w])
		if s.free[w] &^= 1 << b; s.free[w] == 0 {
			s.sum[i] &^= 1 << (w & 63)
		}
		s.n--
		return uint32(w<<6 | b)
	}
	panic("BUG: store: free slots counted but not found")
}

func (s *slots) give(slot uint32) {
	w := int(slot >> 6)
	for w >= len(s.free) {
		s.free = append(s.free, 0)
	}
	for w>>6 >= len(s.sum) {
		s.sum = append(s.sum, 0)
	}
	s.free[w] |= 1 << (slot & 63)
	s.sum[w>>6] |= 1 << (w & 63)
	s.n++
}
