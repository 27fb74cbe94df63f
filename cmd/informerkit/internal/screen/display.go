package screen

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// Terminal is what is known of where output goes.
type Terminal struct {
	// Size gives columns and lines; nil if the output is no terminal.
	Size func() (columns, lines int)
	// Color: colors may be used.
	Color bool
}

// Detect looks at w. A terminal is one that can move its cursor (TERM is not "dumb"); NO_COLOR, if not empty, switches colors off
// (https://no-color.org).
func Detect(w io.Writer, getenv func(string) string) Terminal {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || getenv("TERM") == "dumb" {
		return Terminal{}
	}
	return Terminal{
		Color: getenv("NO_COLOR") == "",
		Size: func() (int, int) {
			columns, lines, err := term.GetSize(int(f.Fd()))
			if err != nil || columns <= 0 || lines <= 0 {
				return 80, 24
			}
			return columns, lines
		},
	}
}

// Display shows a stream of lines and, on a terminal, a panel below it, each line cut to the terminal's width. Safe for concurrent use.
type Display struct {
	mu    sync.Mutex // guards what follows, and keeps writes whole
	term  Terminal
	w     io.Writer
	panel []Line
	drawn int   // lines of the panel on the terminal
	err   error // the first of writing; nothing is written after it
}

// NewDisplay shows on w, which term describes.
func NewDisplay(w io.Writer, term Terminal) *Display { return &Display{w: w, term: term} }

// Live reports whether the panel is shown and refreshed in place.
func (d *Display) Live() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.liveLocked()
}

func (d *Display) liveLocked() bool { return d.term.Size != nil }

// Print adds lines to the stream.
func (d *Display) Print(lines ...Line) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writeLocked(lines)
}

// Refresh adds lines to the stream and makes panel what is shown below it. Without a terminal the panel is not shown.
func (d *Display) Refresh(lines, panel []Line) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.liveLocked() {
		d.panel = panel
	}
	return d.writeLocked(lines)
}

// Close leaves the panel where it is, as the last part of the stream. What is printed later has no panel below it and is not cut.
func (d *Display) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.drawn > 0 {
		d.sendLocked(showCursor)
	}
	d.panel, d.drawn, d.term.Size = nil, 0, nil
	return d.err
}

const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	clearBelow = "\x1b[J"
)

func (d *Display) writeLocked(lines []Line) error {
	var b strings.Builder
	if !d.liveLocked() {
		for _, l := range lines {
			l.Text = clean(l.Text)
			b.WriteString(l.paint(d.term.Color) + "\n")
		}
		return d.sendLocked(b.String())
	}
	columns, height := d.term.Size()
	if d.drawn > 0 {
		fmt.Fprintf(&b, "\r\x1b[%dA%s", d.drawn, clearBelow)
	} else if len(d.panel) > 0 {
		b.WriteString(hideCursor)
	}
	for _, l := range lines {
		l.Text = fit(clean(l.Text), columns-1)
		b.WriteString(l.paint(d.term.Color) + "\n")
	}
	panel := d.panel[:min(len(d.panel), max(height-1, 0))]
	for _, l := range panel {
		l.Text = fit(clean(l.Text), columns-1)
		b.WriteString(l.paint(d.term.Color) + "\n")
	}
	d.drawn = len(panel)
	return d.sendLocked(b.String())
}

func (d *Display) sendLocked(s string) error {
	if d.err == nil && s != "" {
		_, d.err = io.WriteString(d.w, s)
	}
	return d.err
}
