package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/listwatch"
)

var streamingList = metav1.ListOptions{SendInitialEvents: ptr(true), ResourceVersionMatch: notOlder, AllowWatchBookmarks: true}

func TestFaultChoosesItsRequests(t *testing.T) {
	forbidden := apierrors.NewForbidden(pods.GroupResource(), "", errors.New("no"))
	unauthorized := apierrors.NewUnauthorized("who are you")
	cases := []struct {
		name   string
		faults []apitest.Fault
		want   string // of list pods three times, watch pods, list nodes
	}{
		{"no fault", nil, "[    ]"},
		{"the next two lists", []apitest.Fault{{Verb: "list", Times: 2, Error: forbidden}}, "[Forbidden Forbidden   ]"},
		{"all but the first request for pods", []apitest.Fault{{Resource: "pods", Skip: 1, Error: forbidden}}, "[ Forbidden Forbidden Forbidden ]"},
		{"the second", []apitest.Fault{{Skip: 1, Times: 1, Error: forbidden}}, "[ Forbidden   ]"},
		{"everything", []apitest.Fault{{Error: unauthorized}}, "[Unauthorized Unauthorized Unauthorized Unauthorized Unauthorized]"},
		{"two faults: the first that has an error", []apitest.Fault{{Latency: 1}, {Verb: "list", Times: 1, Error: forbidden}, {Resource: "pods", Error: unauthorized}},
			"[Forbidden Unauthorized Unauthorized Unauthorized ]"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(t, apitest.Options{})
			var injected []*apitest.Injected
			for _, f := range tc.faults {
				injected = append(injected, s.Inject(f))
			}
			lw := s.ListerWatcher(pods, "")
			request := func() []string {
				var got []string
				for range 3 {
					_, err := lw.List(metav1.ListOptions{})
					got = append(got, reasonOf(err))
				}
				w, err := lw.Watch(metav1.ListOptions{})
				if err == nil {
					w.Stop()
				}
				_, errNodes := s.ListerWatcher(nodes, "").List(metav1.ListOptions{})
				return append(got, reasonOf(err), reasonOf(errNodes))
			}
			diff(t, "errors", tc.want, fmt.Sprint(request()))
			for _, in := range injected {
				if in.Hits() == 0 {
					t.Error("a fault says that it hit nothing")
				}
			}
			s.RemoveFaults()
			diff(t, "errors when healed", "[    ]", fmt.Sprint(request()))
		})
	}
}

func TestErrorIsAnsweredOverHTTP(t *testing.T) {
	s := startServer(t, apitest.Options{})
	client := must(kubernetes.NewForConfig(s.Config()))(t)

	s.Inject(apitest.Fault{Verb: "get", Times: 1, Error: apierrors.NewTooManyRequests("later", 7)})
	resp := must(http.Get(s.Config().Host + "/api/v1/namespaces/ns/pods/a"))(t)
	resp.Body.Close()
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") != "7" {
		t.Errorf("429: status %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}

	s.Inject(apitest.Fault{Verb: "watch", Times: 1, Error: apierrors.NewResourceExpired("old")})
	if _, err := client.CoreV1().Pods("").Watch(ctx, metav1.ListOptions{}); !apierrors.IsResourceExpired(err) {
		t.Errorf("410 as the answer to a watch: %v", err)
	}

	s.Inject(apitest.Fault{Verb: "create", Times: 1, Error: io.ErrUnexpectedEOF})
	_, err := client.CoreV1().Pods("ns").Create(ctx, pod("", "a"), metav1.CreateOptions{})
	if _, isStatus := err.(apierrors.APIStatus); err == nil || isStatus {
		t.Errorf("a broken connection gave %v", err)
	}
	if _, err := apitest.Get[*corev1.Pod](s, pods, "ns", "a"); !apierrors.IsNotFound(err) {
		t.Errorf("the broken create did its work: %v", err)
	}
}

func TestErrorAsEvent(t *testing.T) {
	overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
		create(t, s, pod("ns", "a"))
		s.Inject(apitest.Fault{Verb: "watch", Times: 1, AsEvent: true, Error: apierrors.NewInternalError(errors.New("etcd"))})
		diff(t, "events", []string{"ERROR 500 InternalError"}, take(t, must(c.watch(metav1.ListOptions{}))(t), -1))
		w := must(c.watch(metav1.ListOptions{}))(t)
		defer w.Stop()
		diff(t, "the next watch", []string{"ADDED ns/a@2"}, take(t, w, 1))
	})
}

func TestHangEndsWithTheContextOrTheFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apitest.Options{})
		fault := s.Inject(apitest.Fault{Hang: true})
		lw := s.ListerWatcher(pods, "")

		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := lw.ListWithContext(ctx, metav1.ListOptions{}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("after %v: %v", time.Since(start), err)
		}

		healed := make(chan error)
		go func() {
			_, err := lw.List(metav1.ListOptions{})
			healed <- err
		}()
		time.Sleep(time.Hour)
		synctest.Wait()
		select {
		case err := <-healed:
			t.Errorf("answered while hanging: %v", err)
		default:
		}
		fault.Remove()
		if err := <-healed; err != nil {
			t.Errorf("after the fault was removed: %v", err)
		}
		fault.Remove() // again is fine
	})
}

func TestCloseEndsHangingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apitest.Options{})
		s.Inject(apitest.Fault{Hang: true})
		errs := make(chan error)
		go func() {
			_, err := s.ListerWatcher(pods, "").List(metav1.ListOptions{})
			errs <- err
		}()
		synctest.Wait()
		s.Close()
		if err := <-errs; err == nil {
			t.Error("a hanging request was answered by Close")
		}
	})
}

func TestCloseEndsHangingRequestsOverHTTP(t *testing.T) {
	s := startServer(t, apitest.Options{})
	s.Inject(apitest.Fault{Hang: true})
	arrived := make(chan struct{})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(arrived)
		s.ServeHTTP(w, r)
	}))
	defer front.Close()
	errs := make(chan error)
	go func() {
		resp, err := front.Client().Get(front.URL + "/api/v1/pods")
		if err == nil {
			resp.Body.Close()
		}
		errs <- err
	}()
	<-arrived
	s.Close()
	if err := <-errs; err == nil {
		t.Error("a hanging request was answered by Close")
	}
}

func TestLatencyDelaysTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apitest.Options{})
		s.Inject(apitest.Fault{Verb: "list", Latency: 3 * time.Second})
		start := time.Now()
		must(s.ListerWatcher(pods, "").List(metav1.ListOptions{}))(t)
		diff(t, "time taken", 3*time.Second, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.ListerWatcher(pods, "").ListWithContext(ctx, metav1.ListOptions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestSilentWatchSendsNothingAndNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apitest.Options{})
		create(t, s, pod("ns", "a"))
		fault := s.Inject(apitest.Fault{Verb: "watch", Silent: true})
		w := must(s.ListerWatcher(pods, "").Watch(metav1.ListOptions{AllowWatchBookmarks: true, TimeoutSeconds: ptr(int64(60))}))(t)
		defer w.Stop()
		create(t, s, pod("ns", "b"))
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		select {
		case ev, ok := <-w.ResultChan():
			t.Fatalf("got %v, %v", ev, ok)
		default:
		}
		fault.Remove()
		diff(t, "events once healed", []string{"ADDED ns/a@2", "ADDED ns/b@3"}, take(t, w, -1))
	})
}

func TestStreamFaultsInTime(t *testing.T) {
	streamingFor := func(seconds int64) metav1.ListOptions {
		opts := streamingList
		opts.TimeoutSeconds = &seconds
		return opts
	}
	plain := metav1.ListOptions{AllowWatchBookmarks: true, TimeoutSeconds: ptr(int64(90))}
	cases := []struct {
		name  string
		fault apitest.Fault
		opts  metav1.ListOptions
		want  []string
	}{
		{"none", apitest.Fault{}, streamingFor(90), []string{"0s ADDED ns/a@2", "0s ADDED ns/b@3", "0s BOOKMARK @3 end", "1m0s BOOKMARK @3", "1m28s BOOKMARK @3", "1m30s end"}},
		{"drop bookmarks", apitest.Fault{DropBookmarks: true}, streamingFor(90), []string{"0s ADDED ns/a@2", "0s ADDED ns/b@3", "1m30s end"}},
		{"delay bookmarks", apitest.Fault{BookmarkDelay: 7 * time.Second}, streamingFor(90), []string{"0s ADDED ns/a@2", "0s ADDED ns/b@3", "7s BOOKMARK @3 end", "1m7s BOOKMARK @3", "1m30s end"}},
		{"no end mark", apitest.Fault{NoInitialEventsEnd: true}, streamingFor(70), []string{"0s ADDED ns/a@2", "0s ADDED ns/b@3", "1m0s BOOKMARK @3", "1m8s BOOKMARK @3", "1m10s end"}},
		{"option ignored", apitest.Fault{IgnoreSendInitialEvents: true}, streamingFor(50), []string{"0s ADDED ns/a@2", "0s ADDED ns/b@3", "48s BOOKMARK @3", "50s end"}},
		{"fake", apitest.Fault{NoInitialEvents: true, DropBookmarks: true}, streamingFor(90), []string{"1m30s end"}},
		{"slow stream", apitest.Fault{EventDelay: 2 * time.Second}, streamingFor(50), []string{"2s ADDED ns/a@2", "4s ADDED ns/b@3", "6s BOOKMARK @3 end", "48s BOOKMARK @3", "50s end"}},
		{"two that are slow", apitest.Fault{EventDelay: 2 * time.Second, Latency: 10 * time.Second}, plain, []string{"2s ADDED ns/a@2", "4s ADDED ns/b@3", "1m0s BOOKMARK @3", "1m28s BOOKMARK @3", "1m30s end"}},
		{"closed at once", apitest.Fault{CloseAfter: -1}, streamingFor(90), []string{"0s end"}},
		{"closed early", apitest.Fault{CloseAfter: 1}, streamingFor(90), []string{"0s ADDED ns/a@2", "0s end"}},
		{"closed after the list", apitest.Fault{CloseAfter: 3}, streamingFor(90), []string{"0s ADDED ns/a@2", "0s ADDED ns/b@3", "0s BOOKMARK @3 end", "0s end"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, apitest.Options{})
				create(t, s, pod("ns", "a"))
				create(t, s, pod("ns", "b"))
				s.Inject(tc.fault)
				diff(t, "timeline", tc.want, timeline(t, s, tc.opts))
			})
		})
	}
}

