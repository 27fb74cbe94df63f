package reflector

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (m *machine) startWatch(now time.Time, random float64) action {
	m.state = watching
	m.stream = streamState{since: now}
	seconds := m.watchSeconds(random)
	m.list.opts = metav1.ListOptions{
		ResourceVersion:     m.rv,
		AllowWatchBookmarks: true,
		TimeoutSeconds:      &seconds,
	}
	return action{do: doWatch, opts: m.list.opts, until: now.Add(m.opts.RequestTimeout)}
}

func (m *machine) stepWatching(now time.Time, random float64, in input) action {
	switch in.kind {
	case opened:
		m.stream.open, m.stream.since, m.attempts = true, now, 0
		m.stream.until = now.Add(time.Duration(*m.list.opts.TimeoutSeconds)*time.Second + watchGrace)
		return action{do: doRead, until: m.stream.until}
	case batch:
		rv := newest(m.rv, in.rv)
		m.stream.advanced = m.stream.advanced || rv != m.rv
		m.rv = rv
		m.stream.events += in.events
		m.marks = m.marks || in.marks > 0
		m.silent, m.attempts = 0, 0
		return action{do: doRead, until: m.stream.until}
	case timedOut:
		return m.watchTimedOut(now, random)
	case ended, failed:
		if m.progressed(now) {
			m.watchTries, m.ailing = 0, time.Time{}
		}
		if isEOF(in.err) && in.kind == ended {
			return m.watchEnded(now, random)
		}
		return m.watchFailed(now, random, in.err)
	}
	panic("BUG: reflector: unexpected input while watching")
}

// progressed reports that the watch was worth opening: opening the next one at once is no hot loop.
func (m *machine) progressed(now time.Time) bool {
	return m.stream.open && (m.stream.advanced || now.Sub(m.stream.since) >= veryShort)
}

// watchEnded handles the ordinary end of a watch.
func (m *machine) watchEnded(now time.Time, random float64) action {
	lived := now.Sub(m.stream.since)
	if m.progressed(now) {
		if m.stream.events == 0 && lived >= 2*bookmarkPeriod && m.tooSilent() {
			return m.fail(now, random, &SilentStreamError{Lived: lived, Ended: true}, true)
		}
		return m.startWatch(now, random)
	}
	var report error
	if m.stream.events == 0 {
		report = &ShortWatchError{Lived: lived}
	}
	return m.retryWatch(now, random, report, maxWatchTries)
}

// watchTimedOut handles a watch that outlived what the server was told, or that did not open.
func (m *machine) watchTimedOut(now time.Time, random float64) action {
	if !m.stream.open {
		return m.fail(now, random, errOpenTimeout, false)
	}
	if m.stream.events > 0 {
		return m.startWatch(now, random)
	}
	err := &SilentStreamError{Lived: now.Sub(m.stream.since)}
	if m.tooSilent() {
		return m.fail(now, random, err, true)
	}
	act := m.startWatch(now, random)
	act.report = err
	return act
}

// tooSilent counts a silent watch and reports that a list should find out whether the server's history is still the one
// it was: after a restore a server says nothing to a watch from what is now the future.
func (m *machine) tooSilent() bool {
	m.silent++
	if m.silent < maxSilentUnmarked && !(m.marks && m.silent >= maxSilent) {
		return false
	}
	m.silent = 0
	return true
}

func (m *machine) watchFailed(now time.Time, random float64, err error) action {
	switch classify(err) {
	case expired, notFound:
		return m.fail(now, random, err, true)
	case tooLarge:
		m.consistent = true
		return m.fail(now, random, err, true)
	case throttled, unreachable, denied:
		return m.fail(now, random, err, false)
	case undecodable:
		return m.retryWatch(now, random, err, maxDecodeTries)
	}
	if m.opts.InternalErrorRetry > 0 && apierrors.IsInternalError(err) {
		if m.ailing.IsZero() {
			m.ailing = now
		}
		return m.fail(now, random, err, now.Sub(m.ailing) >= m.opts.InternalErrorRetry)
	}
	return m.retryWatch(now, random, err, maxWatchTries)
}

// retryWatch watches on from what was seen, or lists again if that has been tried often enough.
func (m *machine) retryWatch(now time.Time, random float64, err error, tries int) action {
	m.watchTries++
	relist := m.watchTries >= tries
	if relist {
		m.watchTries = 0
	}
	return m.fail(now, random, err, relist)
}
