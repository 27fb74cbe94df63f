package apitest_test

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/apitest"
)

// ending reads a stream of pods to its end.
func ending(t *testing.T, s *apitest.Server, opts metav1.ListOptions, meanwhile func()) (keys []string, err error) {
	t.Helper()
	stream := must(apitest.Source[*corev1.Pod](s, pods, "").Watch(ctx, opts))(t)
	defer stream.Stop()
	meanwhile()
	for {
		events, err := stream.Next(ctx)
		if err != nil {
			return keys, err
		}
		for _, ev := range events {
			keys = append(keys, ev.Item.Key)
		}
	}
}

func TestCloseWatchesWellOrBroken(t *testing.T) {
	broken := errors.New("connection reset")
	for _, tc := range []struct {
		name     string
		resource string
		with     error
		want     error
		keys     []string
	}{
		{"well, after what was still to come", "pods", nil, io.EOF, []string{"ns/a"}},
		{"all", "", nil, io.EOF, []string{"ns/a"}},
		{"broken, at once", "pods", broken, broken, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(t, apitest.Options{})
			other := must(s.ListerWatcher(nodes, "").Watch(metav1.ListOptions{}))(t)
			defer other.Stop()
			keys, err := ending(t, s, metav1.ListOptions{}, func() {
				create(t, s, pod("ns", "a"))
				s.CloseWatches(tc.resource, tc.with)
				create(t, s, pod("ns", "after"))
			})
			if !errors.Is(err, tc.want) {
				t.Errorf("ended with %v, want %v", err, tc.want)
			}
			diff(t, "keys", tc.keys, keys)
			if open := s.OpenWatches(""); (open == 1) != (tc.resource == "pods") {
				t.Errorf("%d other watches are open", open)
			}
		})
	}
}

func TestCloseWatchesOverHTTP(t *testing.T) {
	s := startServer(t, apitest.Options{})
	create(t, s, pod("ns", "a"))
	client := must(rest.HTTPClientFor(s.Config()))(t)
	for _, tc := range []struct{ with, want error }{{nil, nil}, {errors.New("cable"), io.ErrUnexpectedEOF}} {
		resp := must(client.Get(s.Config().Host + "/api/v1/pods?watch=1"))(t)
		s.CloseWatches("", tc.with)
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, tc.want) {
			t.Errorf("closed with %v: reading ended with %v, want %v", tc.with, err, tc.want)
		}
		resp.Body.Close()
	}
}

func TestSendErrorIsTheLastEvent(t *testing.T) {
	s := newServer(t, apitest.Options{})
	keys, err := ending(t, s, metav1.ListOptions{}, func() {
		create(t, s, pod("ns", "a"))
		s.SendError("pods", apierrors.NewResourceExpired("too old"))
	})
	if !apierrors.IsResourceExpired(err) {
		t.Errorf("ended with %v", err)
	}
	diff(t, "keys", []string{"ns/a"}, keys)

	overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
		create(t, s, pod("ns", "a"))
		w := must(c.watch(metav1.ListOptions{}))(t)
		diff(t, "first", []string{"ADDED ns/a@2"}, take(t, w, 1))
		s.SendError("", apierrors.NewInternalError(errors.New("disk")))
		diff(t, "then", []string{"ERROR 500 InternalError"}, take(t, w, -1))
	})
}

// The missed delete in one call: whoever watched has to list, and finds the object gone.
func TestLostEventsForceAListThatMissesTheDeleted(t *testing.T) {
	overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
		create(t, s, pod("ns", "a"))
		create(t, s, pod("ns", "b"))
		list := must(c.list(metav1.ListOptions{Limit: 1}))(t)
		from := metav1.ListOptions{ResourceVersion: listMetaOf(t, list).GetResourceVersion()}
		w := must(c.watch(from))(t)
		create(t, s, pod("ns", "c")) // RV 4
		s.LoseEvents(func() {
			remove(t, s, pod("ns", "a")) // 5
			during := must(c.watch(from))(t)
			diff(t, "a watch opened in the gap", []string{"ERROR 410 Expired"}, take(t, during, -1))
			create(t, s, pod("ns", "d")) // 6
		})
		diff(t, "events before the gap", []string{"ADDED ns/c@4"}, take(t, w, -1))
		for _, rv := range []string{"3", "4", "5"} {
			diff(t, "watch from "+rv, []string{"ERROR 410 Expired"}, take(t, must(c.watch(metav1.ListOptions{ResourceVersion: rv}))(t), -1))
		}
		list = must(c.list(metav1.ListOptions{}))(t)
		diff(t, "list", []string{"ns/b@3", "ns/c@4", "ns/d@6"}, describeList(t, list))
		after := must(c.watch(metav1.ListOptions{ResourceVersion: listMetaOf(t, list).GetResourceVersion()}))(t)
		defer after.Stop()
		create(t, s, pod("ns", "e"))
		diff(t, "events after the gap", []string{"ADDED ns/e@7"}, take(t, after, 1))
	})
}

