package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestWhatIsHopeless(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	get := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/api/v1/pods?limit=500", Err: err}
	}
	refused := get(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED})
	for _, test := range []struct {
		name          string
		err           error
		first, second bool
		text          string
	}{
		{"forbidden", apierrors.NewForbidden(pods, "", errors.New("no list for you")), true, true, `pods is forbidden: no list for you (Forbidden)`},
		{"unauthorized", apierrors.NewUnauthorized("who are you?"), true, true, `who are you? (Unauthorized)`},
		{"not found", apierrors.NewNotFound(pods, ""), true, true, `pods "" not found (NotFound)`},
		{"bad request", apierrors.NewBadRequest("field label not supported"), false, true, `field label not supported (BadRequest)`},
		{"throttled", apierrors.NewTooManyRequests("slow down", 1), false, false, `slow down (TooManyRequests)`},
		{"expired", apierrors.NewResourceExpired("too old"), false, false, `too old (Expired)`},
		{"unavailable", apierrors.NewServiceUnavailable("starting"), false, false, `starting (ServiceUnavailable)`},
		{"internal", apierrors.NewInternalError(errors.New("x")), false, false, `Internal error occurred: x (InternalError)`},
		{"odd status", &apierrors.StatusError{ErrStatus: metav1.Status{Code: 418, Message: "a teapot\nshort\n and stout"}}, true, true, `a teapot short and stout (status 418)`},
		{"refused", refused, true, true, `cannot talk to the server https://10.0.0.1:6443: dial tcp: connection refused`},
		{"wrapped", fmt.Errorf("pods: list: %w", refused), true, true, `pods: list: cannot talk to the server https://10.0.0.1:6443: dial tcp: connection refused`},
		{"certificate", get(errors.New("x509: certificate signed by unknown authority")), true, true, `cannot talk to the server https://10.0.0.1:6443: x509: certificate signed by unknown authority`},
		{"broken", get(io.ErrUnexpectedEOF), false, false, `cannot talk to the server https://10.0.0.1:6443: unexpected EOF`},
		{"reset", get(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), false, false, `cannot talk to the server https://10.0.0.1:6443: read: connection reset by peer`},
		{"timeout", get(syscall.ETIMEDOUT), false, false, `cannot talk to the server https://10.0.0.1:6443: connection timed out`},
		{"anything else", errors.New("odd"), false, false, `odd`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := hopeless(test.err, 1); got != test.first {
				t.Errorf("hopeless at first: %v", got)
			}
			if got := hopeless(test.err, 2); got != test.second {
				t.Errorf("hopeless the second time: %v", got)
			}
			if got := describe(test.err); got != test.text {
				t.Errorf("got  %s\nwant %s", got, test.text)
			}
		})
	}
}
