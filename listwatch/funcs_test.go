package listwatch

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	metadatafake "k8s.io/client-go/metadata/fake"
)

// The clients For is for; that this compiles is the promise.
var (
	_ = func(c dynamic.ResourceInterface) Source[*unstructured.Unstructured] {
		return For[*unstructured.Unstructured](c)
	}
	_ = func(c metadata.ResourceInterface) Source[*metav1.PartialObjectMetadata] {
		return For[*metav1.PartialObjectMetadata](c)
	}
)

func pod(name, rv string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "uid-" + "x", ResourceVersion: rv}}
}

func streaming() metav1.ListOptions {
	yes := true
	return metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}
}

func TestForTypedClient(t *testing.T) {
	ctx := t.Context()
	cs := fake.NewClientset(pod("a", "1"), pod("b", "2"))
	src := For[*corev1.Pod](cs.CoreV1().Pods("ns"))

	page, err := src.List(ctx, metav1.ListOptions{})
	if err != nil || len(page.Items) != 2 || page.Remaining != 0 {
		t.Fatalf("List = %+v, %v", page, err)
	}
	it := &page.Items[0]
	if p, err := it.Object(); err != nil || p.Name != "a" || it.Key != "ns/a" || it.UID != "uid-x" {
		t.Errorf("item = %+v, %v, %v", it, p, err)
	}

	stream, err := src.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	if _, err := cs.CoreV1().Pods("ns").Create(ctx, pod("c", "3"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	evs, err := stream.Next(ctx)
	if err != nil || len(evs) == 0 || evs[len(evs)-1].Type != Added || evs[len(evs)-1].Item.Key != "ns/c" {
		t.Errorf("Next = %+v, %v", evs, err)
	}
}

func TestFakeClientsAreKnownNotToStream(t *testing.T) {
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	typed := For[*corev1.Pod](fake.NewClientset().CoreV1().Pods("ns"))
	if _, err := typed.Watch(t.Context(), streaming()); !errors.Is(err, ErrStreamingUnsupported) {
		t.Errorf("typed fake: %v", err)
	}
	dyn := For[*unstructured.Unstructured](dynamicfake.NewSimpleDynamicClient(scheme.Scheme).Resource(gvr))
	if _, err := dyn.Watch(t.Context(), streaming()); !errors.Is(err, ErrStreamingUnsupported) {
		t.Errorf("dynamic fake: %v", err)
	}
	s := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(s); err != nil {
		t.Fatal(err)
	}
	md := For[*metav1.PartialObjectMetadata](metadatafake.NewSimpleMetadataClient(s).Resource(gvr))
	if _, err := md.Watch(t.Context(), streaming()); !errors.Is(err, ErrStreamingUnsupported) {
		t.Errorf("metadata fake: %v", err)
	}
}

func TestForDynamicAndMetadataClients(t *testing.T) {
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	dyn := For[*unstructured.Unstructured](dynamicfake.NewSimpleDynamicClient(scheme.Scheme, pod("a", "1")).Resource(gvr).Namespace("ns"))
	up, err := dyn.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(up.Items) != 1 || up.Items[0].Key != "ns/a" {
		t.Errorf("dynamic: %+v, %v", up, err)
	}

	s := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(s); err != nil {
		t.Fatal(err)
	}
	obj := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"},
	}
	md := For[*metav1.PartialObjectMetadata](metadatafake.NewSimpleMetadataClient(s, obj).Resource(gvr))
	mp, err := md.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(mp.Items) != 1 || mp.Items[0].Key != "ns/a" {
		t.Errorf("metadata: %+v, %v", mp, err)
	}
}

func listOf(list runtime.Object) Funcs[*corev1.Pod] {
	return Funcs[*corev1.Pod]{ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil }}
}

func TestListOfOtherTypesNamesBoth(t *testing.T) {
	list := &metav1.List{Items: []runtime.RawExtension{{Object: pod("a", "1")}, {Object: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "s"}}}}}
	page, err := listOf(list).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(page.Items) != 2 {
		t.Fatalf("List = %+v, %v", page, err)
	}
	if _, err := page.Items[0].Object(); err != nil {
		t.Errorf("good item: %v", err)
	}
	_, err = page.Items[1].Object()
	var wrong *WrongTypeError
	if !errors.As(err, &wrong) || wrong.Want != "*v1.Pod" || wrong.Got != "*v1.Service" || wrong.Key != "s" || page.Items[1].Key != "s" {
		t.Errorf("wrong item: %v", err)
	}
}

func TestListAnswersThatAreNoList(t *testing.T) {
	for name, tc := range map[string]struct {
		list runtime.Object
		want error
	}{
		"nil":                {nil, nil},
		"typed nil":          {(*corev1.PodList)(nil), nil},
		"one object":         {pod("a", "1"), nil},
		"table":              {&metav1.Table{}, ErrTable},
		"unstructured table": {&unstructured.UnstructuredList{Object: map[string]any{"kind": "Table", "apiVersion": "meta.k8s.io/v1"}}, ErrTable},
	} {
		_, err := listOf(tc.list).List(t.Context(), metav1.ListOptions{})
		if err == nil || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	status := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
	if _, err := listOf(&status.ErrStatus).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("Status as list: %v", err)
	}
}

