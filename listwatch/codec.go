package listwatch

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
)

// codec makes items of what a server sent, JSON or protobuf.
type codec[T any] struct {
	elem   reflect.Type // T is a pointer to it
	kinds  []schema.GroupVersionKind
	typed  bool // objects don't carry their kind
	binary bool // T can be had from protobuf
}

type protobufMessage interface{ Unmarshal(data []byte) error }

func newCodec[T any]() (codec[T], error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return codec[T]{}, fmt.Errorf("listwatch: REST of %v: an object is decoded into a pointer to a struct", t)
	}
	c := codec[T]{elem: t.Elem(), typed: true}
	switch obj := any(c.new()).(type) {
	case *unstructured.Unstructured:
		c.typed = false
	case *metav1.PartialObjectMetadata:
		c.typed = false
	case runtime.Object:
		_, c.binary = obj.(protobufMessage)
		c.kinds, _, _ = scheme.Scheme.ObjectKinds(obj) // none: not a built-in type, so that nothing is known of its kind
	}
	return c, nil
}

func (c codec[T]) new() T { return reflect.New(c.elem).Interface().(T) }

// page takes the body of an answer to a list apart.
func (c codec[T]) page(body []byte) (Page[T], error) {
	switch {
	case bytes.HasPrefix(body, protobufMagic):
		return c.binaryPage(body)
	case bytes.HasPrefix(body, cborMagic):
		return Page[T]{}, errCBOR
	}
	if !stdjson.Valid(body) {
		return Page[T]{}, &DecodeError{Err: errors.New("the answer to the list is not JSON")}
	}
	return c.jsonPage(body)
}

var errCBOR = errors.New("listwatch: the server sent CBOR, which REST does not read; leave it out of the client's AcceptContentTypes")

func (c codec[T]) jsonPage(body []byte) (Page[T], error) {
	var list identity
	var lm metav1.ListMeta
	var items [][]byte
	var err error
	eachField(body, func(name, value []byte) {
		switch string(name) {
		case "apiVersion":
			list.apiVersion = text(value)
		case "kind":
			list.kind = text(value)
		case "metadata":
			err = json.Unmarshal(value, &lm)
		case "items":
			eachElement(value, func(v []byte) { items = append(items, v) })
		}
	})
	if err != nil {
		return Page[T]{}, &DecodeError{Err: fmt.Errorf("metadata of the list: %w", err)}
	}
	if err := c.checkList(list); err != nil {
		return Page[T]{}, err
	}
	page := newPage[T](len(items), lm.ResourceVersion, lm.Continue, -1)
	if lm.RemainingItemCount != nil {
		page.Remaining = *lm.RemainingItemCount
	}
	of := identity{apiVersion: list.apiVersion, kind: strings.TrimSuffix(list.kind, "List")}
	for _, raw := range items {
		page.Items = append(page.Items, c.jsonItem(raw, of))
	}
	return page, nil
}

func (c codec[T]) binaryPage(body []byte) (Page[T], error) {
	id, message, err := openEnvelope(body)
	if err != nil {
		return Page[T]{}, &DecodeError{Err: err}
	}
	if err := c.checkList(id); err != nil {
		return Page[T]{}, err
	}
	list, err := openList(message)
	if err != nil {
		return Page[T]{}, &DecodeError{Err: fmt.Errorf("%s: %w", id.kind, err)}
	}
	page := newPage[T](len(list.items), list.resourceVersion, list.cont, list.remaining)
	for _, raw := range list.items {
		page.Items = append(page.Items, c.binaryItem(raw, identity{}))
	}
	return page, nil
}

func newPage[T any](items int, resourceVersion, cont string, remaining int64) Page[T] {
	if cont == "" && remaining < 0 {
		remaining = 0
	}
	return Page[T]{Items: make([]Item[T], 0, items), ResourceVersion: resourceVersion, Continue: cont, Remaining: remaining}
}

// checkList finds answers that are no list of T.
func (c codec[T]) checkList(list identity) error {
	if isTable(list.apiVersion, list.kind) {
		return ErrTable
	}
	if list.kind == "List" || len(c.kinds) == 0 {
		return nil
	}
	gv, _ := schema.ParseGroupVersion(list.apiVersion)
	for _, k := range c.kinds {
		if gv == k.GroupVersion() && list.kind == k.Kind+"List" {
			return nil
		}
	}
	return &WrongTypeError{Want: "a list of " + c.kinds[0].String(), Got: gv.WithKind(list.kind).String()}
}

