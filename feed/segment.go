package feed

import "time"

// Segments grow with the log, so that a log that sees few changes stays small: an empty one first, then minSegment
// entries, and twice as many each time up to maxSegment.
const (
	minSegment = 8
	maxSegment = 128
)

// entry is a change in the log, and when it was appended (since the log's epoch).
type entry[T any] struct {
	change Change[T]
	at     time.Duration
}

// segment is a fixed piece of the log. An entry is written once, before the end of the log moves past it, and read only
// by those who saw the end move; the same holds for next, which is set before the end moves past the segment's own end.
// That is all the synchronisation its readers need. It is wiped (by the log, under its lock) when nobody will read it.
type segment[T any] struct {
	start   Position
	entries []entry[T]
	next    *segment[T]
}

func (s *segment[T]) end() Position { return s.start + Position(len(s.entries)) }

// grow links a new last segment that is to take n more entries, or the first of them.
func (s *segment[T]) grow(n int) *segment[T] {
	size := min(max(2*len(s.entries), n, minSegment), maxSegment)
	s.next = &segment[T]{start: s.end(), entries: make([]entry[T], size)}
	return s.next
}

// place is a point between two entries of the log.
type place[T any] struct {
	seg *segment[T]
	pos Position
}

// read moves the place forward and returns the entries it moved over: at most limit, all of one segment, none beyond
// end, which must be an end of the log that the caller has seen. Empty only if limit is 0 or the place is at end.
func (p *place[T]) read(end Position, limit int) []entry[T] {
	if p.pos >= end || limit <= 0 {
		return nil
	}
	for p.pos == p.seg.end() {
		p.seg = p.seg.next
	}
	from := p.pos - p.seg.start
	n := min(p.seg.end()-p.pos, end-p.pos, Position(limit))
	p.pos += n
	return p.seg.entries[from : from+n]
}

// peek is when the entry after the place was appended. There must be one.
func (p place[T]) peek(end Position) time.Duration { return p.read(end, 1)[0].at }