func TestContinueExpires(t *testing.T) {
	overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
		for i := range 3 {
			create(t, s, pod("ns", fmt.Sprint("p", i)))
		}
		with := s.Inject(apitest.Fault{Verb: "list", Times: 1, ExpireContinue: apitest.ExpireWithToken})
		first := must(c.list(metav1.ListOptions{Limit: 2}))(t) // is no page 2: does not use up the fault
		opts := metav1.ListOptions{Limit: 2, Continue: listMetaOf(t, first).GetContinue()}
		_, err := c.list(opts)
		if !apierrors.IsResourceExpired(err) || with.Hits() != 1 {
			t.Fatalf("got %v, want Expired", err)
		}
		rest := must(c.list(metav1.ListOptions{Limit: 2, Continue: err.(apierrors.APIStatus).Status().Continue}))(t)
		diff(t, "the rest", []string{"ns/p2@4"}, describeList(t, rest))

		s.Inject(apitest.Fault{Verb: "list", Times: 1, ExpireContinue: apitest.ExpireWithoutToken})
		_, err = c.list(opts)
		if !apierrors.IsResourceExpired(err) || err.(apierrors.APIStatus).Status().Continue != "" {
			t.Errorf("got %v, want Expired without token", err)
		}
		must(c.list(opts))(t) // the fault is over
	})
}

func TestStaleReadsGoBackInTimeWhereTheyMay(t *testing.T) {
	overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
		past(t, s)
		s.Inject(apitest.Fault{StaleAt: 3})
		then, now := []string{"ns/a@2", "ns/b@3"}, []string{"ns-2/c@5", "ns/a@4"}
		for _, tc := range []struct {
			rv, at string
			want   []string
		}{{"0", "3", then}, {"2", "3", then}, {"3", "3", then}, {"4", "6", now}, {"", "6", now}} {
			list := must(c.list(metav1.ListOptions{ResourceVersion: tc.rv}))(t)
			diff(t, "list at "+tc.rv, tc.want, describeList(t, list))
			diff(t, "its version", tc.at, listMetaOf(t, list).GetResourceVersion())
		}
		if c.name != "HTTP" {
			return
		}
		client := must(kubernetes.NewForConfig(s.Config()))(t).CoreV1().Pods("ns")
		diff(t, "get of any", "2", must(client.Get(ctx, "a", metav1.GetOptions{ResourceVersion: "0"}))(t).ResourceVersion)
		must(client.Get(ctx, "b", metav1.GetOptions{ResourceVersion: "0"}))(t)
		if _, err := client.Get(ctx, "b", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("consistent get of a deleted pod: %v", err)
		}
		diff(t, "consistent get", "4", must(client.Get(ctx, "a", metav1.GetOptions{}))(t).ResourceVersion)
	})
}

