package apitest

import (
	"context"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/listwatch"
)

// Source lists and watches a resource of s in the process, without HTTP: namespace "" means all namespaces. T may be the resource's Go
// type, *unstructured.Unstructured, *metav1.PartialObjectMetadata, or an interface such as runtime.Object; an object that is
// no T is an item whose Object errs. Each call is a request: recorded, and subject to faults.
func Source[T any](s *Server, gvr schema.GroupVersionResource, namespace string) listwatch.Source[T] {
	return source[T]{s: s, gvr: gvr, namespace: namespace}
}

type source[T any] struct {
	s         *Server
	gvr       schema.GroupVersionResource
	namespace string
}

func (src source[T]) List(ctx context.Context, opts metav1.ListOptions) (listwatch.Page[T], error) {
	l, err := src.s.listAt(ctx, src.gvr, src.namespace, opts)
	if err != nil {
		return listwatch.Page[T]{}, err
	}
	page := listwatch.Page[T]{
		Items:           make([]listwatch.Item[T], len(l.objects)),
		ResourceVersion: l.meta.ResourceVersion,
		Continue:        l.meta.Continue,
		Remaining:       -1,
	}
	switch {
	case l.meta.RemainingItemCount != nil:
		page.Remaining = *l.meta.RemainingItemCount
	case l.meta.Continue == "":
		page.Remaining = 0
	}
	for i, o := range l.objects {
		page.Items[i] = item[T](l.endpoint, o, l.damage[i])
	}
	return page, nil
}

func (src source[T]) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[T], error) {
	w, err := src.s.watchAt(ctx, src.gvr, src.namespace, opts)
	if err != nil {
		return nil, err
	}
	return &stream[T]{w: w}, nil
}

func item[T any](e endpoint, o *object, d damage) listwatch.Item[T] {
	uid, rv := string(o.meta.GetUID()), formatRV(o.rv)
	switch d {
	case undecodable:
		return listwatch.BadItem[T](o.key, uid, rv, e.notDecoded(o))
	case wrongType:
		err := &listwatch.WrongTypeError{Key: o.key, Want: reflect.TypeFor[T]().String(), Got: fmt.Sprintf("%T", stranger(e, o))}
		return listwatch.BadItem[T](o.key, uid, rv, err)
	}
	// o never changes, so the copy can wait until it is asked for, and is not made for an object that the reader has already.
	return listwatch.LazyItem(o.key, uid, rv, func() (T, error) { return convert[T](e, o) })
}

// notDecoded is the error of an object that a fault makes undecodable.
func (e endpoint) notDecoded(o *object) error {
	return &listwatch.DecodeError{Key: o.key, Err: fmt.Errorf("apitest: this %s was made undecodable", e.gvk.Kind)}
}

type stream[T any] struct {
	w      *watcher
	events []listwatch.Event[T]
}

func (st *stream[T]) Next(ctx context.Context) ([]listwatch.Event[T], error) {
	events, err := st.w.next(ctx)
	if err != nil {
		return nil, err
	}
	clear(st.events)
	st.events = st.events[:0]
	for _, ev := range events {
		out := listwatch.Event[T]{Type: eventTypes[ev.typ], InitialEventsEnd: ev.endOfList}
		if ev.obj != nil {
			out.Item = item[T](st.w.endpoint, ev.obj, ev.damage)
		} else {
			out.Item.ResourceVersion = formatRV(ev.rv)
		}
		st.events = append(st.events, out)
	}
	return st.events, nil
}

func (st *stream[T]) Stop() { st.w.stop() }

var eventTypes = map[watch.EventType]listwatch.EventType{
	watch.Added:    listwatch.Added,
	watch.Modified: listwatch.Modified,
	watch.Deleted:  listwatch.Deleted,
	watch.Bookmark: listwatch.Bookmark,
}