func TestListPageMetadata(t *testing.T) {
	n := int64(7)
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "5", Continue: "c", RemainingItemCount: &n}}
	page, err := listOf(list).List(t.Context(), metav1.ListOptions{})
	if err != nil || page.ResourceVersion != "5" || page.Continue != "c" || page.Remaining != 7 {
		t.Errorf("page = %+v, %v", page, err)
	}
	list.RemainingItemCount = nil
	if page, _ = listOf(list).List(t.Context(), metav1.ListOptions{}); page.Remaining != -1 {
		t.Errorf("remaining = %d, want unknown", page.Remaining)
	}
}

func TestListItemsDoNotPinTheirPage(t *testing.T) {
	list := &corev1.PodList{Items: []corev1.Pod{*pod("a", "1"), *pod("b", "1")}}
	page, err := listOf(list).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if p, _ := page.Items[0].Object(); p == &list.Items[0] {
		t.Error("the item points into the list's array")
	}
}

func TestSourceOfAny(t *testing.T) {
	list := &corev1.PodList{Items: []corev1.Pod{*pod("a", "1")}}
	src := Funcs[any]{ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil }}
	page, err := src.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	obj, err := page.Items[0].Object()
	if p, ok := obj.(*corev1.Pod); err != nil || !ok || p.Name != "a" {
		t.Errorf("object = %v, %v", obj, err)
	}
}

func TestFuncsMissingOrReturningNothing(t *testing.T) {
	if _, err := (Funcs[any]{}).List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("List without ListFunc")
	}
	if _, err := (Funcs[any]{}).Watch(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("Watch without WatchFunc")
	}
	none := Funcs[any]{WatchFunc: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return nil, nil }}
	if _, err := none.Watch(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("Watch that returned nothing")
	}
}

func TestFuncsAskForWhatTheyDo(t *testing.T) {
	var got []bool
	src := Funcs[any]{
		ListFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			got = append(got, o.Watch)
			return &corev1.PodList{}, nil
		},
		WatchFunc: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			got = append(got, o.Watch)
			return watch.NewEmptyWatch(), nil
		},
	}
	if _, err := src.List(t.Context(), metav1.ListOptions{Watch: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := src.Watch(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0] || !got[1] {
		t.Errorf("Watch options = %v, want [false true]", got)
	}
}

func TestNarrow(t *testing.T) {
	var got metav1.ListOptions
	src := Funcs[any]{
		ListFunc: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			got = o
			return &corev1.PodList{}, nil
		},
		WatchFunc: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			got = o
			return watch.NewEmptyWatch(), nil
		},
	}
	app := labels.SelectorFromSet(labels.Set{"app": "x"})
	node := fields.OneTermEqualSelector("spec.nodeName", "n1")
	for _, tc := range []struct {
		name                   string
		byLabel                labels.Selector
		byField                fields.Selector
		opts                   metav1.ListOptions
		wantLabels, wantFields string
	}{
		{"nothing asked", nil, nil, metav1.ListOptions{}, "", ""},
		{"everything", labels.Everything(), fields.Everything(), metav1.ListOptions{}, "", ""},
		{"both", app, node, metav1.ListOptions{}, "app=x", "spec.nodeName=n1"},
		{"on top of the caller's", app, node, metav1.ListOptions{LabelSelector: "tier=db", FieldSelector: "metadata.name=a"},
			"app=x,tier=db", "spec.nodeName=n1,metadata.name=a"},
		{"no labels", labels.Nothing(), nil, metav1.ListOptions{}, "none,!none", ""},
		{"no fields", nil, fields.Nothing(), metav1.ListOptions{}, "none,!none", ""},
	} {
		n := Narrow(Source[any](src), tc.byLabel, tc.byField)
		if _, err := n.List(t.Context(), tc.opts); err != nil || got.LabelSelector != tc.wantLabels || got.FieldSelector != tc.wantFields {
			t.Errorf("%s: list %q %q, %v", tc.name, got.LabelSelector, got.FieldSelector, err)
		}
		if _, err := n.Watch(t.Context(), tc.opts); err != nil || got.LabelSelector != tc.wantLabels || got.FieldSelector != tc.wantFields {
			t.Errorf("%s: watch %q %q, %v", tc.name, got.LabelSelector, got.FieldSelector, err)
		}
	}
	sel, err := labels.Parse(matchesNothing)
	if err != nil || sel.Matches(labels.Set{}) || sel.Matches(labels.Set{"none": ""}) {
		t.Errorf("%q matches something (%v)", matchesNothing, err)
	}
}

func TestErrorsNameWhatTheyAreAbout(t *testing.T) {
	cause := errors.New("boom")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&WrongTypeError{Want: "A", Got: "B"}, "want A, got B"},
		{&WrongTypeError{Key: "ns/x", Want: "A", Got: "B"}, `object "ns/x": want A, got B`},
		{&DecodeError{Err: cause}, "decode: boom"},
		{&DecodeError{Key: "ns/x", Err: cause}, `decode object "ns/x": boom`},
	} {
		if !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("%q lacks %q", tc.err, tc.want)
		}
	}
	if !errors.Is(&DecodeError{Err: cause}, cause) {
		t.Error("DecodeError does not unwrap")
	}
}
