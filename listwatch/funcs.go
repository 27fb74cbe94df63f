package listwatch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/watchlist"
)

// Funcs is a [Source] of two plain functions, the shape that client-go's ListWatch has. Both are needed.
//
// ListFunc returns a list object (a PodList, an UnstructuredList, a metav1.List). WatchFunc gets options that ask for a
// watch; the objects of either are T, and any other becomes an item whose Object errs with [*WrongTypeError].
type Funcs[T any] struct {
	ListFunc  func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
	WatchFunc func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	// NoStreaming says that WatchFunc does not understand opts.SendInitialEvents: Watch then answers a streaming list with
	// [ErrStreamingUnsupported] by itself.
	NoStreaming bool
}

// List implements [Source].
func (f Funcs[T]) List(ctx context.Context, opts metav1.ListOptions) (Page[T], error) {
	if f.ListFunc == nil {
		return Page[T]{}, errors.New("listwatch: Funcs.ListFunc is nil")
	}
	opts.Watch = false
	list, err := f.ListFunc(ctx, opts)
	if err != nil {
		return Page[T]{}, err
	}
	return pageOf[T](list)
}

// Watch implements [Source].
func (f Funcs[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	if f.NoStreaming && opts.SendInitialEvents != nil && *opts.SendInitialEvents {
		return nil, ErrStreamingUnsupported
	}
	if f.WatchFunc == nil {
		return nil, errors.New("listwatch: Funcs.WatchFunc is nil")
	}
	opts.Watch = true
	w, err := f.WatchFunc(ctx, opts)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, errors.New("listwatch: the client returned no watch and no error")
	}
	return NewStream[T](w), nil
}

// Client is what For needs of a client: the typed clients of client-go have it for their list types, and so have
// dynamic.ResourceInterface and metadata.ResourceInterface.
type Client[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// For is the source of the objects a client lists and watches:
//
//	listwatch.For[*corev1.Pod](clientset.CoreV1().Pods("default"))
//	listwatch.For[*unstructured.Unstructured](dynamicClient.Resource(gvr).Namespace("default"))
//	listwatch.For[*metav1.PartialObjectMetadata](metadataClient.Resource(gvr))
//
// T is the type of an object; an interface (any, runtime.Object) is fine. Such clients decode a page as a whole: one
// object that can't be decoded fails the list, see [REST] for the alternative. A client that says it does not do
// streaming lists is believed, and client-go's fakes, which don't, are recognised.
func For[T any, L runtime.Object](client Client[L]) Source[T] {
	return Funcs[T]{
		ListFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, opts)
		},
		WatchFunc:   client.Watch,
		NoStreaming: watchlist.DoesClientNotSupportWatchListSemantics(client) || isFake(client),
	}
}

// isFake recognises a client of one resource from client-go's fakes, or from those its generator makes, by its package.
// Only a whole fake clientset says that it does no streaming lists; the clients it gives out don't, and a reader would
// find out by waiting in vain.
func isFake(client any) bool {
	t := reflect.TypeOf(client)
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t != nil && strings.HasSuffix(t.PkgPath(), "/fake")
}

// pageOf takes a list object apart. The items don't pin the list's array: each is retained on its own.
func pageOf[T any](list runtime.Object) (Page[T], error) {
	if isNil(list) {
		return Page[T]{}, errors.New("listwatch: the client returned no list and no error")
	}
	if err := checkAnswer(list); err != nil {
		return Page[T]{}, err
	}
	lm, err := meta.ListAccessor(list)
	if err != nil {
		return Page[T]{}, fmt.Errorf("listwatch: %T is not a list: %w", list, err)
	}
	page := Page[T]{
		Items:           make([]Item[T], 0, meta.LenList(list)),
		ResourceVersion: lm.GetResourceVersion(),
		Continue:        lm.GetContinue(),
		Remaining:       -1,
	}
	if r := lm.GetRemainingItemCount(); r != nil {
		page.Remaining = *r
	} else if page.Continue == "" {
		page.Remaining = 0
	}
	err = meta.EachListItemWithAlloc(list, func(obj runtime.Object) error {
		page.Items = append(page.Items, itemOf[T](obj))
		return nil
	})
	if err != nil {
		return Page[T]{}, fmt.Errorf("listwatch: items of %T: %w", list, err)
	}
	return page, nil
}
