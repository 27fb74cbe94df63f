package cache

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/features"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/informerkit/informerkit/apitest"
)

// storeLog is a user's ReflectorStore that writes down what it is told.
type storeLog struct {
	*callLog
	refuse  map[string]int // how often to refuse a call
	resyncs int
}

func newStoreLog() *storeLog { return &storeLog{callLog: &callLog{}, refuse: map[string]int{}} }

func (s *storeLog) take1(call string) error {
	if s.refuse[call] > 0 {
		s.refuse[call]--
		return errors.New("refused: " + call)
	}
	s.record(call)
	return nil
}

func (s *storeLog) Add(obj any) error    { return s.take1("add " + content(obj)) }
func (s *storeLog) Update(obj any) error { return s.take1("update " + content(obj)) }
func (s *storeLog) Delete(obj any) error { return s.take1("delete " + content(obj)) }
func (s *storeLog) Resync() error        { s.resyncs++; return nil }

func (s *storeLog) Replace(list []any, rv string) error {
	return s.take1("replace [" + strings.Join(contents(list), " ") + "]")
}

// requestsOf writes what was asked of the server since the last time: verb, and where from.
func (s *podServer) requestsOf() []string {
	var all []string
	for _, r := range s.Requests() {
		what := r.Verb
		if r.Options.SendInitialEvents != nil && *r.Options.SendInitialEvents {
			what = "stream"
		}
		all = append(all, what)
	}
	s.ForgetRequests()
	return all
}

// withoutStreaming is a lister-watcher whose client says that it has no streaming lists.
type withoutStreaming struct{ ListerWatcherWithContext }

func (w withoutStreaming) IsWatchListSemanticsUnSupported() bool { return true }

func (w withoutStreaming) List(options metav1.ListOptions) (runtime.Object, error) {
	return w.ListWithContext(context.Background(), options)
}

func (w withoutStreaming) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return w.WatchWithContext(context.Background(), options)
}

func (s *podServer) pagedListerWatcher() ListerWatcher {
	return withoutStreaming{ToListerWatcherWithContext(s.listerWatcher())}
}

func TestReflectorKeepsAStoreInStep(t *testing.T) {
	for name, lw := range map[string]func(*podServer) ListerWatcher{
		"by streaming lists": (*podServer).listerWatcher,
		"by paged lists":     (*podServer).pagedListerWatcher,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := newPodServer(t), newStoreLog()
				s.create("a", "1")
				s.create("b", "1")
				r := NewReflector(lw(s), &corev1.Pod{}, store, 0)
				check(t, "resource version before it runs", "", r.LastSyncResourceVersion())
				start(t, r.RunWithContext)
				store.told(t, "list", "replace [a:1 b:1]")
				s.update("a", "2")
				s.create("c", "1")
				s.delete("b")
				store.told(t, "watch", "update a:2", "add c:1", "delete b:1")
				check(t, "resource version", s.ResourceVersion(), r.LastSyncResourceVersion())

				s.LoseEvents(func() { s.delete("a") })
				settle()
				store.told(t, "after a gap", "replace [c:1]")
			})
		})
	}
}

func TestReflectorStreamsAsTheFeatureGateSays(t *testing.T) {
	for name, enabled := range map[string]bool{"on": true, "off": false} {
		t.Run(name, func(t *testing.T) {
			setFeatureGate(t, features.WatchListClient, enabled)
			synctest.Test(t, func(t *testing.T) {
				s := newPodServer(t)
				s.create("a", "1")
				inf := newPodInformer(s)
				r := NewReflector(s.listerWatcher(), &corev1.Pod{}, newStoreLog(), 0)
				want := []string{"list", "watch"}
				if enabled {
					want = []string{"stream"}
				}
				start(t, r.RunWithContext)
				synctest.Wait()
				check(t, "requests of a reflector", want, s.requestsOf())
				start(t, inf.RunWithContext)
				synctest.Wait()
				check(t, "requests of an informer", want, s.requestsOf())
				check(t, "synced", true, inf.HasSynced())
			})
		})
	}
}

// gates are feature gates with one of them changed.
type gates struct {
	features.Gates
	feature features.Feature
	enabled bool
}

