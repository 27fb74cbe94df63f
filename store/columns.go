package store

import "slices"

// columns is a table of numbers: a row per slot, a column per index. What all indexes know of one object lies side by side,
// in one cache line: it is looked up for each change.
type columns struct {
	width int
	taken []bool // by column
	rows  []uint32
}

// add returns a free column, all 0.
func (c *columns) add() int {
	if i := slices.Index(c.taken, false); i >= 0 {
		c.taken[i] = true
		return i
	}
	wider := make([]uint32, 0, c.height()*(c.width+1))
	for i := range c.height() {
		wider = append(append(wider, c.rows[i*c.width:(i+1)*c.width]...), 0)
	}
	c.rows, c.width, c.taken = wider, c.width+1, append(c.taken, true)
	return c.width - 1
}

// drop gives a column back.
func (c *columns) drop(col int) {
	c.taken[col] = false
	if !slices.Contains(c.taken, true) {
		*c = columns{}
		return
	}
	for i := range c.height() {
		c.rows[i*c.width+col] = 0
	}
}

func (c *columns) height() int {
	if c.width == 0 {
		return 0
	}
	return len(c.rows) / c.width
}

func (c *columns) get(slot uint32, col int) uint32 {
	if i := int(slot)*c.width + col; i < len(c.rows) {
		return c.rows[i]
	}
	return 0
}

func (c *columns) set(slot uint32, col int, x uint32) {
	if c.get(slot, col) == x {
		return
	}
	if n := (int(slot)+1)*c.width - len(c.rows); n > 0 {
		c.rows = append(c.rows, make([]uint32, n)...)
	}
	c.rows[int(slot)*c.width+col] = x
}
