package apitest_test

import (
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/apitest"
)

// past makes a server with a little history: RV 2 a, 3 b, 4 a changed, 5 c, 6 b deleted.
func past(t *testing.T, s *apitest.Server) {
	create(t, s, labelled(pod("ns", "a"), map[string]string{"app": "x"}))
	create(t, s, pod("ns", "b"))
	update(t, s, onNode(labelled(pod("ns", "a"), map[string]string{"app": "x"}), "n1"))
	create(t, s, pod("ns-2", "c"))
	remove(t, s, pod("ns", "b"))
}

func TestListSemantics(t *testing.T) {
	const exact = metav1.ResourceVersionMatchExact
	now := []string{"ns-2/c@5", "ns/a@4"}
	cases := []struct {
		name string
		opts metav1.ListOptions
		want []string
		rv   string
		err  string
	}{
		{name: "most recent", want: now, rv: "6"},
		{name: "any", opts: metav1.ListOptions{ResourceVersion: "0"}, want: now, rv: "6"},
		{name: "any with limit comes whole from the watch cache", opts: metav1.ListOptions{ResourceVersion: "0", Limit: 1}, want: now, rv: "6"},
		{name: "not older than, unset match", opts: metav1.ListOptions{ResourceVersion: "3"}, want: now, rv: "6"},
		{name: "not older than", opts: metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: notOlder}, want: now, rv: "6"},
		{name: "not older than any", opts: metav1.ListOptions{ResourceVersion: "0", ResourceVersionMatch: notOlder}, want: now, rv: "6"},
		{name: "not older than without version", opts: metav1.ListOptions{ResourceVersionMatch: notOlder}, err: "Invalid"},
		{name: "exact", opts: metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: exact}, want: []string{"ns/a@2", "ns/b@3"}, rv: "3"},
		{name: "exact between", opts: metav1.ListOptions{ResourceVersion: "5", ResourceVersionMatch: exact}, want: []string{"ns-2/c@5", "ns/a@4", "ns/b@3"}, rv: "5"},
		{name: "exact by limit", opts: metav1.ListOptions{ResourceVersion: "2", Limit: 10}, want: []string{"ns/a@2"}, rv: "2"},
		{name: "exact at the beginning", opts: metav1.ListOptions{ResourceVersion: "1", ResourceVersionMatch: exact}, want: []string{}, rv: "1"},
		{name: "exact of any", opts: metav1.ListOptions{ResourceVersion: "0", ResourceVersionMatch: exact}, err: "Invalid"},
		{name: "exact without version", opts: metav1.ListOptions{ResourceVersionMatch: exact}, err: "Invalid"},
		{name: "unknown match", opts: metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: "Nearly"}, err: "Invalid"},
		{name: "not a version", opts: metav1.ListOptions{ResourceVersion: "x"}, err: "BadRequest"},
		{name: "initial events without watch", opts: metav1.ListOptions{SendInitialEvents: ptr(true)}, err: "Invalid"},
		{name: "broken continue", opts: metav1.ListOptions{Continue: "!"}, err: "BadRequest"},
		{name: "labels", opts: metav1.ListOptions{LabelSelector: "app=x"}, want: []string{"ns/a@4"}, rv: "6"},
		{name: "labels not", opts: metav1.ListOptions{LabelSelector: "!app"}, want: []string{"ns-2/c@5"}, rv: "6"},
		{name: "bad labels", opts: metav1.ListOptions{LabelSelector: "app in"}, err: "BadRequest"},
		{name: "field name", opts: metav1.ListOptions{FieldSelector: "metadata.name=c"}, want: []string{"ns-2/c@5"}, rv: "6"},
		{name: "field namespace", opts: metav1.ListOptions{FieldSelector: "metadata.namespace!=ns"}, want: []string{"ns-2/c@5"}, rv: "6"},
		{name: "field node", opts: metav1.ListOptions{FieldSelector: "spec.nodeName=n1"}, want: []string{"ns/a@4"}, rv: "6"},
		{name: "field node before", opts: metav1.ListOptions{FieldSelector: "spec.nodeName=n1", ResourceVersion: "3", ResourceVersionMatch: exact}, want: []string{}, rv: "3"},
		{name: "unknown field", opts: metav1.ListOptions{FieldSelector: "spec.hat=x"}, err: "BadRequest"},
	}
	overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
		past(t, s)
		for _, tc := range cases {
			t.Run(tc.name, func(t *testing.T) {
				list, err := c.list(tc.opts)
				if got := reasonOf(err); got != tc.err {
					t.Fatalf("error %q (%v), want %q", got, err, tc.err)
				}
				if err != nil {
					return
				}
				diff(t, "items", tc.want, describeList(t, list))
				diff(t, "resource version", tc.rv, listMetaOf(t, list).GetResourceVersion())
			})
		}
	})
}

