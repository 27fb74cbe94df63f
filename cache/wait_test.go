package cache

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
)

// checker is a DoneChecker of a test.
type checker struct {
	name string
	done chan struct{}
}

func newChecker(name string) checker { return checker{name, make(chan struct{})} }

func (c checker) Name() string          { return c.name }
func (c checker) Done() <-chan struct{} { return c.done }

// logTo returns a context whose logger appends lines to log.
func logTo(ctx context.Context, log *[]string) context.Context {
	return klog.NewContext(ctx, funcr.New(func(_, args string) { *log = append(*log, args) }, funcr.Options{}))
}

func TestWaitingForASyncTakesNoTime(t *testing.T) {
	for name, wait := range map[string]func(ctx context.Context, inf SharedInformer, r ResourceEventHandlerRegistration) bool{
		"WaitFor": func(ctx context.Context, inf SharedInformer, r ResourceEventHandlerRegistration) bool {
			return WaitFor(ctx, "", inf.HasSyncedChecker(), r.HasSyncedChecker())
		},
		"WaitForCacheSync": func(ctx context.Context, inf SharedInformer, r ResourceEventHandlerRegistration) bool {
			return WaitForCacheSync(ctx.Done(), inf.HasSynced, r.HasSynced)
		},
		"WaitForCacheSync of a function that asks": func(ctx context.Context, inf SharedInformer, r ResourceEventHandlerRegistration) bool {
			return WaitForCacheSync(ctx.Done(), func() bool { return inf.HasSynced() && r.HasSynced() })
		},
		"WaitForCacheSync of a function that waits for another": func(ctx context.Context, inf SharedInformer, r ResourceEventHandlerRegistration) bool {
			return WaitForCacheSync(ctx.Done(), func() bool {
				return WaitForCacheSync(ctx.Done(), inf.GetController().HasSynced) && r.HasSynced()
			})
		},
		"WaitForNamedCacheSync": func(ctx context.Context, inf SharedInformer, r ResourceEventHandlerRegistration) bool {
			return WaitForNamedCacheSync("a test", ctx.Done(), inf.HasSynced, r.HasSynced)
		},
		"WaitForNamedCacheSyncWithContext": func(ctx context.Context, inf SharedInformer, r ResourceEventHandlerRegistration) bool {
			return WaitForNamedCacheSyncWithContext(ctx, inf.HasSynced, r.HasSynced)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newPodServer(t)
				s.create("a", "1")
				inf := newPodInformer(s)
				release := make(chan struct{})
				r := addHandler(t, inf, &callLog{before: func(string) { <-release }})
				began := time.Now()
				go func() {
					time.Sleep(7 * time.Millisecond)
					start(t, inf.RunWithContext)
					time.Sleep(11 * time.Millisecond)
					close(release)
				}()
				check(t, "synced", true, wait(t.Context(), inf, r))
				check(t, "time waited", 18*time.Millisecond, time.Since(began))
			})
		})
	}
}

func TestWaitingForAControllerTakesNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.create("a", "1")
		p := newPair(s, 0)
		began := time.Now()
		p.before = func(string) { time.Sleep(30 * time.Millisecond) }
		start(t, p.RunWithContext)
		check(t, "synced", true, WaitForCacheSync(t.Context().Done(), p.HasSynced))
		check(t, "time waited", 30*time.Millisecond, time.Since(began))
	})
}

func TestWaitForCacheSyncPollsFunctionsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		began := time.Now()
		check(t, "synced", true, WaitForCacheSync(nil, func() bool { asked++; return asked == 4 }))
		check(t, "time waited", 300*time.Millisecond, time.Since(began))
	})
}

