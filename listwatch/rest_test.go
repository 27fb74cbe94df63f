package listwatch

import (
	"bytes"
	"context"
	"encoding/binary"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// server answers every request with what the test says, and keeps the last one.
type server struct {
	*httptest.Server
	last *http.Request
}

func serve(t *testing.T, answer http.HandlerFunc) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.last = r
		answer(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *server) client(t *testing.T, contentType string) *kubernetes.Clientset {
	t.Helper()
	cs, err := kubernetes.NewForConfig(&rest.Config{Host: s.URL, ContentConfig: rest.ContentConfig{ContentType: contentType, AcceptContentTypes: contentType}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cs.CoreV1().RESTClient().(*rest.RESTClient).Client.CloseIdleConnections()
	})
	return cs
}

func (s *server) rest(t *testing.T, contentType string) rest.Interface {
	return s.client(t, contentType).CoreV1().RESTClient()
}

const (
	asJSON  = "application/json"
	asProto = "application/vnd.kubernetes.protobuf"
)

func body(contentType, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, text)
	}
}

const threePods = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"10","continue":"more","remainingItemCount":4},"items":[
 {"metadata":{"name":"a","namespace":"ns","uid":"u1","resourceVersion":"1"},"spec":{"nodeName":"n1"}},
 {"metadata":{"name":"b","namespace":"ns","uid":"u2","resourceVersion":"2"},"spec":{"nodeName":7}},
 {"metadata":{"name":"c","namespace":"ns","uid":"u3","resourceVersion":"3"},"spec":{"nodeName":"n3"}}]}`

func TestRESTListSetsAsideWhatCanNotBeDecoded(t *testing.T) {
	s := serve(t, body(asJSON, threePods))
	page, err := REST[*corev1.Pod](s.rest(t, asJSON), "pods", "ns").List(t.Context(), metav1.ListOptions{Limit: 3, ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	if page.ResourceVersion != "10" || page.Continue != "more" || page.Remaining != 4 || len(page.Items) != 3 {
		t.Errorf("page = %+v", page)
	}
	if got := s.last.URL.String(); got != "/api/v1/namespaces/ns/pods?limit=3&resourceVersion=0" {
		t.Errorf("request = %s", got)
	}
	for i, want := range []string{"n1", "", "n3"} {
		it := &page.Items[i]
		p, err := it.Object()
		if want == "" {
			var bad *DecodeError
			if !errors.As(err, &bad) || bad.Key != "ns/b" || it.Key != "ns/b" || it.UID != "u2" || it.ResourceVersion != "2" {
				t.Errorf("bad item = %+v, %v", it, err)
			}
			continue
		}
		if err != nil || p.Spec.NodeName != want || it.Key != "ns/"+p.Name || it.UID != string(p.UID) || it.ResourceVersion != p.ResourceVersion {
			t.Errorf("item %d = %+v, %v, %v", i, it, p, err)
		}
	}
}

func TestRESTListOfAnotherKind(t *testing.T) {
	for name, tc := range map[string]struct {
		body string
		want func(error) bool
	}{
		"list of services": {`{"kind":"ServiceList","apiVersion":"v1","metadata":{},"items":[]}`,
			func(err error) bool { var e *WrongTypeError; return errors.As(err, &e) }},
		"table":    {`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`, func(err error) bool { return errors.Is(err, ErrTable) }},
		"no JSON":  {`{"kind":"PodList","items":[{`, func(err error) bool { var e *DecodeError; return errors.As(err, &e) }},
		"bad meta": {`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":5}}`, func(err error) bool { var e *DecodeError; return errors.As(err, &e) }},
		"CBOR":     {"\xd9\xd9\xf7\xa0", func(err error) bool { return errors.Is(err, errCBOR) }},
	} {
		s := serve(t, body(asJSON, tc.body))
		if _, err := REST[*corev1.Pod](s.rest(t, asJSON), "pods", "").List(t.Context(), metav1.ListOptions{}); !tc.want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := serve(t, body(asJSON, `{"kind":"List","apiVersion":"v1","metadata":{},"items":[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}},
		{"kind":"Node","apiVersion":"v1","metadata":{"name":"n"}}, 7]}`))
	page, err := REST[*corev1.Pod](s.rest(t, asJSON), "pods", "").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(page.Items) != 3 {
		t.Fatalf("mixed list: %+v, %v", page, err)
	}
	if p, err := page.Items[0].Object(); err != nil || p.Kind != "" || p.Name != "p" {
		t.Errorf("pod: %v, %v", p, err)
	}
	var wrong *WrongTypeError
	if _, err := page.Items[1].Object(); !errors.As(err, &wrong) || wrong.Key != "n" || !strings.Contains(wrong.Got, "Node") {
		t.Errorf("node: %v", err)
	}
	if _, err := page.Items[2].Object(); err == nil || page.Items[2].Key != "" {
		t.Errorf("number: %v", err)
	}
}

func TestRESTErrorsAreTheServers(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", asJSON)
		w.WriteHeader(http.StatusGone)
		gone := apierrors.NewResourceExpired("too old").ErrStatus
		gone.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		_ = stdjson.NewEncoder(w).Encode(gone)
	})
	src := REST[*corev1.Pod](s.rest(t, asJSON), "pods", "")
	if _, err := src.List(t.Context(), metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("List: %v", err)
	}
	if _, err := src.Watch(t.Context(), metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("Watch: %v", err)
	}
}

