package objdiff

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Step is one step of a [Path]: a field of an object (Index is -1 and Key ""), or an element of a list, found by position
// (Index) or by the value of one of its fields (Key and Field; Index is -1).
type Step struct {
	Field string // the field's name; with Key, the value that Key has
	Index int
	Key   string
}

// Path is the way from the root of an object to a value in it. It is never changed once made.
type Path []Step

func (p Path) field(name string) Path   { return p.with(Step{Field: name, Index: -1}) }
func (p Path) index(i int) Path         { return p.with(Step{Index: i}) }
func (p Path) element(k, v string) Path { return p.with(Step{Field: v, Index: -1, Key: k}) }
func (p Path) with(s Step) Path         { return append(p[:len(p):len(p)], s) }
func (s Step) isField() bool            { return s.Index < 0 && s.Key == "" }

var (
	plainField = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	plainValue = regexp.MustCompile(`^[A-Za-z0-9_./:-]+$`)
)

// String writes the path as people do: spec.containers[name=app].args[0], metadata.labels["example.com/tier"].
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.isField() && plainField.MatchString(s.Field):
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Field)
		case s.isField():
			b.WriteString("[" + strconv.Quote(s.Field) + "]")
		case s.Key == "":
			fmt.Fprintf(&b, "[%d]", s.Index)
		case plainValue.MatchString(s.Field):
			b.WriteString("[" + s.Key + "=" + s.Field + "]")
		default:
			b.WriteString("[" + s.Key + "=" + strconv.Quote(s.Field) + "]")
		}
	}
	return b.String()
}
