package apitest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/apitest"
)

const notOlder = metav1.ResourceVersionMatchNotOlderThan

func TestWatchSemantics(t *testing.T) {
	cases := []struct {
		name string
		opts metav1.ListOptions
		want []string // then comes the next write
		err  string   // of the request
	}{
		{name: "from a list's version", opts: metav1.ListOptions{ResourceVersion: "6"}},
		{name: "from an older version", opts: metav1.ListOptions{ResourceVersion: "3"}, want: []string{"MODIFIED ns/a@4", "ADDED ns-2/c@5", "DELETED ns/b@6"}},
		{name: "unset: the present objects first", want: []string{"ADDED ns-2/c@5", "ADDED ns/a@4"}},
		{name: "any: the present objects first", opts: metav1.ListOptions{ResourceVersion: "0", AllowWatchBookmarks: true}, want: []string{"ADDED ns-2/c@5", "ADDED ns/a@4"}},
		{name: "from a version never given out", opts: metav1.ListOptions{ResourceVersion: "7"}, want: []string{"ERROR 410 Expired"}},
		{name: "streaming list", opts: metav1.ListOptions{SendInitialEvents: ptr(true), ResourceVersionMatch: notOlder, AllowWatchBookmarks: true},
			want: []string{"ADDED ns-2/c@5", "ADDED ns/a@4", "BOOKMARK @6 end"}},
		{name: "streaming list not older than", opts: metav1.ListOptions{SendInitialEvents: ptr(true), ResourceVersion: "4", ResourceVersionMatch: notOlder, AllowWatchBookmarks: true},
			want: []string{"ADDED ns-2/c@5", "ADDED ns/a@4", "BOOKMARK @6 end"}},
		{name: "streaming list without bookmarks", opts: metav1.ListOptions{SendInitialEvents: ptr(true), ResourceVersionMatch: notOlder},
			want: []string{"ADDED ns-2/c@5", "ADDED ns/a@4"}},
		{name: "streaming list too large", opts: metav1.ListOptions{SendInitialEvents: ptr(true), ResourceVersion: "9", ResourceVersionMatch: notOlder}, want: []string{"ERROR 504 Timeout"}},
		{name: "no initial events", opts: metav1.ListOptions{SendInitialEvents: ptr(false), ResourceVersionMatch: notOlder}},
		{name: "no initial events from a version", opts: metav1.ListOptions{SendInitialEvents: ptr(false), ResourceVersion: "5", ResourceVersionMatch: notOlder}, want: []string{"DELETED ns/b@6"}},
		{name: "streaming list without match", opts: metav1.ListOptions{SendInitialEvents: ptr(true)}, err: "Invalid"},
		{name: "match without streaming list", opts: metav1.ListOptions{ResourceVersion: "3", ResourceVersionMatch: notOlder}, err: "Invalid"},
		{name: "not a version", opts: metav1.ListOptions{ResourceVersion: "x"}, err: "BadRequest"},
		{name: "unknown field", opts: metav1.ListOptions{FieldSelector: "spec.hat=x"}, err: "BadRequest"},
		{name: "selected streaming list", opts: metav1.ListOptions{LabelSelector: "app=x", SendInitialEvents: ptr(true), ResourceVersionMatch: notOlder, AllowWatchBookmarks: true},
			want: []string{"ADDED ns/a@4", "BOOKMARK @6 end"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
				past(t, s)
				w, err := c.watch(tc.opts)
				if got := reasonOf(err); got != tc.err {
					t.Fatalf("error %q (%v), want %q", got, err, tc.err)
				}
				if err != nil {
					return
				}
				defer w.Stop()
				if len(tc.want) == 1 && tc.want[0][:5] == "ERROR" {
					diff(t, "events to the end", tc.want, take(t, w, -1))
					return
				}
				create(t, s, labelled(pod("ns", "next"), map[string]string{"app": "x"}))
				diff(t, "events", append(tc.want, "ADDED ns/next@7"), take(t, w, len(tc.want)+1))
			})
		})
	}
}

// A fake that has no resource versions loses what happens between a list and the watch that follows it.
func TestWatchFromAListMissesNothingSinceThatList(t *testing.T) {
	overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
		create(t, s, pod("ns", "a"))
		rv := listMetaOf(t, must(c.list(metav1.ListOptions{}))(t)).GetResourceVersion()
		create(t, s, pod("ns", "c"))
		w := must(c.watch(metav1.ListOptions{ResourceVersion: rv}))(t)
		defer w.Stop()
		diff(t, "events", []string{"ADDED ns/c@3"}, take(t, w, 1))
	})
}

func TestWatchFromForgottenHistoryIsGone(t *testing.T) {
	overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
		past(t, s)
		open := must(c.watch(metav1.ListOptions{ResourceVersion: "4"}))(t)
		defer open.Stop()
		s.Compact()
		diff(t, "a watch that is open goes on", []string{"ADDED ns-2/c@5", "DELETED ns/b@6"}, take(t, open, 2))
		diff(t, "an old version", []string{"ERROR 410 Expired"}, take(t, must(c.watch(metav1.ListOptions{ResourceVersion: "5"}))(t), -1))
		w := must(c.watch(metav1.ListOptions{ResourceVersion: "6"}))(t)
		defer w.Stop()
		create(t, s, pod("ns", "d"))
		diff(t, "the present version", []string{"ADDED ns/d@7"}, take(t, w, 1))
	})
}

