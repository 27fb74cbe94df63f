package reflector

import (
	"io"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/versions"
)

// The protocol's own numbers. What can be tuned is in Options.
const (
	// defaultPageSize is that of client-go's pager.
	defaultPageSize = 500
	// watchGrace is what a watch may outlive the time the server was told to end it after.
	watchGrace = 30 * time.Second
	// veryShort is client-go's bound: a watch that ends sooner and told nothing is a failure.
	veryShort = time.Second
	// maxStreamingTries streaming lists fail before a paged one is made.
	maxStreamingTries = 3
	// maxWatchTries watches fail at one resource version before the list is made again.
	maxWatchTries = 3
	// maxDecodeTries is the same for an event that can't be decoded: it will be there again, a broken transfer won't.
	maxDecodeTries = 2
	// maxExpired paged lists find their continue token expired before the list is asked for in one piece.
	maxExpired = 3
	// maxSilent watches in a row may be silent, of a server that sends bookmarks; maxSilentUnmarked, of one that may not.
	maxSilent         = 3
	maxSilentUnmarked = 12
	// bookmarkPeriod is about how often API servers send them.
	bookmarkPeriod = time.Minute
)

// input is what happened.
type input struct {
	kind   inputKind
	err    error  // of failed, ended, applyFailed, cancelled
	rv     string // of page; of batch: the newest of its events, "" none
	cont   string // of page
	events int    // of batch
	marks  int    // bookmarks among the events of batch
	end    bool   // batch reached the end mark of a streaming list
}

type inputKind uint8

const (
	started     inputKind = iota
	resumed               // as started, but to watch on
	begun                 // a place among the lists was free, and there is a new replacement
	page                  // a page came and is in the replacement
	opened                // the watch, or streaming list, is open
	batch                 // events came and were applied, or are in the replacement
	ended                 // the stream ended: io.EOF, or why
	failed                // the list request, or opening the stream, failed
	timedOut              // action.until came first
	committed             // the replacement was
	cleared               // the empty replacement of doClear was committed
	applyFailed           // the sink refused
	woke                  // the wait is over
	cancelled
)

// action is what to do next.
type action struct {
	do     doing
	opts   metav1.ListOptions
	until  time.Time // doList, doStream, doWatch, doRead: give up then; doWait: wait until then
	info   ListInfo  // doCommit, doClear
	report error     // tell it first
	err    error     // doStop
}

type doing uint8

const (
	doBegin  doing = iota // wait for a place among the lists, and start a new replacement
	doList                // get a page
	doStream              // open a streaming list
	doWatch               // open a watch
	doRead                // read on from the open stream
	doCommit              // commit the replacement
	doClear               // commit an empty replacement
	doWait                // close the stream, drop the replacement, wait
	doStop
)

type state uint8

const (
	idle state = iota
	beginning
	listing
	streaming // opening a streaming list, or before its end mark
	committing
	clearing
	watching // opening a watch, or reading it
	waiting
)

// machine decides what a reflector does. It is pure: times and randomness are passed in, and nothing but its own
// fields is read or changed.
type machine struct {
	opts Options

	// Kept from run to run.
	rv     string // newest resource version seen
	listed bool   // a list was committed; rv is from it or after it
	gone   bool   // an empty replacement stands for the missing resource
	marks  bool   // this server sends bookmarks

	// Of this run.
	state       state
	consistent  bool  // the next list must be a consistent read: rv can't be had
	uncached    bool  // the server pages what it would have from its watch cache, so it has none
	noStreaming error // why streaming lists were given up
	failures    failures
	attempts    int // failures in a row
	tries       listTries
	watchTries  int
	ailing      time.Time // since when watches fail with internal errors and bring no news; zero: they don't
	silent      int       // silent watches in a row
	relist      bool      // waiting: for the next list, or else the next watch

	list   listState
	stream streamState
}

// listTries counts what went wrong since the last complete list.
type listTries struct {
	streaming int       // streaming lists that failed
	since     time.Time // when the first streaming list began
	paged     bool      // enough of streaming for this list (does not bind StreamingOn)
	expired   int       // continue tokens that expired
}

// listState is the list under way.
type listState struct {
	queued time.Time          // when it began to wait for a place
	opts   metav1.ListOptions // of the page, or stream, asked for
	more   bool               // a page has come
	rv     string
	read   bool // consistently
}

// streamState is the stream that is open or being opened.
type streamState struct {
	open     bool
	since    time.Time // when it was opened, or began to be
	until    time.Time // when it is over at the latest
	events   int
	advanced bool // rv did
}