func TestRestoreGoesBackInTime(t *testing.T) {
	overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
		create(t, s, pod("ns", "a"))
		backup := s.Backup()
		create(t, s, pod("ns", "b"))
		update(t, s, onNode(pod("ns", "a"), "n1")) // 4
		page := listMetaOf(t, must(c.list(metav1.ListOptions{Limit: 1}))(t)).GetContinue()
		w := must(c.watch(metav1.ListOptions{ResourceVersion: "4"}))(t)
		s.Restore(backup)

		diff(t, "the watch is broken off", []string{}, take(t, w, -1))
		diff(t, "a watch from the lost future", []string{"ERROR 410 Expired"}, take(t, must(c.watch(metav1.ListOptions{ResourceVersion: "4"}))(t), -1))
		if c.name == "in process" { // client-go's REST client retries this one
			if _, err := c.list(metav1.ListOptions{ResourceVersion: "4"}); reasonOf(err) != "TooLarge" {
				t.Errorf("list at least as new as the lost future: %v", err)
			}
		}
		if _, err := c.list(metav1.ListOptions{Continue: page}); !apierrors.IsResourceExpired(err) {
			t.Errorf("continue from the lost future: %v", err)
		}
		list := must(c.list(metav1.ListOptions{}))(t)
		diff(t, "list", []string{"ns/a@2"}, describeList(t, list))
		diff(t, "its version", "2", listMetaOf(t, list).GetResourceVersion())
		create(t, s, pod("ns", "c"))
		diff(t, "versions are given out again", []string{"ns/a@2", "ns/c@3"}, describeList(t, must(c.list(metav1.ListOptions{}))(t)))

		s.Restore(backup) // a backup can be used again
		diff(t, "list", []string{"ns/a@2"}, describeList(t, must(c.list(metav1.ListOptions{}))(t)))
	})
}

func TestRemovedResourceTellsItsDeletesAndIsGone(t *testing.T) {
	s := newServer(t, apitest.Options{})
	create(t, s, pod("ns", "a"))
	w := must(s.ListerWatcher(pods, "").Watch(metav1.ListOptions{ResourceVersion: "2"}))(t)
	s.RemoveResource(pods.GroupResource())
	diff(t, "events", []string{"DELETED ns/a@3"}, take(t, w, -1))
	if _, err := s.ListerWatcher(pods, "").List(metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("list: %v", err)
	}
	if _, err := s.ListerWatcher(pods, "").Watch(metav1.ListOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("watch: %v", err)
	}
	if err := s.AddResource(apitest.Resource{Kind: corev1.SchemeGroupVersion.WithKind("Pod")}); err != nil {
		t.Fatal(err)
	}
	diff(t, "list of the new one", []string{}, describeList(t, must(s.ListerWatcher(pods, "").List(metav1.ListOptions{}))(t)))
}

func TestRequestsAreRecorded(t *testing.T) {
	s := newServer(t, apitest.Options{})
	create(t, s, pod("ns", "a")) // is none
	lw := s.ListerWatcher(pods, "ns")
	must(lw.List(metav1.ListOptions{ResourceVersion: "0"}))(t)
	w := must(lw.Watch(metav1.ListOptions{ResourceVersion: "2"}))(t)
	w.Stop()
	s.Inject(apitest.Fault{Error: apierrors.NewUnauthorized("")})
	if _, err := s.ListerWatcher(nodes, "").List(metav1.ListOptions{}); err == nil {
		t.Error("no error")
	}
	diff(t, "requests", []apitest.Request{
		{Verb: "list", Resource: pods, Namespace: "ns", Options: metav1.ListOptions{ResourceVersion: "0"}},
		{Verb: "watch", Resource: pods, Namespace: "ns", Options: metav1.ListOptions{ResourceVersion: "2", Watch: true}},
		{Verb: "list", Resource: nodes},
	}, s.Requests())
	diff(t, "lists", 2, s.CountRequests("list", ""))
	diff(t, "lists of pods", 1, s.CountRequests("list", "pods"))
	s.ForgetRequests()
	diff(t, "forgotten", 0, len(s.Requests()))
}

func TestClosedServerAnswersNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apitest.Options{})
		stream := must(apitest.Source[*corev1.Pod](s, pods, "").Watch(ctx, metav1.ListOptions{}))(t)
		s.Close()
		s.Close()
		if _, err := stream.Next(ctx); err == nil {
			t.Error("the stream goes on")
		}
		if _, err := s.ListerWatcher(pods, "").List(metav1.ListOptions{}); err == nil {
			t.Error("list works")
		}
		if _, err := apitest.Create(s, pod("ns", "a")); err == nil {
			t.Error("create works")
		}
		if err := s.Start(); err == nil {
			t.Error("start works")
		}
	})
}