func (g gates) Enabled(f features.Feature) bool {
	if f == g.feature {
		return g.enabled
	}
	return g.Gates.Enabled(f)
}

func setFeatureGate(t *testing.T, feature features.Feature, enabled bool) {
	before := features.FeatureGates()
	features.ReplaceFeatureGates(gates{before, feature, enabled})
	t.Cleanup(func() { features.ReplaceFeatureGates(before) })
}

func TestReflectorDoesNotStreamWithAClientThatCannot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		r := NewReflector(s.pagedListerWatcher(), &corev1.Pod{}, newStoreLog(), 0)
		start(t, r.RunWithContext)
		synctest.Wait()
		check(t, "requests", []string{"list", "watch"}, s.requestsOf())
	})
}

func TestReflectorListsAtOnceWhereTheListerWatcherDoesNotKnowStreaming(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		after time.Duration
	}{
		"an error of its own": {errors.New(`parsing "": invalid syntax`), 0},
		"a server's error":    {apierrors.NewInternalError(errors.New("no")), time.Second},
		"the network's":       {&url.Error{Op: "Get", URL: "pods", Err: errors.New("no")}, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := newPodServer(t), newStoreLog()
				s.create("a", "1")
				began := time.Now()
				store.before = func(string) {
					if took := time.Since(began); took < c.after || took > 0 && c.after == 0 {
						t.Errorf("listed after %v", took)
					}
				}
				lw := &ListWatch{
					ListFunc: s.listerWatcher().List,
					WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
						if options.SendInitialEvents != nil {
							return nil, c.err
						}
						return s.listerWatcher().Watch(options)
					},
				}
				start(t, NewReflector(lw, &corev1.Pod{}, store, 0).RunWithContext)
				settle()
				store.told(t, "calls", "replace [a:1]")
			})
		})
	}
}

func TestReflectorPagesAsItsFieldSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newPodServer(t), newStoreLog()
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			s.create(name, "1")
		}
		r := NewReflector(s.pagedListerWatcher(), &corev1.Pod{}, store, 0)
		r.WatchListPageSize = 2
		start(t, r.RunWithContext)
		store.told(t, "list", "replace [a:1 b:1 c:1 d:1 e:1]")
		check(t, "requests", []string{"list", "list", "list", "watch"}, s.requestsOf())
	})
}

func TestReflectorAsksForWatchesOfItsTimeout(t *testing.T) {
	for _, c := range []struct{ asked, least time.Duration }{
		{0, 5 * time.Minute}, {time.Second, 5 * time.Minute}, {20 * time.Minute, 20 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newPodServer(t)
			r := NewReflectorWithOptions(s.pagedListerWatcher(), &corev1.Pod{}, newStoreLog(), ReflectorOptions{MinWatchTimeout: c.asked})
			start(t, r.RunWithContext)
			synctest.Wait()
			requests := s.Requests()
			options := requests[len(requests)-1].Options
			if got := time.Duration(*options.TimeoutSeconds) * time.Second; got < c.least || got > 2*c.least {
				t.Errorf("MinWatchTimeout %v: a watch of %v", c.asked, got)
			}
			check(t, "bookmarks allowed", true, options.AllowWatchBookmarks)
		})
	}
}

func TestReflectorListsAgainWhenTheStoreRefusesAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newPodServer(t), newStoreLog()
		s.create("a", "1")
		r := NewReflector(s.listerWatcher(), &corev1.Pod{}, store, 0)
		start(t, r.RunWithContext)
		store.told(t, "list", "replace [a:1]")
		store.refuse["update a:2"] = 1
		s.update("a", "2")
		s.create("b", "1")
		settle()
		calls := store.take()
		check(t, "the last call", "replace [a:2 b:1]", calls[len(calls)-1])
	})
}

func TestReflectorListsAgainWhenTheStoreRefusesAList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newPodServer(t), newStoreLog()
		s.create("a", "1")
		store.refuse["replace [a:1]"] = 3
		start(t, NewReflector(s.listerWatcher(), &corev1.Pod{}, store, 0).RunWithContext)
		settle()
		store.told(t, "in the end", "replace [a:1]")
	})
}

