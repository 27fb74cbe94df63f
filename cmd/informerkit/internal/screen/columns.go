package screen

import (
	"strings"
	"unicode/utf8"
)

// Column describes one column.
type Column struct {
	Title string
	// Min is the width it has at least, in characters.
	Min int
	// Right aligns numbers.
	Right bool
}

// Columns aligns lines that are written one after another: a column is as wide as the widest cell so far, so that lines stay
// aligned without knowing what comes. It belongs to one goroutine.
type Columns struct {
	columns []Column
	widths  []int
}

// NewColumns starts with room for the titles.
func NewColumns(columns ...Column) *Columns {
	c := &Columns{columns: columns, widths: make([]int, len(columns))}
	for i, col := range columns {
		c.widths[i] = max(col.Min, width(col.Title))
	}
	return c
}

// Header is the line of titles.
func (c *Columns) Header() string {
	titles := make([]string, len(c.columns))
	for i, col := range c.columns {
		titles[i] = col.Title
	}
	return c.Line(titles...)
}

// Line aligns one cell per column. An empty cell shows as "-", as an absent one does.
func (c *Columns) Line(cells ...string) string {
	var b strings.Builder
	for i, col := range c.columns {
		cell := "-"
		if i < len(cells) && cells[i] != "" {
			cell = cells[i]
		}
		c.widths[i] = max(c.widths[i], width(cell))
		if i > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", c.widths[i]-width(cell))
		if col.Right {
			b.WriteString(pad + cell)
		} else {
			b.WriteString(cell + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// Table is the header and rows, aligned with each other.
func Table(columns []Column, rows [][]string) []string {
	c := NewColumns(columns...)
	for _, row := range rows {
		c.Line(row...) // widens
	}
	lines := []string{c.Header()}
	for _, row := range rows {
		lines = append(lines, c.Line(row...))
	}
	return lines
}

func width(s string) int { return utf8.RuneCountInString(s) }

// clean puts a space in the place of what a terminal would act on, line breaks included.
func clean(line string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, line)
}

// fit shortens a line to a width, with … in place of what is cut.
func fit(line string, columns int) string {
	if width(line) <= columns {
		return line
	}
	if columns <= 0 {
		return ""
	}
	return string([]rune(line)[:columns-1]) + "…"
}
