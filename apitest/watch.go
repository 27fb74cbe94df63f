package apitest

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/watch"
)

// event is one event of a watch, still in stored form.
type event struct {
	typ       watch.EventType // Added, Modified, Deleted or Bookmark
	obj       *object         // nil of a Bookmark
	rv        uint64
	endOfList bool // the Bookmark that ends a streaming list
	damage    damage
	notBefore time.Time
	initial   bool // does not count against Options.WatchBuffer
}

// watcher is an open watch. It is pulled: what happens is put into its queue by whoever writes, and next takes it out, with
// the waiting and the timers in the goroutine of the reader, of which there is one.
type watcher struct {
	endpoint
	s         *Server
	sel       selection
	bookmarks bool
	start     time.Time
	deadline  time.Time // zero: none
	lastWord  time.Time // when to send the bookmark before the deadline; zero: not

	// Guarded by s.mu.
	faults       active
	queue        []event
	live         int           // events in the queue that count against Options.WatchBuffer
	ended        error         // set: the stream ends with it, once the queue is empty
	wake         chan struct{} // made by a waiting reader, closed to wake it
	nextBookmark time.Time
	sent         int
	due          time.Time // when the next event may go, if events are delayed
}

// lastBookmark is how long before its timeout a watch gets a last bookmark, as from real servers.
const lastBookmark = 2 * time.Second

// watchPlan says how a watch begins.
type watchPlan struct {
	initial bool   // with the present objects
	end     bool   // and a bookmark to mark their end
	atLeast uint64 // which must be as new as this resource version
	from    uint64 // else with what came after this resource version; 0: the present one
}

// planWatch decides how a watch with these options begins, by the API concepts page, "Semantics for watch" and "Streaming lists".
func planWatch(opts metav1.ListOptions) (watchPlan, error) {
	rv, err := parseRV(opts.ResourceVersion)
	if err != nil {
		return watchPlan{}, err
	}
	matchPath, sendPath := field.NewPath("resourceVersionMatch"), field.NewPath("sendInitialEvents")
	switch {
	case opts.Continue != "":
		return watchPlan{}, errListOptions(field.Forbidden(field.NewPath("continue"), "not for watch"))
	case opts.SendInitialEvents == nil && opts.ResourceVersionMatch != "":
		return watchPlan{}, errListOptions(field.Forbidden(matchPath, "not for watch without sendInitialEvents"))
	case opts.SendInitialEvents == nil:
		return watchPlan{initial: rv == 0, from: rv}, nil
	case opts.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan:
		return watchPlan{}, errListOptions(field.Forbidden(sendPath, `needs resourceVersionMatch "NotOlderThan"`))
	case *opts.SendInitialEvents:
		return watchPlan{initial: true, end: opts.AllowWatchBookmarks, atLeast: rv}, nil
	}
	return watchPlan{from: rv}, nil
}

// watch opens a watch, faults included.
func (s *Server) watch(ctx context.Context, e endpoint, namespace string, opts metav1.ListOptions) (*watcher, error) {
	opts.Watch = true
	faults, err := s.admit(ctx, Request{Verb: "watch", Resource: e.gvr, Namespace: namespace, Options: opts})
	if err != nil {
		return nil, err
	}
	sel, err := s.selection(e, namespace, opts)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errServerClosed
	}
	if s.served[e.gvr].resource != e.resource { // removed meanwhile
		return nil, errNotServed()
	}
	if opts.SendInitialEvents != nil && faults.ignoreSendInitialEvents() {
		opts.SendInitialEvents, opts.ResourceVersionMatch = nil, ""
	}
	plan, err := planWatch(opts)
	if err != nil {
		return nil, err
	}
	w := &watcher{endpoint: e, s: s, sel: sel, faults: faults, bookmarks: opts.AllowWatchBookmarks, start: time.Now()}
	w.nextBookmark = w.start.Add(s.opts.BookmarkInterval)
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0 {
		w.deadline = w.start.Add(time.Duration(*opts.TimeoutSeconds) * time.Second)
		if last := w.deadline.Add(-lastBookmark); last.After(w.start) {
			w.lastWord = last
		}
	}
	// Once the options are known to be good, real servers tell errors as the first event, not as the answer to the request.
	err = w.beginLocked(plan)
	if injected := faults.firstEventError(); injected != nil {
		err = injected
	}
	if err != nil {
		w.queue, w.ended = nil, err
		return w, nil
	}
	e.watchers[w] = struct{}{}
	return w, nil
}

