package screen

// Style is how a line looks where there are colors.
type Style uint8

const (
	Normal Style = iota
	Strong
	Dim
	Good
	Notable
	Bad
)

var codes = [...]string{Normal: "", Strong: "1", Dim: "2", Good: "32", Notable: "33", Bad: "31"}

// Line is one line of text, without a line break.
type Line struct {
	Text  string
	Style Style
}

func (l Line) paint(color bool) string {
	if !color || codes[l.Style] == "" || l.Text == "" {
		return l.Text
	}
	return "\x1b[" + codes[l.Style] + "m" + l.Text + "\x1b[0m"
}
