package reflector

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/versions"
)

// askPage asks for a page: the first one of a list, or the one that cont begins.
func (m *machine) askPage(now time.Time, cont string) action {
	m.state = listing
	if cont == "" {
		m.list.opts = m.firstPage()
		m.list.read = m.list.opts.ResourceVersion == ""
	} else {
		// The token says which resource version; the server refuses another word on it.
		m.list.opts = metav1.ListOptions{Limit: m.list.opts.Limit, Continue: cont}
	}
	return action{do: doList, opts: m.list.opts, until: now.Add(m.opts.RequestTimeout)}
}

// firstPage is how a paged list begins: from where, and whether in pages.
func (m *machine) firstPage() metav1.ListOptions {
	opts := metav1.ListOptions{ResourceVersion: m.rv, Limit: m.opts.PageSize}
	switch {
	case m.consistent:
		opts.ResourceVersion = ""
	case !m.listed && (m.opts.FirstList == ListMostRecent || m.opts.PageSize > 0):
		// A server with a watch cache ignores the limit at "0".
		opts.ResourceVersion = ""
	case !m.listed:
		opts.ResourceVersion = "0"
	}
	if opts.Limit == 0 && m.tries.expired < maxExpired {
		// Pages cost the server more than one piece from its watch cache, and less than one piece from etcd. At "0" the
		// limit counts only if there is no watch cache.
		if opts.ResourceVersion == "" || opts.ResourceVersion == "0" || m.uncached {
			opts.Limit = defaultPageSize
		}
	}
	if opts.Limit > 0 && opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
		// Without it a limit would mean "at exactly this resource version", which the list after an expired one can't have.
		opts.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	return opts
}

func (m *machine) stepListing(now time.Time, random float64, in input) action {
	switch in.kind {
	case page:
		return m.gotPage(now, random, in)
	case timedOut:
		return m.fail(now, random, errListTimeout, true)
	case failed:
		return m.listFailed(now, random, in.err)
	}
	panic("BUG: reflector: unexpected input while listing")
}

func (m *machine) gotPage(now time.Time, random float64, in input) action {
	if !m.list.more {
		m.list.more, m.list.rv = true, in.rv
		if m.list.opts.ResourceVersion == "0" && in.cont != "" {
			m.uncached = true
		}
		if m.listed && versions.Older(in.rv, m.rv) && !m.list.read {
			return m.commit(now, random, in.rv) // which refuses it, before the other pages are fetched in vain
		}
	}
	if in.cont == "" {
		return m.commit(now, random, m.list.rv)
	}
	if in.cont == m.list.opts.Continue {
		return m.fail(now, random, errContinueLoop, true)
	}
	return m.askPage(now, in.cont)
}

func (m *machine) listFailed(now time.Time, random float64, err error) action {
	switch classify(err) {
	case expired:
		if m.list.opts.Continue != "" {
			// A fresh token, which the error may carry, would go on at a later resource version: not one list but two halves.
			m.tries.expired++
		} else {
			m.consistent = true
		}
	case tooLarge, unsupported:
		// A resource version of another server may not even be one here.
		m.consistent = true
	case notFound:
		return m.missing(now, random, err)
	}
	return m.fail(now, random, err, true)
}
