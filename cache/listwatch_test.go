package cache

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/util/watchlist"
)

// roundTripper answers requests of a REST client and remembers their URLs.
type roundTripper struct {
	urls []*url.URL
	body string
}

func (r *roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	r.urls = append(r.urls, req.URL)
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"application/json"}},
		Body:       io.NopCloser(strings.NewReader(r.body)),
	}, nil
}

func newRESTClient(t *testing.T, transport http.RoundTripper) Getter {
	t.Helper()
	client, err := restclient.RESTClientFor(&restclient.Config{
		Host:      "http://server.test",
		APIPath:   "/api",
		Transport: transport,
		ContentConfig: restclient.ContentConfig{
			GroupVersion:         &corev1.SchemeGroupVersion,
			NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		},
	})
	succeed(t, err)
	return client
}

func TestListWatchFromClientAsksForWhatItWasMadeFor(t *testing.T) {
	transport := &roundTripper{body: `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`}
	client := newRESTClient(t, transport)
	byField := NewListWatchFromClient(client, "pods", "ns", fields.OneTermEqualSelector("spec.nodeName", "n1"))
	byLabel := NewFilteredListWatchFromClient(client, "nodes", metav1.NamespaceAll, func(options *metav1.ListOptions) {
		options.LabelSelector = "app=web"
	})
	ctx := context.Background()

	list, err := byField.ListWithContext(ctx, metav1.ListOptions{ResourceVersion: "0", Limit: 10})
	succeed(t, err)
	check(t, "resource version", "7", list.(*corev1.PodList).ResourceVersion)
	_, err = byField.List(metav1.ListOptions{Continue: "token"})
	succeed(t, err)
	_, err = byLabel.ListWithContext(ctx, metav1.ListOptions{})
	succeed(t, err)
	for _, open := range []func() (watch.Interface, error){
		func() (watch.Interface, error) {
			return byField.WatchWithContext(ctx, metav1.ListOptions{ResourceVersion: "7"})
		},
		func() (watch.Interface, error) { return byLabel.Watch(metav1.ListOptions{}) },
	} {
		w, err := open()
		succeed(t, err)
		w.Stop()
		for range w.ResultChan() { // until it has ended
		}
	}

	var got []string
	for _, u := range transport.urls {
		query, err := url.QueryUnescape(u.RawQuery)
		succeed(t, err)
		got = append(got, u.Path+"?"+query)
	}
	check(t, "requests", []string{
		"/api/v1/namespaces/ns/pods?fieldSelector=spec.nodeName=n1&limit=10&resourceVersion=0",
		"/api/v1/namespaces/ns/pods?continue=token&fieldSelector=spec.nodeName=n1",
		"/api/v1/nodes?labelSelector=app=web",
		"/api/v1/namespaces/ns/pods?fieldSelector=spec.nodeName=n1&resourceVersion=7&watch=true",
		"/api/v1/nodes?labelSelector=app=web&watch=true",
	}, got)
}

func TestListWatchFunctionsOfAllKinds(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(context.Background(), key{}, "the caller's")
	var calls []string
	plain := ListWatch{
		ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
			calls = append(calls, "list "+options.ResourceVersion)
			return &corev1.PodList{}, nil
		},
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			calls = append(calls, "watch "+options.ResourceVersion)
			return watch.NewFake(), nil
		},
	}
	withContext := ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			who, _ := ctx.Value(key{}).(string)
			calls = append(calls, "list "+options.ResourceVersion+" of "+who)
			return &corev1.PodList{}, nil
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			who, _ := ctx.Value(key{}).(string)
			calls = append(calls, "watch "+options.ResourceVersion+" of "+who)
			return watch.NewFake(), nil
		},
	}
	both := withContext
	both.ListFunc, both.WatchFunc = plain.ListFunc, plain.WatchFunc
	options := metav1.ListOptions{ResourceVersion: "5"}
	for _, lw := range []*ListWatch{&plain, &withContext, &both} {
		_, err := lw.List(options)
		succeed(t, err)
		_, err = lw.ListWithContext(ctx, options)
		succeed(t, err)
		_, err = lw.Watch(options)
		succeed(t, err)
		_, err = lw.WatchWithContext(ctx, options)
		succeed(t, err)
	}
	check(t, "calls", []string{
		"list 5", "list 5", "watch 5", "watch 5",
		"list 5 of ", "list 5 of the caller's", "watch 5 of ", "watch 5 of the caller's",
		"list 5", "list 5 of the caller's", "watch 5", "watch 5 of the caller's",
	}, calls)

	none := &ListWatch{}
	if _, err := none.List(options); err == nil {
		t.Error("list without a function: no error")
	}
	if _, err := none.Watch(options); err == nil {
		t.Error("watch without a function: no error")
	}
}