func TestListOfOneNamespaceDoesNotReachIntoItsNeighbours(t *testing.T) {
	s := newServer(t, apitest.Options{})
	for _, ns := range []string{"a", "a-b", "ab", "b"} {
		create(t, s, pod(ns, "p"))
	}
	for _, ns := range []string{"a", "a-b", "ab", "b", "none"} {
		want := []string{}
		if ns != "none" {
			want = append(want, ns+"/p")
		}
		got := []string{}
		for _, p := range must(apitest.List[*corev1.Pod](s, pods, ns))(t) {
			got = append(got, p.GetNamespace()+"/"+p.GetName())
		}
		diff(t, ns, want, got)
	}
}

func TestPagesShowOneState(t *testing.T) {
	overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
		for i := range 5 {
			create(t, s, pod("ns", fmt.Sprint("p", i))) // RV 2 to 6
		}
		var got []string
		var remaining []int64
		opts := metav1.ListOptions{Limit: 2}
		for {
			list := must(c.list(opts))(t)
			got = append(got, describeList(t, list)...)
			lm := listMetaOf(t, list)
			diff(t, "resource version of each page", "6", lm.GetResourceVersion())
			if n := lm.GetRemainingItemCount(); n != nil {
				remaining = append(remaining, *n)
			}
			if lm.GetContinue() == "" {
				break
			}
			opts.Continue = lm.GetContinue()
			// Nothing of this may show.
			remove(t, s, pod("ns", fmt.Sprint("p", 4-len(remaining))))
			create(t, s, pod("ns", fmt.Sprint("q", len(remaining))))
			update(t, s, onNode(pod("ns", "p0"), fmt.Sprint("n", len(remaining))))
		}
		diff(t, "objects", []string{"ns/p0@2", "ns/p1@3", "ns/p2@4", "ns/p3@5", "ns/p4@6"}, got)
		diff(t, "remaining", []int64{3, 1}, remaining)
	})
}

func TestPagesWithSelectorsDoNotSayWhatRemains(t *testing.T) {
	s := newServer(t, apitest.Options{})
	for i := range 3 {
		create(t, s, labelled(pod("ns", fmt.Sprint("p", i)), map[string]string{"app": "x"}))
	}
	lm := listMetaOf(t, must(s.ListerWatcher(pods, "").List(metav1.ListOptions{Limit: 1, LabelSelector: "app=x"}))(t))
	if lm.GetContinue() == "" || lm.GetRemainingItemCount() != nil {
		t.Errorf("continue %q, remaining %v", lm.GetContinue(), lm.GetRemainingItemCount())
	}
}

func TestLastPageHasNoContinue(t *testing.T) {
	s := newServer(t, apitest.Options{})
	create(t, s, labelled(pod("ns", "a"), map[string]string{"app": "x"}))
	create(t, s, pod("ns", "b"))
	for _, opts := range []metav1.ListOptions{{Limit: 2}, {Limit: 3}, {Limit: 1, LabelSelector: "app=x"}} {
		if lm := listMetaOf(t, must(s.ListerWatcher(pods, "").List(opts))(t)); lm.GetContinue() != "" {
			t.Errorf("%+v: continue %q", opts, lm.GetContinue())
		}
	}
}

func TestExpiredContinueGivesATokenForTheRest(t *testing.T) {
	overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
		for i := range 4 {
			create(t, s, pod("ns", fmt.Sprint("p", i)))
		}
		first := listMetaOf(t, must(c.list(metav1.ListOptions{Limit: 2}))(t))
		remove(t, s, pod("ns", "p2")) // RV 6
		s.Compact()
		_, err := c.list(metav1.ListOptions{Limit: 2, Continue: first.GetContinue()})
		if !apierrors.IsResourceExpired(err) {
			t.Fatalf("got %v, want Expired", err)
		}
		token := err.(apierrors.APIStatus).Status().Continue
		rest := must(c.list(metav1.ListOptions{Limit: 2, Continue: token}))(t)
		diff(t, "the rest, as it is now", []string{"ns/p3@5"}, describeList(t, rest))
		diff(t, "resource version", "6", listMetaOf(t, rest).GetResourceVersion())
	})
}

