package ownwrites

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

type object = *metav1.PartialObjectMetadata

// obj makes an object of "name@version" or "name@version/uid".
func obj(text string) object {
	name, rest, _ := strings.Cut(text, "@")
	version, uid, _ := strings.Cut(rest, "/")
	o := &metav1.PartialObjectMetadata{}
	o.Name, o.ResourceVersion, o.UID = name, version, types.UID(uid)
	return o
}

// write makes one of an object, and a deletion if the text begins with a minus.
func write(t testing.TB, text string) Write[object] {
	t.Helper()
	make := New[object]
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		make, text = NewDeletion[object], rest
	}
	w, err := make(obj(text))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var names = map[Standing]string{Shown: "shown", Hidden: "hidden", Settled: "settled", Gone: "gone"}

func TestAgainst(t *testing.T) {
	for name, c := range map[string]struct {
		write, former, stored, revision string
		want                            Standing
		known                           bool
	}{
		"the store lags":                         {write: "a@5/x", stored: "a@4/x", want: Shown, known: true},
		"the store is to get it":                 {write: "a@5/x", want: Shown},
		"numbers are compared":                   {write: "a@10/x", stored: "a@9/x", want: Shown, known: true},
		"the store has it":                       {write: "a@5/x", stored: "a@5/x", want: Settled, known: true},
		"the store has a later one":              {write: "a@5/x", stored: "a@6/x", want: Settled, known: true},
		"the store has passed it":                {write: "a@5/x", stored: "a@4/x", revision: "5", want: Settled, known: true},
		"the store has not got there":            {write: "a@5/x", stored: "a@4/x", revision: "4", want: Shown, known: true},
		"passed, and not there":                  {write: "a@5/x", revision: "6", want: Gone},
		"was there, and is not any more":         {write: "a@5/x", former: "a@4/x", want: Gone, known: true},
		"its predecessor was there":              {write: "a@5/y", former: "a@4/x", want: Shown},
		"its successor is there":                 {write: "a@5/x", stored: "a@8/y", want: Settled},
		"the stored version is no number":        {write: "a@5/x", stored: "a@?/x", want: Settled, known: true},
		"the stored one has no version":          {write: "a@5/x", stored: "a@/x", want: Settled, known: true},
		"a deletion hides":                       {write: "-a@5/x", stored: "a@5/x", want: Hidden, known: true},
		"a deletion hides later states":          {write: "-a@5/x", stored: "a@7/x", want: Hidden, known: true},
		"a deletion hides what was passed":       {write: "-a@5/x", stored: "a@5/x", revision: "9", want: Hidden, known: true},
		"a deletion hides what is to come":       {write: "-a@5/x", want: Hidden},
		"a deletion hides a predecessor":         {write: "-a@8/y", stored: "a@4/x", want: Hidden},
		"a deletion, passed, does not":           {write: "-a@8/y", stored: "a@4/x", revision: "8", want: Settled},
		"a deletion shows the successor":         {write: "-a@5/x", stored: "a@8/y", want: Settled},
		"a deletion that was seen":               {write: "-a@5/x", former: "a@6/x", want: Gone, known: true},
		"a deletion that was passed":             {write: "-a@5/x", revision: "6", want: Gone},
		"a deletion without UID, same version":   {write: "-a@5", stored: "a@5", want: Hidden, known: true},
		"a deletion without UID, later version":  {write: "-a@5", stored: "a@6", want: Settled, known: true},
		"a deletion, the stored one has no UID":  {write: "-a@5/x", stored: "a@4", want: Hidden},
		"a deletion, the stored is no number":    {write: "-a@5/x", stored: "a@?/y", want: Settled},
		"a deletion, passed long ago, not there": {write: "-a@5/x", former: "a@5/x", revision: "90", want: Gone, known: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := write(t, c.write)
			if c.former != "" {
				w.Against(obj(c.former), true, "")
			}
			current := obj(c.stored)
			if got := w.Against(current, c.stored != "", c.revision); got != c.want || w.known != c.known {
				t.Errorf("%s, known %t; want %s, %t", names[got], w.known, names[c.want], c.known)
			}
			shown, ok := w.Show(current, c.stored != "", c.revision)
			switch c.want {
			case Shown:
				ok = ok && shown == w.Obj
			case Settled:
				ok = ok && shown == current
			default:
				ok = !ok && (c.want == Gone || shown == nil)
			}
			if !ok {
				t.Errorf("shows %v", shown)
			}
		})
	}
}

func TestStoredObjectWithoutMetadataSettles(t *testing.T) {
	w, err := New[any](obj("a@5"))
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Against("text", true, ""); got != Settled {
		t.Errorf("%s", names[got])
	}
}

func TestOnlyWhatCanBeComparedIsAWrite(t *testing.T) {
	for _, version := range []string{"", "x", "0", "-1"} {
		for _, of := range []func(object) (Write[object], error){New[object], NewDeletion[object]} {
			if _, err := of(obj("a@" + version)); err == nil || !strings.Contains(err.Error(), "a: ") {
				t.Errorf("%q: %v", version, err)
			}
		}
	}
	if _, err := New[any]("text"); err == nil || !strings.Contains(err.Error(), "string") {
		t.Errorf("no object: %v", err)
	}
	o := obj("a@5")
	o.Namespace = "ns"
	if w, err := New(o); err != nil || w.Key != "ns/a" {
		t.Errorf("key %q, %v", w.Key, err)
	}
}

// Of two writes of one key, told in any order, one is held.
func TestPutHoldsTheLaterOfTwo(t *testing.T) {
	for name, c := range map[string]struct{ first, second, want string }{
		"later":                                   {"a@5/x", "a@6/x", "a@6"},
		"same version":                            {"a@5/x", "a@5/x", "a@5"},
		"earlier":                                 {"a@10/x", "a@9/x", "a@10"},
		"a successor":                             {"a@5/x", "a@8/y", "a@8"},
		"a predecessor":                           {"a@8/y", "a@5/x", "a@8"},
		"its deletion":                            {"a@5/x", "-a@6/x", "-a@6"},
		"its deletion, of an older state":         {"a@7/x", "-a@5/x", "-a@5"},
		"the deletion of a predecessor":           {"a@8/y", "-a@5/x", "a@8"},
		"the deletion of a successor":             {"a@5/x", "-a@8/y", "-a@8"},
		"told late":                               {"-a@5/x", "a@4/x", "-a@5"},
		"told late, later than is known":          {"-a@5/x", "a@7/x", "-a@5"},
		"a successor of what was deleted":         {"-a@5/x", "a@8/y", "a@8"},
		"a predecessor of what was deleted":       {"-a@8/y", "a@5/x", "-a@8"},
		"two deletions":                           {"-a@5/x", "-a@6/x", "-a@5"},
		"deletion of a successor":                 {"-a@5/x", "-a@8/y", "-a@8"},
		"deletion of a predecessor":               {"-a@8/y", "-a@5/x", "-a@8"},
		"without UID, later than the deletion":    {"-a@5", "a@6", "a@6"},
		"without UID, earlier":                    {"-a@5", "a@5", "-a@5"},
		"without UID, deletion of an older state": {"a@7", "-a@5", "a@7"},
	} {
		t.Run(name, func(t *testing.T) {
			table := NewTable[object](Options{Max: 10})
			check(t, "holds", c.want, put(t, table, c.first, c.second))
		})
	}
}