func TestRESTLeavesRetryingToItsCaller(t *testing.T) {
	requests := 0
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		requests++
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	src := REST[*corev1.Pod](s.rest(t, asJSON), "pods", "")
	_, err := src.List(t.Context(), metav1.ListOptions{})
	if after, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !ok || after != 7 {
		t.Errorf("List: %v, %d s", err, after)
	}
	_, err = src.Watch(t.Context(), metav1.ListOptions{})
	if after, ok := apierrors.SuggestsClientDelay(err); !apierrors.IsTooManyRequests(err) || !ok || after != 7 || requests != 2 {
		t.Errorf("Watch: %v, %d s, %d requests", err, after, requests)
	}
}

func TestRESTNeedsAPointerToAStruct(t *testing.T) {
	s := serve(t, body(asJSON, threePods))
	src := REST[any](s.rest(t, asJSON), "pods", "")
	if _, err := src.List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("List of any")
	}
	if _, err := src.Watch(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("Watch of any")
	}
}

func TestRESTUnstructuredAndMetadata(t *testing.T) {
	s := serve(t, body(asJSON, threePods))
	up, err := REST[*unstructured.Unstructured](s.rest(t, asProto), "pods", "").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	u, err := up.Items[1].Object() // nothing of an unstructured object is undecodable
	if err != nil || u.GetKind() != "Pod" || u.GetAPIVersion() != "v1" || u.Object["spec"].(map[string]any)["nodeName"] != int64(7) {
		t.Errorf("unstructured = %v, %v", u, err)
	}
	if got := s.last.Header.Get("Accept"); got != asJSON {
		t.Errorf("Accept = %q", got)
	}
	mp, err := REST[*metav1.PartialObjectMetadata](s.rest(t, asProto), "pods", "").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := mp.Items[1].Object(); err != nil || m.Name != "b" {
		t.Errorf("metadata = %v, %v", m, err)
	}
	if got := s.last.Header.Get("Accept"); !strings.HasPrefix(got, "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1") {
		t.Errorf("Accept = %q", got)
	}
}

// encoded is obj as the API server sends it in protobuf.
func encoded(t testing.TB, obj runtime.Object) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func bigPod(name, rv string) *corev1.Pod {
	p := pod(name, rv)
	p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	p.Labels = map[string]string{"app": "x"}
	p.Spec.NodeName = "node-" + name
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "registry/" + name}}
	return p
}

func TestRESTReadsProtobufLists(t *testing.T) {
	n := int64(9)
	list := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "10", Continue: "more", RemainingItemCount: &n},
		Items:    []corev1.Pod{*bigPod("a", "1"), *bigPod("b", "2")},
	}
	s := serve(t, body(asProto, string(encoded(t, list))))
	page, err := REST[*corev1.Pod](s.rest(t, asProto), "pods", "").List(t.Context(), metav1.ListOptions{})
	if err != nil || page.ResourceVersion != "10" || page.Continue != "more" || page.Remaining != 9 || len(page.Items) != 2 {
		t.Fatalf("page = %+v, %v", page, err)
	}
	if got := s.last.Header.Get("Accept"); got != asProto {
		t.Errorf("Accept = %q", got)
	}
	for i := range page.Items {
		it := &page.Items[i]
		p, err := it.Object()
		want := list.Items[i].DeepCopy()
		want.TypeMeta = metav1.TypeMeta{}
		if diff := cmp.Diff(want, p); err != nil || diff != "" || it.Key != "ns/"+want.Name || it.UID != string(want.UID) || it.ResourceVersion != want.ResourceVersion {
			t.Errorf("item = %+v, %v, %s", it, err, diff)
		}
	}
}