// versionLog also wants to hear of versions and bookmarks.
type versionLog struct {
	*storeLog
	versions []string
}

func (v *versionLog) UpdateResourceVersion(rv string) { v.versions = append(v.versions, rv) }
func (v *versionLog) Bookmark(rv string) error        { return v.take1("bookmark") }

func TestReflectorTellsVersionsAndBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newPodServer(t), &versionLog{storeLog: newStoreLog()}
		want := []string{s.create("a", "1").ResourceVersion}
		start(t, NewReflector(s.listerWatcher(), &corev1.Pod{}, store, 0).RunWithContext)
		synctest.Wait()
		want = append(want, s.update("a", "2").ResourceVersion)
		want = append(want, s.create("b", "1").ResourceVersion)
		synctest.Wait()
		check(t, "versions", want, store.versions)
		store.take()
		time.Sleep(150 * time.Second) // bookmarks come each minute
		store.told(t, "in two minutes", "bookmark", "bookmark")
	})
}

func TestReflectorTellsBookmarksToAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		indexer, r := NewNamespaceKeyedIndexerAndReflector(s.listerWatcher(), &corev1.Pod{}, 0)
		s.create("a", "1")
		start(t, r.RunWithContext)
		synctest.Wait()
		_, err := apitest.Create(s.Server, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}) // moves the version, not the pods
		succeed(t, err)
		time.Sleep(150 * time.Second)
		synctest.Wait()
		check(t, "resource version of the store", s.ResourceVersion(), indexer.LastStoreSyncResourceVersion())
		found, err := indexer.ByIndex(NamespaceIndex, "ns")
		succeed(t, err)
		check(t, "by namespace", []string{"a:1"}, contents(found))
	})
}

func TestReflectorLeavesOutObjectsOfAnotherType(t *testing.T) {
	for name, expected := range map[string]any{
		"another Go type": &corev1.Node{},
		"another kind":    unstructuredOf("v1", "Node"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := newPodServer(t), newStoreLog()
				s.create("a", "1")
				var log []string
				r := NewReflector(s.listerWatcher(), expected, store, 0)
				start(t, func(ctx context.Context) { r.RunWithContext(logTo(ctx, &log)) })
				synctest.Wait()
				s.create("b", "1")
				synctest.Wait()
				s.delete("b")
				store.told(t, "calls", "replace []")
				if got := strings.Join(log, "\n"); strings.Count(got, "Objects received cannot be taken in") != 3 {
					t.Errorf("want three reports, got:\n%s", got)
				}
			})
		})
	}
}

func TestReflectorTakesUnstructuredObjectsOfTheExpectedKindOnly(t *testing.T) {
	source := func(kind string) ListerWatcher {
		list := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{*unstructuredOf("v1", kind)}}
		list.SetResourceVersion("7")
		return &ListWatch{
			ListFunc:  func(metav1.ListOptions) (runtime.Object, error) { return list, nil },
			WatchFunc: func(metav1.ListOptions) (watch.Interface, error) { return watch.NewFake(), nil },
		}
	}
	setFeatureGate(t, features.WatchListClient, false)
	for _, c := range []struct {
		expected any
		kind     string
		want     int
	}{
		{unstructuredOf("v1", "Pod"), "Pod", 1},
		{unstructuredOf("v1", "Pod"), "Node", 0},
		{&unstructured.Unstructured{}, "Node", 1},
		{nil, "Node", 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := NewStore(MetaNamespaceKeyFunc)
			start(t, NewReflector(source(c.kind), c.expected, store, 0).RunWithContext)
			synctest.Wait()
			check(t, "objects taken in", c.want, len(store.List()))
			check(t, "resource version", "7", store.LastStoreSyncResourceVersion())
		})
	}
}

func unstructuredOf(apiVersion, kind string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName("name")
	return u
}

