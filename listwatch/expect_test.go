package listwatch

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

func ofKind(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if kind != "" {
		u.SetAPIVersion("example.com/v1")
		u.SetKind(kind)
	}
	u.SetName(name)
	return u
}

func TestExpectSetsOtherKindsAside(t *testing.T) {
	w := watch.NewFakeWithChanSize(3, false)
	src := Expect(Source[*unstructured.Unstructured](Funcs[*unstructured.Unstructured]{
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*ofKind("Widget", "a"), *ofKind("Gadget", "b"), *ofKind("", "c")}}, nil
		},
		WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return w, nil },
	}), schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"})

	check := func(it *Item[*unstructured.Unstructured]) {
		t.Helper()
		obj, err := it.Object()
		var wrong *WrongTypeError
		if it.Key == "b" {
			if !errors.As(err, &wrong) || wrong.Key != "b" || obj != nil {
				t.Errorf("b: %v, %v", obj, err)
			}
		} else if err != nil || obj.GetName() != it.Key {
			t.Errorf("%s: %v, %v", it.Key, obj, err)
		}
	}
	page, err := src.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(page.Items) != 3 {
		t.Fatalf("List = %+v, %v", page, err)
	}
	for i := range page.Items {
		check(&page.Items[i])
	}
	stream, err := src.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	w.Add(ofKind("Widget", "a"))
	w.Add(ofKind("Gadget", "b"))
	w.Action(watch.Bookmark, ofKind("Gadget", ""))
	evs, err := stream.Next(t.Context())
	if err != nil || len(evs) != 3 || evs[2].Type != Bookmark {
		t.Fatalf("Next = %+v, %v", evs, err)
	}
	check(&evs[0].Item)
	check(&evs[1].Item)
}