func TestDamagedObjectsInTheProcess(t *testing.T) {
	s := newServer(t, apitest.Options{})
	for _, name := range []string{"bad", "good", "wrong"} {
		create(t, s, pod("ns", name))
	}
	fault := s.Inject(apitest.Fault{Undecodable: []string{"ns/bad"}, WrongType: []string{"ns/wrong"}})
	src := apitest.Source[*corev1.Pod](s, pods, "")

	check := func(what string, items []listwatch.Item[*corev1.Pod]) {
		t.Helper()
		var got []string
		for i := range items {
			_, err := items[i].Object()
			verdict := "good"
			if decode := (*listwatch.DecodeError)(nil); errors.As(err, &decode) {
				verdict = "undecodable " + decode.Key
			} else if wrong := (*listwatch.WrongTypeError)(nil); errors.As(err, &wrong) {
				verdict = fmt.Sprintf("%s wants %s, got %s", wrong.Key, wrong.Want, wrong.Got)
			} else if err != nil {
				verdict = err.Error()
			}
			got = append(got, items[i].Key+"@"+items[i].ResourceVersion+" "+verdict)
			if items[i].UID == "" {
				t.Errorf("%s: no UID", items[i].Key)
			}
		}
		diff(t, what, []string{
			"ns/bad@2 undecodable ns/bad", "ns/good@3 good", "ns/wrong@4 ns/wrong wants *v1.Pod, got *v1.ConfigMap",
		}, got)
	}
	check("list", must(src.List(ctx, metav1.ListOptions{}))(t).Items)
	stream := must(src.Watch(ctx, metav1.ListOptions{}))(t)
	defer stream.Stop()
	var watched []listwatch.Item[*corev1.Pod]
	for _, ev := range must(stream.Next(ctx))(t) {
		watched = append(watched, ev.Item)
	}
	check("watch", watched)

	lw := s.ListerWatcher(pods, "")
	if _, err := lw.List(metav1.ListOptions{}); err == nil {
		t.Error("a list with an undecodable object succeeded")
	}
	mixed := must(lw.List(metav1.ListOptions{FieldSelector: "metadata.name!=bad"}))(t)
	if _, isConfigMap := items(t, mixed)[1].(*corev1.ConfigMap); !isConfigMap {
		t.Errorf("got %T, want a stranger", items(t, mixed)[1])
	}
	w := must(lw.Watch(metav1.ListOptions{}))(t)
	defer w.Stop()
	diff(t, "events", []string{"ERROR 500 InternalError", "ADDED ns/good@3", "ADDED ns/wrong@4"}, take(t, w, 3))

	fault.Remove()
	must(lw.List(metav1.ListOptions{}))(t)
	update(t, s, onNode(pod("ns", "bad"), "n1"))
	if obj := must(must(stream.Next(ctx))(t)[0].Item.Object())(t); obj.Spec.NodeName != "n1" {
		t.Errorf("the stream opened under the fault still gives %v", obj)
	}
}

func TestDamagedObjectsOverHTTP(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/vnd.kubernetes.protobuf"} {
		t.Run(contentType, func(t *testing.T) {
			s := startServer(t, apitest.Options{})
			for _, name := range []string{"bad", "good", "wrong"} {
				create(t, s, pod("ns", name))
			}
			cfg := s.Config()
			cfg.ContentType = contentType
			client := must(kubernetes.NewForConfig(cfg))(t).CoreV1().Pods("ns")

			bad := s.Inject(apitest.Fault{Undecodable: []string{"ns/bad"}})
			if list, err := client.List(ctx, metav1.ListOptions{}); err == nil {
				t.Errorf("list decoded to %d items", len(list.Items))
			}
			if p, err := client.Get(ctx, "bad", metav1.GetOptions{}); err == nil {
				t.Errorf("get decoded to %v", p)
			}
			w := must(client.Watch(ctx, metav1.ListOptions{}))(t)
			ev := <-w.ResultChan()
			w.Stop()
			if ev.Type != "ERROR" {
				t.Errorf("watch decoded to %v", ev)
			}
			if list := must(client.List(ctx, metav1.ListOptions{FieldSelector: "metadata.name!=bad"}))(t); len(list.Items) != 2 {
				t.Errorf("%d items without the bad one", len(list.Items))
			}
			bad.Remove()

			s.Inject(apitest.Fault{WrongType: []string{"ns/wrong"}})
			if list := must(client.List(ctx, metav1.ListOptions{}))(t); len(list.Items) != 3 {
				t.Errorf("%d items with one of the wrong type", len(list.Items))
			}
			w = must(client.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=wrong"}))(t)
			defer w.Stop()
			if ev := <-w.ResultChan(); metaOf(t, ev.Object).GetName() != "wrong" {
				t.Errorf("got %v", ev)
			} else if _, isConfigMap := ev.Object.(*corev1.ConfigMap); !isConfigMap {
				t.Errorf("got a %T, want a *ConfigMap", ev.Object)
			}
		})
	}
}