// beginLocked fills the queue with what the watch begins with.
func (w *watcher) beginLocked(plan watchPlan) error {
	s := w.s
	switch {
	case plan.atLeast > s.rv:
		return TooLargeResourceVersion(plan.atLeast, s.rv)
	case plan.initial && w.faults.noInitialEvents():
	case plan.initial:
		for _, o := range w.sel.within(w.snapshotLocked(s.rv, s.rv).objects) {
			if w.sel.matches(o) {
				w.queue = append(w.queue, event{typ: watch.Added, obj: o, rv: o.rv, initial: true})
			}
		}
	case plan.from == 0:
	case plan.from > s.rv:
		return errUnknownRV(plan.from, s.rv)
	case plan.from < w.history.floor:
		return errExpired(plan.from, w.history.floor)
	default:
		for _, c := range w.history.after(plan.from) {
			if ev, ok := w.seen(c); ok {
				ev.initial = true
				w.queue = append(w.queue, ev)
			}
		}
	}
	if plan.end && !w.faults.noInitialEventsEnd() && !w.faults.dropBookmarks() {
		end := event{typ: watch.Bookmark, rv: s.rv, endOfList: true, initial: true}
		if d := w.faults.bookmarkDelay(); d > 0 {
			end.notBefore = w.start.Add(d)
		}
		w.queue = append(w.queue, end)
	}
	return nil
}

// seen tells what a change is to this watch: an object that begins or ceases to match is added or deleted.
func (w *watcher) seen(c *change) (event, bool) {
	now := c.typ != watch.Deleted && w.sel.matches(c.obj)
	before := c.prev != nil && w.sel.matches(c.prev)
	switch {
	case now && before:
		return event{typ: watch.Modified, obj: c.obj, rv: c.rv}, true
	case now:
		return event{typ: watch.Added, obj: c.obj, rv: c.rv}, true
	case before && c.typ == watch.Deleted:
		return event{typ: watch.Deleted, obj: c.obj, rv: c.rv}, true
	case before: // as it was when it still matched
		return event{typ: watch.Deleted, obj: c.prev.at(c.rv), rv: c.rv}, true
	}
	return event{}, false
}

// pushLocked tells the watch of a change.
func (w *watcher) pushLocked(c *change) {
	if w.ended != nil {
		return
	}
	ev, ok := w.seen(c)
	if !ok {
		return
	}
	if limit := w.s.opts.WatchBuffer; limit > 0 && w.live >= limit {
		w.endLocked(errEOF, false)
		return
	}
	w.queue = append(w.queue, ev)
	w.live++
	w.wakeLocked()
}

// endLocked ends the stream with err: at once, or after what is already in the queue.
func (w *watcher) endLocked(err error, atOnce bool) {
	if w.ended != nil {
		return
	}
	w.ended = err
	if atOnce {
		w.queue = nil
	}
	delete(w.watchers, w)
	w.wakeLocked()
}

func (w *watcher) wakeLocked() {
	if w.wake != nil {
		close(w.wake)
		w.wake = nil
	}
}

// stop ends the watch from the reader's side. Idempotent.
func (w *watcher) stop() {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	w.endLocked(errEOF, true)
	w.queue = nil
}

// next waits for the next events. The error is that of the end of the stream: io.EOF if it ended well, an API status error for an
// ERROR event, else a broken connection; or ctx's.
func (w *watcher) next(ctx context.Context) ([]event, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		w.s.mu.Lock()
		events, until, err := w.pollLocked(time.Now())
		var wake chan struct{}
		if len(events) == 0 && err == nil {
			wake = make(chan struct{})
			w.wake = wake
		}
		w.s.mu.Unlock()
		if wake == nil {
			return events, err
		}
		if err := waitUntil(ctx, wake, until); err != nil {
			return nil, err
		}
	}
}

