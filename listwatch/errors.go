package listwatch

import (
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ErrStreamingUnsupported is what Watch returns for a streaming list on a source that is known to have none.
var ErrStreamingUnsupported = errors.New("listwatch: this source has no streaming lists")

// ErrTable says that the server answered with a Table, meant for printing, where objects were asked for: the client
// sends an Accept header that asks for one.
var ErrTable = errors.New("listwatch: the server sent a Table and not objects; check the client's Accept header")

// WrongTypeError says that a source gave an object of another type than the one it is of.
type WrongTypeError struct {
	Key       string // of the object; "" unknown
	Want, Got string // Go types, or kinds where the objects carry theirs
}

func (e *WrongTypeError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("listwatch: want %s, got %s", e.Want, e.Got)
	}
	return fmt.Sprintf("listwatch: object %q: want %s, got %s", e.Key, e.Want, e.Got)
}

// DecodeError says that something the server sent could not be decoded. As the error of an item it concerns one object.
// As the error of a stream it says that what comes next in the stream is lost: a client that decodes streams as a whole
// reports it so.
type DecodeError struct {
	Key string // of the object; "" unknown
	Err error
}

func (e *DecodeError) Error() string {
	if e.Key == "" {
		return fmt.Sprintf("listwatch: decode: %v", e.Err)
	}
	return fmt.Sprintf("listwatch: decode object %q: %v", e.Key, e.Err)
}

func (e *DecodeError) Unwrap() error { return e.Err }

// serverError is the error that the object of an ERROR event stands for. client-go's decoder puts what it could not
// decode into the stream as an error with a cause of its own.
func serverError(obj any) error {
	status, ok := obj.(*metav1.Status)
	if !ok {
		return fmt.Errorf("listwatch: error event with %s in place of a Status", typeName(obj))
	}
	err := apierrors.FromObject(status)
	if apierrors.HasStatusCause(err, metav1.CauseType("ClientWatchDecoding")) {
		return &DecodeError{Err: err}
	}
	return err
}

// checkAnswer finds what no list or event may carry in place of an object.
func checkAnswer(obj any) error {
	switch o := obj.(type) {
	case *metav1.Table:
		return ErrTable
	case *metav1.Status:
		return serverError(o)
	case *unstructured.Unstructured:
		if o != nil && isTable(o.GetAPIVersion(), o.GetKind()) {
			return ErrTable
		}
	case *unstructured.UnstructuredList:
		if o != nil && isTable(o.GetAPIVersion(), o.GetKind()) {
			return ErrTable
		}
	}
	return nil
}

func isTable(apiVersion, kind string) bool {
	return kind == "Table" && (apiVersion == "meta.k8s.io/v1" || apiVersion == "meta.k8s.io/v1beta1")
}

func typeName(v any) string { return fmt.Sprintf("%T", v) }

// nameOf is T's name, also if it is an interface.
func nameOf[T any]() string { return reflect.TypeFor[T]().String() }

func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