func TestSelectedWatchAddsAndDeletesWhatBeginsAndCeasesToMatch(t *testing.T) {
	overBoth(t, apitest.Options{}, func(t *testing.T, s *apitest.Server, c podClient) {
		w := must(c.watch(metav1.ListOptions{FieldSelector: "spec.nodeName=n1", LabelSelector: "app=x"}))(t)
		defer w.Stop()
		x, y := map[string]string{"app": "x"}, map[string]string{"app": "y"}
		create(t, s, labelled(pod("ns", "a"), x))               // 2: no node
		update(t, s, onNode(labelled(pod("ns", "a"), x), "n1")) // 3: begins
		p := onNode(labelled(pod("ns", "a"), x), "n1")
		p.Status.Phase = "Running"
		update(t, s, p)                                         // 4
		update(t, s, onNode(labelled(pod("ns", "a"), y), "n1")) // 5: ceases
		update(t, s, onNode(labelled(pod("ns", "a"), y), "n2")) // 6: still not
		update(t, s, onNode(labelled(pod("ns", "a"), x), "n1")) // 7: again
		remove(t, s, pod("ns", "a"))                            // 8
		create(t, s, labelled(onNode(pod("ns", "b"), "n2"), x)) // 9: other
		remove(t, s, pod("ns", "b"))                            // 10: never matched
		create(t, s, labelled(onNode(pod("ns", "c"), "n1"), x)) // 11
		want := []string{"ADDED ns/a@3", "MODIFIED ns/a@4", "DELETED ns/a@5", "ADDED ns/a@7", "DELETED ns/a@8", "ADDED ns/c@11"}
		diff(t, "events", want, take(t, w, len(want)))
	})
}

func TestAnObjectThatCeasesToMatchIsDeletedAsItWasWhenItMatched(t *testing.T) {
	s := newServer(t, apitest.Options{})
	create(t, s, labelled(pod("ns", "a"), map[string]string{"app": "x"}))
	w := must(s.ListerWatcher(pods, "").Watch(metav1.ListOptions{ResourceVersion: "2", LabelSelector: "app=x"}))(t)
	defer w.Stop()
	update(t, s, labelled(pod("ns", "a"), map[string]string{"app": "y"}))
	ev := <-w.ResultChan()
	if m := metaOf(t, ev.Object); m.GetLabels()["app"] != "x" || m.GetResourceVersion() != "3" {
		t.Errorf("labels %v at %s, want the old ones at the new version 3", m.GetLabels(), m.GetResourceVersion())
	}
}

// timeline is what a watch gives until it ends, and when since its start.
func timeline(t *testing.T, s *apitest.Server, opts metav1.ListOptions) []string {
	t.Helper()
	w := must(s.ListerWatcher(pods, "").Watch(opts))(t)
	defer w.Stop()
	start, out := time.Now(), []string{}
	for ev := range w.ResultChan() {
		out = append(out, fmt.Sprintf("%v %s", time.Since(start), describeEvent(t, ev)))
	}
	return append(out, fmt.Sprintf("%v end", time.Since(start)))
}

func TestBookmarksComePeriodicallyAndBeforeTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apitest.Options{})
		go func() {
			time.Sleep(90 * time.Second)
			if _, err := apitest.Create(s, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}); err != nil { // another resource moves the version on
				t.Error(err)
			}
		}()
		got := timeline(t, s, metav1.ListOptions{AllowWatchBookmarks: true, ResourceVersion: "1", TimeoutSeconds: ptr(int64(150))})
		diff(t, "timeline", []string{"1m0s BOOKMARK @1", "2m0s BOOKMARK @2", "2m28s BOOKMARK @2", "2m30s end"}, got)
	})
}

func TestNoBookmarksUnlessAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apitest.Options{BookmarkInterval: time.Second})
		diff(t, "timeline", []string{"10s end"}, timeline(t, s, metav1.ListOptions{TimeoutSeconds: ptr(int64(10))}))
	})
}

func TestWatchWithoutTimeoutStaysOpenUntilTheServerCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apitest.Options{})
		go func() {
			time.Sleep(24 * time.Hour)
			s.Close()
		}()
		diff(t, "timeline", []string{"24h0m0s end"}, timeline(t, s, metav1.ListOptions{}))
	})
}

func TestSlowReaderIsCut(t *testing.T) {
	s := newServer(t, apitest.Options{WatchBuffer: 2})
	for i := range 5 {
		create(t, s, pod("ns", fmt.Sprint("p", i))) // as initial events they don't count
	}
	stream := must(apitest.Source[metav1.Object](s, pods, "").Watch(ctx, metav1.ListOptions{}))(t)
	defer stream.Stop()
	for i := range 4 {
		create(t, s, pod("ns", fmt.Sprint("q", i)))
	}
	var got []string
	for {
		events, err := stream.Next(ctx)
		for _, ev := range events {
			got = append(got, ev.Item.Key)
		}
		if err != nil {
			diff(t, "end", "EOF", err.Error())
			break
		}
	}
	diff(t, "events", []string{"ns/p0", "ns/p1", "ns/p2", "ns/p3", "ns/p4", "ns/q0", "ns/q1"}, got)
	w := must(s.ListerWatcher(pods, "").Watch(metav1.ListOptions{ResourceVersion: "8"}))(t)
	defer w.Stop()
	diff(t, "nothing was lost", []string{"ADDED ns/q2@9", "ADDED ns/q3@10"}, take(t, w, 2))
}