func TestContinueGoesWithNoResourceVersion(t *testing.T) {
	s := newServer(t, apitest.Options{})
	create(t, s, pod("ns", "a"))
	create(t, s, pod("ns", "b"))
	lw := s.ListerWatcher(pods, "")
	token := listMetaOf(t, must(lw.List(metav1.ListOptions{Limit: 1}))(t)).GetContinue()
	for _, tc := range []struct {
		opts metav1.ListOptions
		want string
	}{
		{metav1.ListOptions{Continue: token, ResourceVersion: "0"}, ""},
		{metav1.ListOptions{Continue: token, ResourceVersion: "2"}, "BadRequest"},
		{metav1.ListOptions{Continue: token, ResourceVersion: "2", ResourceVersionMatch: "Exact"}, "Invalid"},
	} {
		if _, err := lw.List(tc.opts); reasonOf(err) != tc.want {
			t.Errorf("%+v: %v, want %q", tc.opts, err, tc.want)
		}
	}
}

func TestWithoutWatchCacheAnyListsArePaged(t *testing.T) {
	s := newServer(t, apitest.Options{NoWatchCache: true})
	create(t, s, pod("ns", "a"))
	create(t, s, pod("ns", "b"))
	list := must(s.ListerWatcher(pods, "").List(metav1.ListOptions{ResourceVersion: "0", Limit: 1}))(t)
	diff(t, "first page", []string{"ns/a@2"}, describeList(t, list))
	if listMetaOf(t, list).GetContinue() == "" {
		t.Error("no continue token")
	}
}

func TestHistoryIsBounded(t *testing.T) {
	overBoth(t, apitest.Options{History: 3}, func(t *testing.T, s *apitest.Server, c podClient) {
		for i := range 20 {
			create(t, s, pod("ns", fmt.Sprint("p", i))) // RV 2 to 21: the changes 19, 20, 21 are kept
		}
		if _, err := c.list(metav1.ListOptions{ResourceVersion: "17", ResourceVersionMatch: "Exact"}); !apierrors.IsResourceExpired(err) {
			t.Errorf("exact list before the history: %v, want Expired", err)
		}
		list := must(c.list(metav1.ListOptions{ResourceVersion: "18", ResourceVersionMatch: "Exact"}))(t)
		if n := len(items(t, list)); n != 17 {
			t.Errorf("%d objects at RV 18, want 17", n)
		}
		diff(t, "watch before the history", []string{"ERROR 410 Expired"}, take(t, must(c.watch(metav1.ListOptions{ResourceVersion: "17"}))(t), -1))
		w := must(c.watch(metav1.ListOptions{ResourceVersion: "18"}))(t)
		defer w.Stop()
		diff(t, "watch of all that is kept", []string{"ADDED ns/p17@19", "ADDED ns/p18@20", "ADDED ns/p19@21"}, take(t, w, 3))
	})
}

func TestListOfTheFutureIsTooLargeAndToBeRetried(t *testing.T) {
	s := startServer(t, apitest.Options{})
	for _, opts := range []metav1.ListOptions{
		{ResourceVersion: "7"},
		{ResourceVersion: "7", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		{ResourceVersion: "7", ResourceVersionMatch: metav1.ResourceVersionMatchExact},
	} {
		_, err := s.ListerWatcher(pods, "").List(opts)
		if seconds, retry := apierrors.SuggestsClientDelay(err); reasonOf(err) != "TooLarge" || !retry || seconds != 1 {
			t.Errorf("%+v: %v (retry after %d)", opts, err, seconds)
		}
	}
	// client-go's clients would retry ten times.
	resp := must(http.Get(s.Config().Host + "/api/v1/pods?resourceVersion=7"))(t)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusGatewayTimeout || resp.Header.Get("Retry-After") != "1" {
		t.Errorf("status %d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
}
