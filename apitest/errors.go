package apitest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	errEOF          = io.EOF
	errServerClosed = errors.New("apitest: server closed")
)

// errNotServed is the answer to a path that names no resource.
func errNotServed() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusNotFound,
		Reason:  metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource",
		Details: &metav1.StatusDetails{},
	}}
}

// TooLargeResourceVersion is the error of a server that has not seen resource version rv yet, but only current: 504 with the cause
// that clients look for and a retry after one second.
func TooLargeResourceVersion(rv, current uint64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", rv, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type:    metav1.CauseTypeResourceVersionTooLarge,
		Message: "Too large resource version",
	}}
	return err
}

func errExpired(rv, oldest uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", rv, oldest))
}

func errUnknownRV(rv, current uint64) error {
	return apierrors.NewResourceExpired(fmt.Sprintf("unknown resource version: %d (current: %d)", rv, current))
}

// errContinueExpired is the answer to a continue token whose state is gone. token, if any, goes on from the same place in the
// present state.
func errContinueExpired(token string) error {
	err := apierrors.NewResourceExpired("the continue parameter is too old for a consistent list: start again, or go on inconsistently with the token of this answer")
	err.ErrStatus.ListMeta.Continue = token
	return err
}

func errListOptions(errs ...*field.Error) error {
	return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
}

func errBadRequest(format string, args ...any) error {
	return apierrors.NewBadRequest(fmt.Sprintf(format, args...))
}

// errInternal is the answer of real servers to what they have no better error for: 500 without a reason.
func errInternal(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message,
	}}
}

func formatRV(rv uint64) string { return strconv.FormatUint(rv, 10) }

// parseRV reads a resource version of a request; "" and "0" are 0.
func parseRV(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	rv, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, errBadRequest("invalid resource version %q", s)
	}
	return rv, nil
}

// statusOf gives the Status an error stands for; false if it stands for none, and so for a broken connection.
func statusOf(err error) (metav1.Status, bool) {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		st := status.Status()
		st.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		if st.Code == 0 {
			st.Code = http.StatusInternalServerError
		}
		return st, true
	}
	return metav1.Status{}, false
}