// step takes what happened and says what to do. random is in [0, 1).
func (m *machine) step(now time.Time, random float64, in input) action {
	if in.kind == cancelled {
		m.state = idle
		return action{do: doStop, err: in.err}
	}
	if in.kind == applyFailed {
		return m.fail(now, random, in.err, true)
	}
	switch m.state {
	case idle:
		m.start()
		if in.kind == resumed && m.listed && !m.gone {
			return m.startWatch(now, random)
		}
		return m.beginList(now)
	case waiting:
		if m.relist {
			return m.beginList(now)
		}
		return m.startWatch(now, random)
	case beginning:
		return m.startList(now, random)
	case listing:
		return m.stepListing(now, random, in)
	case streaming:
		return m.stepStreaming(now, random, in)
	case committing:
		return m.stepCommitted(now, random)
	case clearing:
		m.gone = true
		return m.fail(now, random, nil, true)
	case watching:
		return m.stepWatching(now, random, in)
	}
	panic("BUG: reflector: unknown state")
}

// start forgets what belongs to a run.
func (m *machine) start() {
	m.consistent, m.uncached, m.noStreaming = false, false, nil
	m.attempts, m.watchTries, m.silent, m.ailing = 0, 0, 0, time.Time{}
	m.tries = listTries{}
}

func (m *machine) beginList(now time.Time) action {
	m.state = beginning
	m.list, m.stream = listState{queued: now}, streamState{}
	return action{do: doBegin}
}

func (m *machine) startList(now time.Time, random float64) action {
	if !m.tries.since.IsZero() {
		// The wait for a place is not the server's doing.
		m.tries.since = m.tries.since.Add(now.Sub(m.list.queued))
	}
	if !m.tries.since.IsZero() && m.outOfTime(now) {
		m.tries.paged = true
	}
	if m.opts.Streaming == StreamingOff || m.opts.Streaming == StreamingAuto && (m.noStreaming != nil || m.tries.paged) {
		return m.askPage(now, "")
	}
	return m.askStream(now, random)
}

// stepCommitted goes on after a list: the first one, a relist, or a streaming list, whose stream is the watch.
func (m *machine) stepCommitted(now time.Time, random float64) action {
	m.rv, m.listed, m.gone, m.consistent = m.list.rv, true, false, false
	m.tries, m.attempts, m.watchTries, m.silent, m.ailing = listTries{}, 0, 0, 0, time.Time{}
	m.marks = m.marks || m.stream.open // the end mark was a bookmark
	if !m.stream.open {
		return m.startWatch(now, random)
	}
	m.state = watching
	m.stream.events, m.stream.advanced = 0, true
	return action{do: doRead, until: m.stream.until}
}

// commit publishes the list, if it is not from the past.
func (m *machine) commit(now time.Time, random float64, rv string) action {
	m.list.rv = rv
	info := ListInfo{ResourceVersion: rv}
	var report error
	if m.listed && versions.Older(rv, m.rv) {
		if !m.list.read {
			m.consistent = true
			return m.fail(now, random, &OldListError{Seen: m.rv, Listed: rv}, true)
		}
		info.Reset = true
		report = &HistoryResetError{Seen: m.rv, Listed: rv}
	}
	m.state = committing
	return action{do: doCommit, info: info, report: report}
}

// fail waits, for as long as failures in a row and the server ask for, then lists or watches again.
func (m *machine) fail(now time.Time, random float64, err error, relist bool) action {
	m.attempts++
	d := max(m.failures.next(m.opts.Backoff, now, random), retryAfter(err))
	m.state, m.relist = waiting, relist
	m.stream.open = false
	return action{do: doWait, until: now.Add(d), report: err}
}

// missing is what a list that found no resource leads to.
func (m *machine) missing(now time.Time, random float64, err error) action {
	switch {
	case m.opts.OnNotFound == NotFoundStop:
		m.state = idle
		return action{do: doStop, report: err, err: err}
	case m.opts.OnNotFound == NotFoundClear && m.listed && !m.gone:
		m.state = clearing
		return action{do: doClear, info: ListInfo{ResourceVersion: m.rv, Gone: true}, report: err}
	}
	return m.fail(now, random, err, true)
}

// watchSeconds is how long the next watch is to last: random, so that those begun together don't end together.
func (m *machine) watchSeconds(random float64) int64 {
	return int64(math.Ceil(m.opts.WatchTimeout.Seconds() * (1 + random)))
}

func isEOF(err error) bool { return err == io.EOF }