// waitUntil waits for wake, for the time until (zero: never), or for ctx, whose cause it returns.
func waitUntil(ctx context.Context, wake <-chan struct{}, until time.Time) error {
	var due <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-wake:
	case <-due:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// pollLocked takes the events that are ready at now, or tells how the stream ended; if neither, until when to wait unless woken.
func (w *watcher) pollLocked(now time.Time) (events []event, until time.Time, err error) {
	if w.faults.silent() && w.ended == nil {
		return nil, time.Time{}, nil
	}
	room := len(w.queue)
	if after, set := w.faults.closeAfter(); set {
		room = after - w.sent
		if room <= 0 {
			w.endLocked(errEOF, true)
			return nil, time.Time{}, errEOF
		}
	}
	if len(w.queue) > 0 {
		if delay := w.faults.eventDelay(); delay > 0 {
			if w.due.IsZero() {
				w.due = now.Add(delay)
			}
			if now.Before(w.due) {
				if !w.deadline.IsZero() && !now.Before(w.deadline) { // what waits comes to the next watch
					w.endLocked(errEOF, true)
					return nil, time.Time{}, errEOF
				}
				return nil, w.earliest(w.due), nil
			}
			w.due = time.Time{}
			room = 1
		}
		if events := w.takeLocked(room, now); len(events) > 0 {
			return events, time.Time{}, nil
		}
		if len(w.queue) > 0 { // a delayed bookmark
			until = w.queue[0].notBefore
		}
	} else if w.ended != nil {
		return nil, time.Time{}, w.ended
	}
	if !w.deadline.IsZero() && !now.Before(w.deadline) {
		w.endLocked(errEOF, true)
		return nil, time.Time{}, errEOF
	}
	if w.bookmarks && len(w.queue) == 0 && !w.faults.dropBookmarks() {
		due := w.bookmarkDueLocked()
		if !now.Before(due) {
			for !w.nextBookmark.After(now) {
				w.nextBookmark = w.nextBookmark.Add(w.s.opts.BookmarkInterval)
			}
			if !now.Before(w.lastWord) {
				w.lastWord = time.Time{}
			}
			w.sent++
			// The queue is empty, so all up to the server's resource version was sent.
			return []event{{typ: watch.Bookmark, rv: w.s.rv}}, time.Time{}, nil
		}
		if until.IsZero() || due.Before(until) {
			until = due
		}
	}
	return nil, w.earliest(until), nil
}

// bookmarkDueLocked is when the next bookmark is due: at each interval, and shortly before the deadline.
func (w *watcher) bookmarkDueLocked() time.Time {
	due := w.nextBookmark
	if !w.lastWord.IsZero() && w.lastWord.Before(due) {
		due = w.lastWord
	}
	return due.Add(w.faults.bookmarkDelay())
}

// earliest is t or the deadline, whichever comes first.
func (w *watcher) earliest(t time.Time) time.Time {
	if t.IsZero() || !w.deadline.IsZero() && w.deadline.Before(t) {
		return w.deadline
	}
	return t
}

// takeLocked takes up to n events off the queue, as far as they may go at now.
func (w *watcher) takeLocked(n int, now time.Time) []event {
	var events []event
	for len(events) < n && len(w.queue) > 0 && !w.queue[0].notBefore.After(now) {
		ev := w.queue[0]
		w.queue[0] = event{}
		w.queue = w.queue[1:]
		if !ev.initial {
			w.live--
		}
		if ev.endOfList && w.faults.dropBookmarks() {
			continue
		}
		if ev.obj != nil {
			ev.damage = w.faults.damageTo(ev.obj.key)
		}
		events = append(events, ev)
	}
	w.sent += len(events)
	return events
}
