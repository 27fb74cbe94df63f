package reflector

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// askStream opens a streaming list: a watch that begins with everything there is.
func (m *machine) askStream(now time.Time, random float64) action {
	m.state = streaming
	if m.tries.since.IsZero() {
		m.tries.since = now
	}
	opts := metav1.ListOptions{
		ResourceVersion:      m.rv,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		SendInitialEvents:    new(true),
		AllowWatchBookmarks:  true,
		TimeoutSeconds:       new(m.watchSeconds(random)),
	}
	if m.consistent || !m.listed {
		opts.ResourceVersion = ""
	}
	m.list.opts, m.list.read = opts, opts.ResourceVersion == ""
	m.stream = streamState{since: now}
	return action{do: doStream, opts: opts, until: m.idleUntil(now)}
}

// idleUntil is when a streaming list that stays silent is given up.
func (m *machine) idleUntil(now time.Time) time.Time {
	until := now.Add(m.opts.StreamingIdle)
	if limit := m.tries.since.Add(m.opts.StreamingTimeout); m.opts.Streaming == StreamingAuto && limit.Before(until) {
		return limit
	}
	return until
}

func (m *machine) stepStreaming(now time.Time, random float64, in input) action {
	switch in.kind {
	case opened:
		m.stream.open, m.stream.since = true, now
		m.stream.until = now.Add(time.Duration(*m.list.opts.TimeoutSeconds)*time.Second + watchGrace)
		return action{do: doRead, until: m.idleUntil(now)}
	case batch:
		m.stream.events += in.events
		m.list.rv = newest(m.list.rv, in.rv)
		if in.end {
			return m.commit(now, random, m.list.rv)
		}
		return action{do: doRead, until: m.idleUntil(now)}
	case timedOut:
		err := m.streamingError(now, ErrTimeout)
		if m.stream.open && m.stream.events == 0 || m.outOfTime(now) {
			return m.giveUpStreaming(now, random, err, err)
		}
		return m.streamingFailed(now, random, err, true)
	case ended, failed:
		if isEOF(in.err) && in.kind == ended {
			return m.streamingFailed(now, random, m.streamingError(now, nil), true)
		}
		return m.streamingRefused(now, random, in.err)
	}
	panic("BUG: reflector: unexpected input in a streaming list")
}

func (m *machine) streamingError(now time.Time, err error) error {
	return &StreamingListError{Lived: now.Sub(m.stream.since), Events: m.stream.events, Err: err}
}

func (m *machine) outOfTime(now time.Time) bool {
	return !now.Before(m.tries.since.Add(m.opts.StreamingTimeout))
}

// streamingRefused handles what the server says in place of a streaming list, or in the middle of one.
func (m *machine) streamingRefused(now time.Time, random float64, err error) action {
	switch classify(err) {
	case unsupported:
		return m.giveUpStreaming(now, random, err, nil) // nothing went wrong: this server is older than the question
	case expired, tooLarge:
		m.consistent = true
	case notFound:
		return m.missing(now, random, err)
	case throttled, unreachable:
		return m.fail(now, random, err, true) // a paged list would cost the server more
	}
	return m.streamingFailed(now, random, err, false)
}

// streamingFailed counts a try. Enough of them, and this list is a paged one; all lists of this run are, if the server
// did not do what a streaming list is (lasting).
func (m *machine) streamingFailed(now time.Time, random float64, err error, lasting bool) action {
	m.tries.streaming++
	if m.tries.streaming >= maxStreamingTries {
		m.tries.paged = true
		if lasting && m.opts.Streaming == StreamingAuto {
			m.noStreaming = err
		}
	}
	return m.fail(now, random, err, true)
}

// giveUpStreaming makes this and all further lists paged ones, at once: that happens only once in a run.
func (m *machine) giveUpStreaming(now time.Time, random float64, why, report error) action {
	if m.opts.Streaming == StreamingOn {
		m.consistent = m.consistent || classify(why) == unsupported // perhaps it is the resource version that it refuses
		return m.fail(now, random, why, true)
	}
	m.noStreaming = why
	act := m.beginList(now)
	act.report = report
	return act
}
