package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// hopeless reports whether an error of the first list, the nth in a row, will be there at the next try too: the server understood and said
// no, or can't be talked to at all. Before anything has been shown, to say so and end beats to wait.
func hopeless(err error, nth int) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		switch code := status.Status().Code; code {
		case http.StatusRequestTimeout, http.StatusConflict, http.StatusGone, http.StatusTooManyRequests:
			return false
		case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusUnprocessableEntity:
			// So servers without streaming lists refuse them; a plain list comes next.
			return nth > 1
		default:
			return code >= 400 && code < 500
		}
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		// Refused, unknown host, bad certificate, no credentials. A connection that broke may work the next time.
		return !u.Timeout() && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET)
	}
	return false
}

// describe is an error in one line, for people: what the server said comes with its reason, and what a connection suffered with the server
// and without the path.
func describe(err error) string {
	text := err.Error()
	if u := (*url.Error)(nil); errors.As(err, &u) {
		server := u.URL
		if parsed, parseErr := url.Parse(u.URL); parseErr == nil && parsed.Host != "" {
			server = parsed.Scheme + "://" + parsed.Host
		}
		text = strings.Replace(text, u.Error(), fmt.Sprintf("cannot talk to the server %s: %v", server, u.Err), 1)
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		s := status.Status()
		text += " (" + firstOf(string(s.Reason), fmt.Sprintf("status %d", s.Code)) + ")"
	}
	return oneLine(text)
}

// describeOf is describe for a line that begins with the name of the informer the error is of.
func describeOf(name string, err error) string { return strings.TrimPrefix(describe(err), name+": ") }

func oneLine(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, " ")
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}
