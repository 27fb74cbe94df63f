package objdiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// none stands for the value of the side that has none.
const none = "<none>"

// String is the change in one line: "spec.replicas: 1 -> 2". Values are JSON; long ones are shortened to what differs, with … for what is
// left out.
func (c Change) String() string {
	switch c.Kind {
	case Added:
		return fmt.Sprintf("%s: %s -> %s", c.Path, none, cut(encode(c.New)))
	case Removed:
		return fmt.Sprintf("%s: %s -> %s", c.Path, cut(encode(c.Old)), none)
	case Reordered:
		return fmt.Sprintf("%s: order %s -> %s", c.Path, cut(encode(c.Old)), cut(encode(c.New)))
	}
	old, new := encode(c.Old), encode(c.New)
	_, isText := c.Old.(string)
	if _, both := c.New.(string); isText && both {
		old, new = shorten(old, new)
	}
	return fmt.Sprintf("%s: %s -> %s", c.Path, cut(old), cut(new))
}

const (
	maxText = 300 // of a value shown, in bytes
	context = 24  // shown of what is the same on both sides, in bytes
)

// shorten leaves out what two long texts have in common at the front and at the end.
func shorten(a, b string) (string, string) {
	if max(len(a), len(b)) <= 4*context {
		return a, b
	}
	front := 0
	for front < len(a) && front < len(b) && a[front] == b[front] {
		front++
	}
	end := 0
	for end < len(a)-front && end < len(b)-front && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	if front > 2*context {
		from := runeStart(a, front-context)
		a, b = "…"+a[from:], "…"+b[from:]
	}
	if end > 2*context {
		to := len(a) - end + context
		for to < len(a) && !utf8.RuneStart(a[to]) {
			to++
		}
		rest := len(a) - to
		a, b = a[:to]+"…", b[:len(b)-rest]+"…"
	}
	return a, b
}

// cut bounds a text.
func cut(s string) string {
	if len(s) <= maxText {
		return s
	}
	to := runeStart(s, maxText)
	return fmt.Sprintf("%s… (%d bytes)", s[:to], len(s))
}

// runeStart is the start of the rune that the byte at i belongs to.
func runeStart(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// encode is v as compact JSON. What is no JSON is shown as Go prints it.
func encode(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}