func TestReflectorNames(t *testing.T) {
	s := newPodServer(t)
	lw := s.listerWatcher()
	check(t, "given name", "mine", NewNamedReflector("mine", lw, &corev1.Pod{}, newStoreLog(), 0).Name())
	if name := NewReflector(lw, &corev1.Pod{}, newStoreLog(), 0).Name(); !strings.Contains(name, ".go:") {
		t.Errorf("the name of one without is %q, want a file and line", name)
	}
	for want, r := range map[string]*Reflector{
		"*v1.Pod":                    NewReflector(lw, &corev1.Pod{}, newStoreLog(), 0),
		"<unspecified>":              NewReflector(lw, nil, newStoreLog(), 0),
		"apps/v1, Kind=Thing":        NewReflector(lw, unstructuredOf("apps/v1", "Thing"), newStoreLog(), 0),
		"*unstructured.Unstructured": NewReflector(lw, &unstructured.Unstructured{}, newStoreLog(), 0),
		"said":                       NewReflectorWithOptions(lw, &corev1.Pod{}, newStoreLog(), ReflectorOptions{TypeDescription: "said"}),
	} {
		check(t, "type description", want, r.TypeDescription())
	}
}

func TestReflectorResyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newPodServer(t), newStoreLog()
		r := NewReflector(s.listerWatcher(), &corev1.Pod{}, store, 10*time.Second)
		asked := 0
		r.ShouldResync = func() bool { asked++; return asked > 1 }
		run := start(t, r.RunWithContext)
		time.Sleep(35 * time.Second)
		synctest.Wait()
		check(t, "asked", 3, asked)
		check(t, "resyncs", 2, store.resyncs)
		run.stop()
		time.Sleep(time.Minute)
		check(t, "asked after the end", 3, asked)
	})
}

func TestReflectorDoesNotResyncBeforeTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newPodServer(t), newStoreLog()
		s.Inject(apitest.Fault{Hang: true})
		start(t, NewReflector(s.listerWatcher(), &corev1.Pod{}, store, time.Second).RunWithContext)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		check(t, "resyncs", 0, store.resyncs)
	})
}

func TestReflectorRunsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newPodServer(t), newStoreLog()
		s.create("a", "1")
		r := NewReflector(s.listerWatcher(), &corev1.Pod{}, store, 0)
		run := start(t, r.RunWithContext)
		synctest.Wait()
		check(t, "another run at the same time ended", true, start(t, r.RunWithContext).ended())
		run.stop()
		s.update("a", "2")
		stop := make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Run(stop)
		}()
		store.told(t, "calls", "replace [a:1]", "replace [a:2]")
		close(stop)
		<-done
	})
}

func TestListAndWatchReturnsWhyTheListFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		refused := errors.New("refused by a test")
		s.Inject(apitestFault("list", refused, 0))
		r := NewReflector(s.pagedListerWatcher(), &corev1.Pod{}, newStoreLog(), 0)
		if err := r.ListAndWatchWithContext(t.Context()); !errors.Is(err, refused) {
			t.Errorf("got error %v, want the server's", err)
		}
	})
}

func TestListAndWatchReturnsNilWhereAnotherListIsNeeded(t *testing.T) {
	for name, lw := range map[string]func(*podServer) ListerWatcher{
		"streaming": (*podServer).listerWatcher,
		"paged":     (*podServer).pagedListerWatcher,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, store := newPodServer(t), newStoreLog()
				s.create("a", "1")
				r := NewReflector(lw(s), &corev1.Pod{}, store, 0)
				result := make(chan error, 1)
				go func() { result <- r.ListAndWatch(nil) }()
				synctest.Wait()
				s.update("a", "2")
				store.told(t, "calls", "replace [a:1]", "update a:2")
				s.LoseEvents(func() { s.update("a", "3") })
				if err := <-result; err != nil {
					t.Errorf("got error %v", err)
				}
				store.told(t, "calls after the gap")

				stop := make(chan struct{})
				go func() { result <- r.ListAndWatch(stop) }()
				store.told(t, "calls of the next one", "replace [a:3]")
				if err := r.ListAndWatch(nil); err == nil {
					t.Error("another one at the same time: no error")
				}
				close(stop)
				if err := <-result; err != nil {
					t.Errorf("stopped: got error %v", err)
				}
			})
		})
	}
}