func TestRESTProtobufItemCutShort(t *testing.T) {
	list := encoded(t, &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Items: []corev1.Pod{*bigPod("a", "1")}})
	for n := range len(list) - 4 { // an envelope ends with two empty fields
		s, err := newCodec[*corev1.Pod]()
		if err != nil {
			t.Fatal(err)
		}
		page, err := s.page(list[:n])
		if err == nil && len(page.Items) == 1 {
			if _, err := page.Items[0].Object(); err == nil {
				t.Fatalf("%d of %d bytes were taken for the whole", n, len(list))
			}
		}
	}
}

func event(typ, object string) string {
	return fmt.Sprintf("{\"type\":%q,\"object\":%s}\n", typ, object)
}

func podJSON(name, rv, node string) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","uid":"u","resourceVersion":%q},"spec":{"nodeName":%s}}`, name, rv, node)
}

func TestRESTWatch(t *testing.T) {
	s := serve(t, body(asJSON, event("ADDED", podJSON("a", "1", `"n1"`))+
		event("MODIFIED", podJSON("b", "2", `7`))+
		event("DELETED", podJSON("c", "3", `"n"`))+
		event("ADDED", `{"kind":"Service","apiVersion":"v1","metadata":{"name":"s","resourceVersion":"4"}}`)+
		event("BOOKMARK", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}}`)+
		event("ERROR", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)))
	stream, err := REST[*corev1.Pod](s.rest(t, asJSON), "pods", "").Watch(t.Context(), streaming())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	if got := s.last.URL.RawQuery; got != "allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&watch=true" {
		t.Errorf("query = %s", got)
	}
	evs, err := all(t, stream)
	if !apierrors.IsResourceExpired(err) || len(evs) != 5 {
		t.Fatalf("events = %+v, %v", evs, err)
	}
	if p, err := evs[0].Item.Object(); err != nil || p.Spec.NodeName != "n1" || evs[0].Type != Added || evs[0].Item.Key != "ns/a" {
		t.Errorf("added: %v, %v", p, err)
	}
	var bad *DecodeError
	if _, err := evs[1].Item.Object(); !errors.As(err, &bad) || evs[1].Item.Key != "ns/b" || evs[1].Item.ResourceVersion != "2" {
		t.Errorf("undecodable: %v", err)
	}
	if p, err := evs[2].Item.Object(); err != nil || evs[2].Type != Deleted || p.Name != "c" {
		t.Errorf("deleted: %v, %v", p, err)
	}
	var wrong *WrongTypeError
	if _, err := evs[3].Item.Object(); !errors.As(err, &wrong) || evs[3].Item.Key != "s" {
		t.Errorf("of another kind: %v", err)
	}
	if b := evs[4]; b.Type != Bookmark || !b.InitialEventsEnd || b.Item.ResourceVersion != "9" {
		t.Errorf("bookmark: %+v", b)
	}
}

// all reads a stream to its end.
func all[T any](t *testing.T, s Stream[T]) (evs []Event[T], err error) {
	t.Helper()
	for {
		batch, err := s.Next(t.Context())
		if err != nil {
			return evs, err
		}
		evs = append(evs, batch...)
	}
}

func protoEvent(t *testing.T, typ string, obj runtime.Object) string {
	t.Helper()
	ev := metav1.WatchEvent{Type: typ, Object: runtime.RawExtension{Raw: encoded(t, obj)}}
	b, err := ev.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(b)))) + string(b)
}

func TestRESTReadsProtobufWatches(t *testing.T) {
	mark := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9",
		Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	gone := apierrors.NewResourceExpired("old").ErrStatus
	gone.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	s := serve(t, body(asProto+";stream=watch", protoEvent(t, "ADDED", bigPod("a", "1"))+protoEvent(t, "BOOKMARK", mark)+protoEvent(t, "ERROR", &gone)))
	stream, err := REST[*corev1.Pod](s.rest(t, asProto), "pods", "").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	evs, err := all(t, stream)
	if !apierrors.IsResourceExpired(err) || len(evs) != 2 {
		t.Fatalf("events = %+v, %v", evs, err)
	}
	want := bigPod("a", "1")
	want.TypeMeta = metav1.TypeMeta{}
	if p, err := evs[0].Item.Object(); err != nil || !cmp.Equal(want, p) || evs[0].Item.Key != "ns/a" {
		t.Errorf("added: %v, %v", p, err)
	}
	if b := evs[1]; !b.InitialEventsEnd || b.Item.ResourceVersion != "9" {
		t.Errorf("bookmark: %+v", b)
	}
}

func TestRESTWatchEnds(t *testing.T) {
	var decode *DecodeError
	for name, tc := range map[string]struct {
		body  string
		check func(error) bool
	}{
		"by the server":      {event("ADDED", podJSON("a", "1", `"n"`)), func(err error) bool { return err == io.EOF }},
		"in an event":        {`{"type":"ADDED","obj`, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		"with a table":       {event("ADDED", `{"kind":"Table","apiVersion":"meta.k8s.io/v1"}`), func(err error) bool { return errors.Is(err, ErrTable) }},
		"with a status":      {event("ADDED", `{"kind":"Status","apiVersion":"v1","code":403,"reason":"Forbidden","status":"Failure"}`), apierrors.IsForbidden},
		"with rubbish":       {"<html>sorry</html>", func(err error) bool { return errors.As(err, &decode) }},
		"with an odd type":   {event("MOVED", podJSON("a", "1", `"n"`)), func(err error) bool { return err != nil && err != io.EOF }},
		"with no object":     {`{"type":"ADDED"}`, func(err error) bool { return errors.As(err, &decode) }},
		"with a bad error":   {event("ERROR", `"oh"`), func(err error) bool { return errors.As(err, &decode) }},
		"with a bad mark":    {event("BOOKMARK", `"oh"`), func(err error) bool { return errors.As(err, &decode) }},
		"with bad JSON":      {"{\"type\":\"ADDED\",,}", func(err error) bool { return errors.As(err, &decode) }},
		"with an empty body": {"\n", func(err error) bool { return err == io.EOF }},
	} {
		s := serve(t, body(asJSON, tc.body))
		stream, err := REST[*corev1.Pod](s.rest(t, asJSON), "pods", "").Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := all(t, stream); !tc.check(err) {
			t.Errorf("%s: %v", name, err)
		}
		stream.Stop()
	}
}

// pause sends what is there and waits for the end of the request.
func pause(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", asJSON)
		_, _ = io.WriteString(w, text)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

func TestRESTWatchDoesNotWaitForTheRestOfAnEvent(t *testing.T) {
	whole := event("ADDED", podJSON("a", "1", `"n"`))
	s := serve(t, pause(whole+whole[:20]))
	stream, err := REST[*corev1.Pod](s.rest(t, asJSON), "pods", "").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	if evs, err := stream.Next(t.Context()); err != nil || len(evs) != 1 {
		t.Errorf("Next = %+v, %v", evs, err)
	}
}

func TestRESTNextEndsWithEitherContextAndWithStop(t *testing.T) {
	s := serve(t, pause(""))
	src := REST[*corev1.Pod](s.rest(t, asJSON), "pods", "")
	enough := errors.New("enough")

	ctx, cancel := context.WithCancelCause(t.Context())
	ofRequest, err := src.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cancel(enough)
	if _, err := ofRequest.Next(t.Context()); !errors.Is(err, enough) {
		t.Errorf("context of the request: %v", err)
	}
	ofRequest.Stop()

	stream, err := src.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(enough)
	if _, err := stream.Next(ctx); !errors.Is(err, enough) {
		t.Errorf("context of Next: %v", err)
	}
	stream.Stop()

	stopped, err := src.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go stopped.Stop()
	if _, err := stopped.Next(t.Context()); err != io.EOF {
		t.Errorf("stopped: %v", err)
	}
}

// TestRESTAgreesWithTheTypedClient compares what REST makes of an answer with what client-go's decoder does.
func TestRESTAgreesWithTheTypedClient(t *testing.T) {
	list := &corev1.PodList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "10"},
		Items:    []corev1.Pod{*bigPod("a", "1"), *bigPod("b", "2")},
	}
	inJSON, err := stdjson.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	for contentType, answer := range map[string]string{asJSON: string(inJSON), asProto: string(encoded(t, list))} {
		s := serve(t, body(contentType, answer))
		cs := s.client(t, contentType)
		want, err := For[*corev1.Pod](cs.CoreV1().Pods("")).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := REST[*corev1.Pod](cs.CoreV1().RESTClient(), "pods", "").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(got.Items) != len(want.Items) || got.ResourceVersion != want.ResourceVersion || got.Remaining != want.Remaining {
			t.Fatalf("%s: %+v, %v; want %+v", contentType, got, err, want)
		}
		for i := range want.Items {
			w, _ := want.Items[i].Object()
			g, err := got.Items[i].Object()
			w.TypeMeta = metav1.TypeMeta{} // carried by the items of this test only
			if diff := cmp.Diff(w, g); err != nil || diff != "" {
				t.Errorf("%s: %v %s", contentType, err, diff)
			}
		}
	}
}
