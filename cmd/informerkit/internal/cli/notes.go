package cli

import (
	"fmt"
	"time"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

const (
	firstNote = 5 * time.Second  // of trouble, before a word is said
	nextNote  = 30 * time.Second // between words about the same trouble
)

// notes says, in as few lines as will do, that a copy is not in step with the server and why. The zero value starts with
// the first status it sees.
type notes struct {
	began time.Time        // of the present trouble; zero if there is none
	said  time.Time        // when it was last spoken of; zero if it was not
	out   map[string]error // the objects that are left out, and why, as last told
}

// leftOut is what to say of objects that could not be taken in, each once for each reason.
func (n *notes) leftOut(name string, s informer.Status) []string {
	var lines []string
	out := map[string]error{}
	for _, q := range s.Quarantined {
		out[q.Key] = q.Err
		if had, ok := n.out[q.Key]; !ok || had.Error() != q.Err.Error() {
			lines = append(lines, fmt.Sprintf("%s: %s is left out (%s): %s", name, q.Key, q.Reason, describe(q.Err)))
		}
	}
	n.out = out
	return lines
}

// next is what to say at a status; "" nothing.
func (n *notes) next(name string, s informer.Status, now time.Time) string {
	if s.Synced && s.Reflector.LastError == nil {
		spoken := !n.said.IsZero()
		n.began, n.said = time.Time{}, time.Time{}
		if spoken {
			return fmt.Sprintf("%s: in step again, %d objects", name, s.Objects)
		}
		return ""
	}
	if n.began.IsZero() {
		n.began = now
	}
	lasts := now.Sub(n.began)
	if lasts < firstNote || !n.said.IsZero() && now.Sub(n.said) < nextNote {
		return ""
	}
	n.said = now
	lasts = lasts.Round(time.Second)
	if s.Synced {
		return fmt.Sprintf("%s: out of step for %v: %s; still trying", name, lasts, reason(name, s.Reflector))
	}
	return fmt.Sprintf("%s: not synced after %v: %s", name, lasts, reason(name, s.Reflector))
}

// reason is why a reflector is not watching.
func reason(name string, s reflector.Status) string {
	if s.LastError != nil {
		return fmt.Sprintf("%s (%d in a row)", describeOf(name, s.LastError), s.Attempts)
	}
	switch {
	case s.Phase == reflector.Listing && s.Expected > 0:
		return fmt.Sprintf("listing, %d of %d objects so far", s.Received, s.Expected)
	case s.Phase == reflector.Listing:
		return fmt.Sprintf("listing, %d objects so far", s.Received)
	}
	return s.Phase.String()
}
