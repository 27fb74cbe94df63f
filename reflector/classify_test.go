package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/informerkit/informerkit/internal/versions"
)

func TestClassify(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}
	read := &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	server := func(code int) error { return apierrors.NewGenericServerResponse(code, "get", pods, "", "", 0, true) }
	for _, tc := range []struct {
		err  error
		want class
	}{
		{errorsByName["410"], expired},
		{server(410), expired},
		{errorsByName["too-large"], tooLarge},
		{apierrors.NewTimeoutError("Too large resource version: 9, current: 5", 1), tooLarge},
		{errorsByName["429"], throttled},
		{errorsByName["refused"], unreachable},
		{&url.Error{Op: "Get", Err: dial}, unreachable},
		{&url.Error{Op: "Get", Err: &net.DNSError{Err: "no such host"}}, unreachable},
		{server(502), unreachable},
		{errorsByName["503"], unreachable},
		{errorsByName["504"], unreachable},
		{apierrors.NewServerTimeout(pods, "list", 2), unreachable},
		{errListTimeout, unreachable},
		{errorsByName["403"], denied},
		{errorsByName["401"], denied},
		{errorsByName["404"], notFound},
		{server(404), notFound},
		{errorsByName["405"], unsupported},
		{errorsByName["422"], unsupported},
		{apierrors.NewBadRequest("what?"), unsupported},
		{server(501), unsupported},
		{errorsByName["no-streaming"], unsupported},
		{errorsByName["undecodable"], undecodable},
		{errorsByName["500"], otherError},
		{&url.Error{Op: "Get", Err: io.EOF}, otherError},
		{&url.Error{Op: "Get", Err: read}, otherError},
		{errorsByName["stream-reset"], otherError},
		{errorsByName["table"], otherError},
		{context.Canceled, otherError},
		{errors.New("whatever"), otherError},
	} {
		for _, err := range []error{tc.err, fmt.Errorf("pods: list: %w", tc.err)} {
			if got := classify(err); got != tc.want {
				t.Errorf("%v: %v, want %v", err, got, tc.want)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want time.Duration
	}{
		{errorsByName["429-after-7s"], 7 * time.Second},
		{fmt.Errorf("list: %w", errorsByName["429-after-7s"]), 7 * time.Second},
		{errorsByName["429"], 0},
		{errors.New("whatever"), 0},
		{nil, 0},
	} {
		if got := retryAfter(tc.err); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.err, got, tc.want)
		}
	}
}

func TestNewestAndOlder(t *testing.T) {
	for _, tc := range []struct {
		seen, next, newest string
		older              bool // next than seen
	}{
		{"", "5", "5", false},
		{"5", "", "5", false},
		{"5", "6", "6", false},
		{"6", "5", "6", true},
		{"9", "10", "10", false},
		{"18446744073709551615", "18446744073709551616", "18446744073709551616", false},
		{"5", "abc", "abc", false},
		{"abc", "5", "5", false},
		{"b", "a", "a", false},
		{"0", "5", "5", false},
	} {
		if got := newest(tc.seen, tc.next); got != tc.newest {
			t.Errorf("newest(%q, %q) = %q", tc.seen, tc.next, got)
		}
		if got := versions.Older(tc.next, tc.seen); got != tc.older {
			t.Errorf("versions.Older(%q, %q) = %v", tc.next, tc.seen, got)
		}
	}
}
