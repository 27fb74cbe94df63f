package objdiff

import (
	"maps"
	"slices"
)

// Kind says what a [Change] is.
type Kind uint8

const (
	// Changed: a value that both have is another one.
	Changed Kind = iota + 1
	// Added: only the new object has the value.
	Added
	// Removed: only the old object has it.
	Removed
	// Reordered: the elements of a list, matched by a field, are in another order than that of the old list followed by what was
	// added. Old and New are the values of that field, in order.
	Reordered
)

// Change is one difference. Old and New are parts of the objects compared, not copies.
type Change struct {
	Kind Kind
	// Path of an element found by position is, if it was Removed, its position in the old list, and otherwise in the new one.
	Path     Path
	Old, New any
}

// Diff tells how to get from old to new. What is under a path of ignore (written as [Path.String] has it) is left out.
func Diff(old, new map[string]any, ignore ...string) []Change {
	d := differ{ignore: ignore}
	d.maps(nil, old, new)
	return d.changes
}

type differ struct {
	ignore  []string
	changes []Change
}

func (d *differ) add(kind Kind, at Path, old, new any) {
	d.changes = append(d.changes, Change{Kind: kind, Path: at, Old: old, New: new})
}

func (d *differ) maps(at Path, old, new map[string]any) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(new))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		path := at.field(name)
		if len(d.ignore) > 0 && slices.Contains(d.ignore, path.String()) {
			continue
		}
		o, had := old[name]
		n, has := new[name]
		switch {
		case !had:
			d.add(Added, path, nil, n)
		case !has:
			d.add(Removed, path, o, nil)
		default:
			d.values(path, o, n)
		}
	}
}

func (d *differ) values(at Path, old, new any) {
	switch o := old.(type) {
	case map[string]any:
		if n, ok := new.(map[string]any); ok {
			d.maps(at, o, n)
			return
		}
	case []any:
		if n, ok := new.([]any); ok {
			d.lists(at, o, n)
			return
		}
	default:
		if equalScalars(old, new) {
			return
		}
	}
	d.add(Changed, at, old, new)
}

func (d *differ) lists(at Path, old, new []any) {
	if key := elementKey(old, new); key != "" {
		d.keyedLists(at, key, old, new)
		return
	}
	// Equal ends stay out of it, so that one element put in or taken out is one change.
	start := 0
	for start < len(old) && start < len(new) && Equal(old[start], new[start]) {
		start++
	}
	oldEnd, newEnd := len(old), len(new)
	for oldEnd > start && newEnd > start && Equal(old[oldEnd-1], new[newEnd-1]) {
		oldEnd--
		newEnd--
	}
	i := start
	for ; i < oldEnd && i < newEnd; i++ {
		d.values(at.index(i), old[i], new[i])
	}
	for j := i; j < oldEnd; j++ {
		d.add(Removed, at.index(j), old[j], nil)
	}
	for ; i < newEnd; i++ {
		d.add(Added, at.index(i), nil, new[i])
	}
}

func (d *differ) keyedLists(at Path, key string, old, new []any) {
	byKey := make(map[string]any, len(new))
	for _, e := range new {
		byKey[elementValue(e, key)] = e
	}
	var before, expected, after []any // values of key: as they were; as they would be without Reordered; as they are
	for _, e := range old {
		value := elementValue(e, key)
		before = append(before, value)
		n, ok := byKey[value]
		if !ok {
			d.add(Removed, at.element(key, value), e, nil)
			continue
		}
		expected = append(expected, value)
		delete(byKey, value)
		d.values(at.element(key, value), e, n)
	}
	for _, e := range new {
		value := elementValue(e, key)
		after = append(after, value)
		if _, added := byKey[value]; added {
			expected = append(expected, value)
			d.add(Added, at.element(key, value), nil, e)
		}
	}
	if !slices.Equal(expected, after) {
		d.add(Reordered, at, before, after)
	}
}
