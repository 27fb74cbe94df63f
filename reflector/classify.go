package reflector

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/informerkit/informerkit/internal/versions"
	"github.com/informerkit/informerkit/listwatch"
)

// class is what an error means for the protocol.
type class uint8

const (
	otherError  class = iota
	expired           // 410: the resource version, or continue token, is no longer served
	tooLarge          // the server has not got to the resource version, and perhaps never will
	throttled         // 429
	unreachable       // nobody there, or too busy: asking for more would make it worse
	denied            // 401, 403
	notFound          // 404
	unsupported       // the server does not do what was asked
	undecodable       // lost in a stream that was decoded as a whole
)

func (c class) String() string {
	return [...]string{"other", "expired", "tooLarge", "throttled", "unreachable", "denied", "notFound", "unsupported", "undecodable"}[c]
}

func classify(err error) class {
	var decode *listwatch.DecodeError
	switch {
	case apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return expired
	case isTooLarge(err):
		return tooLarge
	case apierrors.IsTooManyRequests(err):
		return throttled
	case errors.As(err, &decode):
		return undecodable
	case isUnreachable(err):
		return unreachable
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return denied
	case apierrors.IsNotFound(err):
		return notFound
	case errors.Is(err, listwatch.ErrStreamingUnsupported), apierrors.IsInvalid(err), apierrors.IsBadRequest(err),
		apierrors.IsMethodNotSupported(err), statusCode(err) == http.StatusNotImplemented:
		return unsupported
	}
	return otherError
}

// isUnreachable covers the server that does not answer, the way to it, what stands before it, and its own pleas for time.
func isUnreachable(err error) bool {
	var dns *net.DNSError
	var op *net.OpError
	return utilnet.IsConnectionRefused(err) || errors.As(err, &dns) || errors.As(err, &op) && op.Op == "dial" ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
		statusCode(err) == http.StatusBadGateway || errors.Is(err, ErrTimeout)
}

// isTooLarge knows both ways API servers say it: by cause since 1.17, by message before.
func isTooLarge(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) ||
		apierrors.IsTimeout(err) && strings.Contains(err.Error(), "Too large resource version")
}

func statusCode(err error) int32 {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code
	}
	return 0
}

// retryAfter is how long the server asked to be left alone.
func retryAfter(err error) time.Duration {
	if s, ok := apierrors.SuggestsClientDelay(err); ok && s > 0 {
		return time.Duration(s) * time.Second
	}
	return 0
}

// newest is what counts as seen after seen, then next. Resource versions that are not numbers follow their order of
// arrival.
func newest(seen, next string) string {
	if next == "" || versions.Older(next, seen) {
		return seen
	}
	return next
}