func TestListAndWatchFindsItsWayAroundAnExpiredVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, store := newPodServer(t), newStoreLog()
		s.create("a", "1")
		r := NewReflector(s.pagedListerWatcher(), &corev1.Pod{}, store, 0)
		s.Inject(apitestFault("list", apierrors.NewResourceExpired("of a test"), 1))
		run := start(t, func(ctx context.Context) { succeed(t, r.ListAndWatchWithContext(ctx)) })
		settle()
		store.told(t, "calls", "replace [a:1]")
		run.stop()
	})
}

func TestVeryShortWatchesAreAnErrorOfThatType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		r := NewNamedReflector("mine", s.pagedListerWatcher(), &corev1.Pod{}, newStoreLog(), 0)
		var short *VeryShortWatchError
		r.onError = func(_ context.Context, _ *Reflector, err error) { errors.As(err, &short) }
		s.Inject(apitest.Fault{Verb: "watch", CloseAfter: -1})
		start(t, r.RunWithContext)
		settle()
		if short == nil {
			t.Fatal("no such error was told")
		}
		check(t, "reflector", "mine", short.Name)
	})
}

func TestDefaultWatchErrorHandlerLogsAsFits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		ctx := logTo(t.Context(), &log)
		r := NewNamedReflector("mine", nil, &corev1.Pod{}, newStoreLog(), 0)
		for _, c := range []struct {
			err  error
			want string // in the log; "": nothing
		}{
			{io.EOF, ""},
			{apierrors.NewResourceExpired("too old"), ""},
			{io.ErrUnexpectedEOF, ""},
			{errors.New("strange"), `"msg"="Failed to watch" "error"="strange"`},
		} {
			log = nil
			DefaultWatchErrorHandler(ctx, r, c.err)
			if got := strings.Join(log, "\n"); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("%v: logged %q, want %q", c.err, got, c.want)
			}
		}
		log = nil
		for range 100 {
			DefaultWatchErrorHandler(ctx, r, errors.New("the same again"))
		}
		check(t, "lines for an error that stays the same", 1, len(log))
	})
}

func TestReflectorWaitsAsItsBackoffSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.Inject(apitestFault("list", errors.New("refused by a test"), 0))
		r := NewReflectorWithOptions(s.pagedListerWatcher(), &corev1.Pod{}, newStoreLog(), ReflectorOptions{
			Backoff: &wait.Backoff{Duration: time.Second, Factor: 2, Cap: 4 * time.Second},
		})
		began := time.Now()
		var at []time.Duration
		r.onError = func(context.Context, *Reflector, error) { at = append(at, time.Since(began)) }
		start(t, r.RunWithContext)
		time.Sleep(16 * time.Second)
		synctest.Wait()
		check(t, "failures", []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 11 * time.Second, 15 * time.Second}, at)
	})
}

func TestReflectorWaitsOutInternalErrorsAsItsFieldSays(t *testing.T) {
	for patience, relists := range map[time.Duration]bool{0: true, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			s := newPodServer(t)
			r := NewReflector(s.pagedListerWatcher(), &corev1.Pod{}, newStoreLog(), 0)
			r.MaxInternalErrorRetryDuration = patience
			s.Inject(apitestFault("watch", apierrors.NewInternalError(errors.New("of a test")), 0))
			start(t, r.RunWithContext)
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			lists, watches := s.CountRequests("list", "pods"), s.CountRequests("watch", "pods")
			if watches < 10 || (lists > 1) != relists {
				t.Errorf("patience %v: %d lists, %d watches", patience, lists, watches)
			}
		})
	}
}

func TestReflectorTakesTheTimeFromItsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.Inject(apitestFault("list", errors.New("refused by a test"), 0))
		clock := clocktesting.NewFakeClock(time.Unix(0, 0))
		r := NewReflectorWithOptions(s.pagedListerWatcher(), &corev1.Pod{}, newStoreLog(), ReflectorOptions{Clock: clock})
		var failures []time.Time
		r.onError = func(context.Context, *Reflector, error) { failures = append(failures, clock.Now()) }
		start(t, r.RunWithContext)
		settle()
		check(t, "failures while the clock stands", []time.Time{time.Unix(0, 0)}, failures)
		clock.Step(10 * time.Second)
		settle()
		check(t, "failures after a step", []time.Time{time.Unix(0, 0), time.Unix(10, 0)}, failures)
	})
}
