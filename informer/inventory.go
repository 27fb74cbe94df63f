package informer

// Holding is what a [Group] holds of one scope.
type Holding struct {
	Scope Scope
	// View is the form in which the objects are, or are going to be, held.
	View View
	// Refs is the number of handles.
	Refs int
	// Objects is their number, Bytes what they take in memory, estimated from a sample of [SampleSize]: within some tens of
	// percent where objects are alike. What objects share, and the store and its indexes, do not count.
	Objects int
	Bytes   int64
	// Status is the informer's, with its handlers.
	Status Status
	// Err is why the informer has ended by itself; nil if it has not.
	Err error
}

// Inventory lists what the group holds, by resource and scope. It looks into some objects of each informer: call it every few
// seconds, not for every request.
func (g *Group) Inventory() []Holding {
	g.mu.Lock()
	entries := g.sortedLocked()
	holdings := make([]Holding, len(entries))
	for n, e := range entries {
		holdings[n] = Holding{Scope: e.scope, View: e.base, Refs: e.refs, Err: e.err}
	}
	g.mu.Unlock()
	for n, e := range entries {
		h := &holdings[n]
		h.Status = e.informer.Status()
		h.Objects = h.Status.Objects
		h.Bytes = estimate(e.informer.Snapshot())
	}
	return holdings
}