func TestListWatchPagesAsItsCallerSays(t *testing.T) {
	var got metav1.ListOptions
	lw := &ListWatch{ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
		got = options
		return &corev1.PodList{}, nil
	}}
	asked := metav1.ListOptions{Limit: 10, Continue: "token", LabelSelector: "a=b"}
	_, err := lw.ListWithContext(context.Background(), asked)
	succeed(t, err)
	check(t, "options", asked, got)

	lw.DisableChunking = true
	for _, list := range []func() (runtime.Object, error){
		func() (runtime.Object, error) { return lw.List(asked) },
		func() (runtime.Object, error) { return lw.ListWithContext(context.Background(), asked) },
	} {
		_, err = list()
		succeed(t, err)
		check(t, "options without chunking", metav1.ListOptions{LabelSelector: "a=b"}, got)
	}
}

// plainListerWatcher has no methods with a context.
type plainListerWatcher struct {
	list  func() (runtime.Object, error)
	watch func() (watch.Interface, error)
}

func (p plainListerWatcher) List(metav1.ListOptions) (runtime.Object, error)   { return p.list() }
func (p plainListerWatcher) Watch(metav1.ListOptions) (watch.Interface, error) { return p.watch() }

func TestConversionsKeepWhatHasTheFormAlready(t *testing.T) {
	lw := &ListWatch{}
	if ToListerWithContext(lw) != ListerWithContext(lw) || ToWatcherWithContext(lw) != WatcherWithContext(lw) ||
		ToListerWatcherWithContext(lw) != ListerWatcherWithContext(lw) {
		t.Error("a ListWatch was wrapped")
	}
	failed := errors.New("failed")
	plain := plainListerWatcher{
		list:  func() (runtime.Object, error) { return nil, failed },
		watch: func() (watch.Interface, error) { return nil, failed },
	}
	if _, err := ToListerWithContext(plain).ListWithContext(t.Context(), metav1.ListOptions{}); err != failed {
		t.Errorf("list: got error %v", err)
	}
	if _, err := ToWatcherWithContext(plain).WatchWithContext(t.Context(), metav1.ListOptions{}); err != failed {
		t.Errorf("watch: got error %v", err)
	}
	converted := ToListerWatcherWithContext(plain)
	if _, err := converted.ListWithContext(t.Context(), metav1.ListOptions{}); err != failed {
		t.Errorf("list of both: got error %v", err)
	}
	if _, err := converted.WatchWithContext(t.Context(), metav1.ListOptions{}); err != failed {
		t.Errorf("watch of both: got error %v", err)
	}
}

func TestCallsWithoutAContextEndWithOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan struct{})
		w := watch.NewFake()
		lw := plainListerWatcher{
			list:  func() (runtime.Object, error) { <-late; return &corev1.PodList{}, nil },
			watch: func() (watch.Interface, error) { <-late; return w, nil },
		}
		reason := errors.New("enough")
		ctx, cancel := context.WithCancelCause(context.Background())
		errs := make(chan error, 2)
		go func() {
			_, err := ToListerWithContext(lw).ListWithContext(ctx, metav1.ListOptions{})
			errs <- err
		}()
		go func() {
			_, err := ToWatcherWithContext(lw).WatchWithContext(ctx, metav1.ListOptions{})
			errs <- err
		}()
		synctest.Wait()
		check(t, "returned before the context ended", 0, len(errs))
		cancel(reason)
		for range 2 {
			if err := <-errs; err != reason {
				t.Errorf("got error %v, want the context's", err)
			}
		}
		close(late)
		if _, open := <-w.ResultChan(); open {
			t.Error("a watch that nobody waited for any more was not stopped")
		}
	})
}

func TestAPanicOfACallWithoutAContextIsItsCallers(t *testing.T) {
	defer func() {
		check(t, "recovered", any("a test's"), recover())
	}()
	lw := &ListWatch{ListFunc: func(metav1.ListOptions) (runtime.Object, error) { panic("a test's") }}
	_, err := lw.ListWithContext(t.Context(), metav1.ListOptions{})
	t.Errorf("got error %v, want a panic", err)
}

type clientWithoutStreaming struct{}

func (clientWithoutStreaming) IsWatchListSemanticsUnSupported() bool { return true }

func TestListWatchKnowsWhetherItsClientStreams(t *testing.T) {
	lw := &ListWatch{}
	if ToListWatcherWithWatchListSemantics(lw, "any client") != ListerWatcher(lw) {
		t.Error("a ListWatch of a client that does not say was wrapped")
	}
	without := ToListWatcherWithWatchListSemantics(lw, clientWithoutStreaming{})
	check(t, "said to have no streaming lists", true, watchlist.DoesClientNotSupportWatchListSemantics(without))
	if _, ok := without.(ListerWatcherWithContext); !ok {
		t.Error("the context forms are lost")
	}
}