func TestWaitForCacheSyncEndsWithItsStopChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		inf := newPodInformer(s) // never runs
		stop := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(stop) })
		check(t, "never synced", false, WaitForCacheSync(stop, inf.HasSynced))
		check(t, "stopped before", false, WaitForCacheSync(stop, inf.HasSynced))
		check(t, "synced, though stopped before", true, WaitForCacheSync(stop, func() bool { return true }))
		check(t, "nothing to wait for", true, WaitForCacheSync(stop))
		check(t, "named", false, WaitForNamedCacheSync("a test", stop, inf.HasSynced))
	})
}

func TestAsksOfOthersDontMixWithAWait(t *testing.T) {
	done := make(chan struct{})
	check(t, "outside a wait", false, isSynced(done))
	ok, awaited := askSynced(func() bool { return false })
	if ok || awaited != nil {
		t.Error("a channel of nobody's")
	}
	ok, awaited = askSynced(func() bool { return isSynced(done) })
	if ok || awaited != done {
		t.Error("the channel is lost")
	}
	ok, awaited = askSynced(func() bool {
		other := make(chan struct{})
		go func() { defer close(other); isSynced(make(chan struct{})) }()
		<-other
		return isSynced(done)
	})
	if ok || awaited != done {
		t.Error("another goroutine's channel was taken")
	}
	func() {
		defer func() { _ = recover() }()
		askSynced(func() bool { panic("a test's") })
	}()
	check(t, "asks under way", int32(0), asking.n.Load())
}

func TestWaitForLogsWhatItWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		reason := errors.New("enough")
		ctx, cancel := context.WithCancelCause(logTo(t.Context(), &log))
		a, b, c := newChecker("a"), newChecker("b"), newChecker("c")
		close(a.done)
		go func() {
			time.Sleep(time.Second)
			close(c.done)
			cancel(reason)
		}()
		check(t, "done", false, WaitFor(ctx, "tests", a, b, c))
		got := strings.Join(log, "\n")
		for _, want := range []string{`"msg"="Waiting" "for"="tests"`, `"msg"="Done waiting" "for"="tests" "instance"="a"`, `"Timed out waiting"`, `"cause"="enough"`, `"instances"=["b"]`} {
			if !strings.Contains(got, want) {
				t.Errorf("log lacks %s:\n%s", want, got)
			}
		}
		log = nil
		check(t, "done, quietly", false, WaitFor(ctx, "", b))
		check(t, "done all the same", true, WaitFor(ctx, "", a, c))
		check(t, "nothing to wait for", true, WaitFor(ctx, ""))
		check(t, "log of waits for nothing named", 0, len(log))
	})
}

func TestWaitForSaysWhyAnInformerHasNotSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPodServer(t)
		s.Inject(apitestFault("", apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no rights")), 0))
		failing, idle := newPodInformer(s), newPodInformer(s)
		start(t, failing.RunWithContext)
		var log []string
		ctx, cancel := context.WithTimeout(logTo(t.Context(), &log), 20*time.Second)
		defer cancel()
		check(t, "done", false, WaitFor(ctx, "pods", failing.HasSyncedChecker(), idle.HasSyncedChecker()))
		got := strings.Join(log, "\n")
		for _, want := range []string{"SharedIndexInformer *v1.Pod (", "forbidden", "no rights", "failures in a row", "(not running)"} {
			if !strings.Contains(got, want) {
				t.Errorf("log lacks %q:\n%s", want, got)
			}
		}
	})
}

func TestSyncResultAsError(t *testing.T) {
	pod, node, service := reflect.TypeFor[*corev1.Pod](), reflect.TypeFor[*corev1.Node](), reflect.TypeFor[*corev1.Service]()
	if err := (SyncResult{Synced: map[reflect.Type]bool{pod: true}}).AsError(); err != nil {
		t.Errorf("all synced: got error %v", err)
	}
	err := SyncResult{Err: context.DeadlineExceeded, Synced: map[reflect.Type]bool{pod: false, node: false, service: true}}.AsError()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want one that wraps the cause", err)
	}
	check(t, "error", "failed to sync all caches: *v1.Node, *v1.Pod: context deadline exceeded", err.Error())
}