// item is the item of an object that came on its own, with its kind.
func (c codec[T]) item(raw []byte) (Item[T], error) {
	if bytes.HasPrefix(raw, protobufMagic) {
		id, message, err := openEnvelope(raw)
		if err != nil {
			return Item[T]{}, &DecodeError{Err: err}
		}
		if err := checkObject(raw, id); err != nil {
			return Item[T]{}, err
		}
		return c.binaryItem(message, id), nil
	}
	if !stdjson.Valid(raw) {
		return Item[T]{}, &DecodeError{Err: errNotObject}
	}
	id, err := identifyJSON(raw)
	if err != nil {
		return Item[T]{}, &DecodeError{Err: err}
	}
	if err := checkObject(raw, id); err != nil {
		return Item[T]{}, err
	}
	return c.jsonItem(raw, identity{}), nil
}

// checkObject finds what a stream may not carry in place of an object.
func checkObject(raw []byte, id identity) error {
	if isTable(id.apiVersion, id.kind) {
		return ErrTable
	}
	if id.kind == "Status" && id.apiVersion == "v1" {
		return statusError(raw)
	}
	return nil
}

// statusError is the error of a Status that came in place of an object.
func statusError(raw []byte) error {
	status := &metav1.Status{}
	var err error
	if bytes.HasPrefix(raw, protobufMagic) {
		var message []byte
		if _, message, err = openEnvelope(raw); err == nil {
			err = status.Unmarshal(message)
		}
	} else {
		err = json.Unmarshal(raw, status)
	}
	if err != nil {
		return &DecodeError{Err: fmt.Errorf("the server's error: %w", err)}
	}
	return serverError(status)
}

// jsonItem is the item of a JSON object; of says what it is if it doesn't.
func (c codec[T]) jsonItem(raw []byte, of identity) Item[T] {
	id, err := identifyJSON(raw)
	if err != nil {
		return BadItem[T]("", "", "", &DecodeError{Err: err})
	}
	key := id.key()
	return LazyItem(key, id.uid, id.resourceVersion, func() (T, error) {
		var none T
		if err := c.checkKind(id); err != nil {
			return none, err
		}
		obj := c.new()
		if u, ok := any(obj).(*unstructured.Unstructured); ok {
			if err := json.Unmarshal(raw, &u.Object); err != nil {
				return none, &DecodeError{Key: key, Err: err}
			}
			if id.kind == "" && of.kind != "" {
				u.SetAPIVersion(of.apiVersion)
				u.SetKind(of.kind)
			}
			return obj, nil
		}
		if err := json.Unmarshal(raw, obj); err != nil {
			return none, &DecodeError{Key: key, Err: err}
		}
		return c.finish(obj), nil
	})
}

func (c codec[T]) binaryItem(message []byte, id identity) Item[T] {
	if err := identifyMessage(message, &id); err != nil {
		return BadItem[T]("", "", "", &DecodeError{Err: err})
	}
	key := id.key()
	return LazyItem(key, id.uid, id.resourceVersion, func() (T, error) {
		var none T
		if err := c.checkKind(id); err != nil {
			return none, err
		}
		obj := c.new()
		m, ok := any(obj).(protobufMessage)
		if !ok {
			return none, &DecodeError{Key: key, Err: fmt.Errorf("%T can't be read from protobuf", obj)}
		}
		if err := m.Unmarshal(message); err != nil {
			return none, &DecodeError{Key: key, Err: err}
		}
		return c.finish(obj), nil
	})
}

// checkKind compares the kind an object carries, if any, with those of T, if known.
func (c codec[T]) checkKind(id identity) error {
	if id.kind == "" || len(c.kinds) == 0 {
		return nil
	}
	gv, err := schema.ParseGroupVersion(id.apiVersion)
	if err == nil && slices.Contains(c.kinds, gv.WithKind(id.kind)) {
		return nil
	}
	return &WrongTypeError{Key: id.key(), Want: c.kinds[0].String(), Got: schema.FromAPIVersionAndKind(id.apiVersion, id.kind).String()}
}

// finish takes the kind off a typed object, which client-go's typed clients do too: its type says it.
func (c codec[T]) finish(obj T) T {
	if o, ok := any(obj).(runtime.Object); ok && c.typed {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return obj
}
