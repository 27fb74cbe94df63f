package feed

// Merge returns the one change that has the effect of older followed by newer, both of the same key; false if together
// they have none. Only the two ends count: the state before older and the state after newer.
//
//	older \ newer   Added            Updated          Deleted
//	Added           Added            Added            none
//	Updated         Updated          Updated          Deleted
//	Deleted         Updated          Updated          Deleted
//
// So a key that was deleted and came back is an Updated from the one to the other: a reader to whom these are two things
// tells them apart by what identifies them. The result has Old of older and New of newer. An Added is Initial if older
// was. A Deleted is Lost, or Moved, if newer is; its New may be of another identity than its Old.
func Merge[T any](older, newer Change[T]) (Change[T], bool) {
	m := Change[T]{Key: newer.Key, Merged: true}
	existed, exists := older.Kind != Added, newer.Kind != Deleted
	switch {
	case existed && exists:
		m.Kind, m.Old, m.New = Updated, older.Old, newer.New
	case exists:
		m.Kind, m.New, m.Initial = Added, newer.New, older.Initial
	case existed:
		m.Kind, m.Old, m.New, m.Lost, m.Moved = Deleted, older.Old, newer.New, newer.Lost, newer.Moved
	default:
		return Change[T]{}, false
	}
	return m, true
}
