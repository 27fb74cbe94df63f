package informer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// A group waits for all, names those that are not ready and why, and the others can be used.
func TestGroupWaitNamesWhoIsNotReadyAndWhy(t *testing.T) {
	inGroup(t, informer.GroupOptions{Informer: func(s informer.Scope) informer.ScopeOptions {
		return informer.ScopeOptions{Reflector: reflector.Options{Streaming: reflector.StreamingOff, PageSize: 10, OnError: func(context.Context, error) {}}}
	}}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		for n := range 25 {
			w.create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("p%d", n)}})
		}
		forbidden := w.server.Inject(apitest.Fault{Resource: "secrets", Error: apierrors.NewForbidden(secretScope.Resource.GroupResource(), "", errors.New("no role"))})
		stuck := w.server.Inject(apitest.Fault{Resource: "pods", Skip: 1, Hang: true})
		good, denied, slow := hold[object](w, mapScope), hold[*corev1.Secret](w, secretScope), hold[*corev1.Pod](w, podScope)
		w.run()
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		err := w.group.WaitSynced(ctx)
		var not *informer.GroupNotSyncedError
		if !errors.As(err, &not) || not.Total != 3 || len(not.NotReady) != 2 {
			t.Fatalf("error is %v", err)
		}
		if p, s := not.NotReady[0], not.NotReady[1]; p.Scope != podScope || p.Received != 10 || p.Expected != 25 || s.Scope != secretScope {
			t.Errorf("not ready: %+v", not.NotReady)
		}
		if !apierrors.IsForbidden(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error does not wrap why: %v", err)
		}
		for _, part := range []string{"2 of 3", "v1/pods", "10 of 25 objects", "v1/secrets", "no role"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("message lacks %q: %v", part, err)
			}
		}
		if strings.Contains(err.Error(), "configmaps") {
			t.Errorf("message blames who is ready: %v", err)
		}
		if obj, ok := good.Get("default/a"); !ok || obj.Data["v"] != "1" {
			t.Error("the informer that is ready can't be used")
		}
		forbidden.Remove()
		stuck.Remove()
		w.must(w.group.WaitSynced(w.ctx))
		if denied.Len() != 0 || slow.Len() != 25 {
			t.Errorf("%d secrets, %d pods", denied.Len(), slow.Len())
		}
	})
}

// An informer that ends by itself stops nobody else, is named, and gets another try when it is acquired again.
func TestInformerOfAGroupThatEndsByItself(t *testing.T) {
	opts := informer.GroupOptions{Informer: func(informer.Scope) informer.ScopeOptions {
		return informer.ScopeOptions{Reflector: reflector.Options{OnNotFound: reflector.NotFoundStop, OnError: func(context.Context, error) {}}}
	}}
	inGroup(t, opts, func(w *groupWorld) {
		w.create(cm("a", "1"))
		gone := w.server.Inject(apitest.Fault{Resource: "secrets", Error: apierrors.NewNotFound(secretScope.Resource.GroupResource(), "")})
		good, bad := hold[object](w, mapScope), hold[*corev1.Secret](w, secretScope)
		ctx, cancel := context.WithCancel(w.ctx)
		result := make(chan error)
		go func() { result <- w.group.Run(ctx) }()
		if err := w.group.WaitSynced(w.ctx); !apierrors.IsNotFound(err) || strings.Contains(err.Error(), "configmaps") {
			t.Errorf("group: %v", err)
		}
		if err := bad.WaitSynced(w.ctx); !apierrors.IsNotFound(err) {
			t.Errorf("handle: %v", err)
		}
		if h := w.group.Inventory(); len(h) != 2 || h[0].Err != nil || !apierrors.IsNotFound(h[1].Err) {
			t.Errorf("inventory: %+v", h)
		}
		if good.Len() != 1 {
			t.Error("the good informer does not work")
		}
		gone.Remove()
		again := hold[*corev1.Secret](w, secretScope)
		w.must(again.WaitSynced(w.ctx))
		w.must(bad.WaitSynced(w.ctx))
		w.server.Inject(apitest.Fault{Resource: "secrets", Error: apierrors.NewNotFound(secretScope.Resource.GroupResource(), "")})
		w.server.CloseWatches("", nil)
		w.server.Compact()
		time.Sleep(time.Minute)
		synctest.Wait()
		cancel()
		if err := <-result; !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "secrets") {
			t.Errorf("Run: %v", err)
		}
	})
}

// A read of a type that nobody declared is an error in a strict group, and no request.
func TestStrictGroupRefusesUndeclaredReads(t *testing.T) {
	inGroup(t, informer.GroupOptions{Strict: true}, func(w *groupWorld) {
		w.run()
		_, err := informer.Lookup[object](w.group, mapScope)
		var undeclared *informer.UndeclaredError
		if !errors.As(err, &undeclared) || undeclared.Scope != mapScope || !strings.Contains(err.Error(), "configmaps") {
			t.Errorf("error is %v", err)
		}
		synctest.Wait()
		if n := len(w.server.Requests()); n != 0 {
			t.Errorf("%d requests", n)
		}
		meta := hold[metadata](w, mapScope)
		w.settle()
		if _, err := informer.Lookup[object](w.group, mapScope); !errors.As(err, &undeclared) || undeclared.View != informer.TypedView {
			t.Errorf("whole objects, where only metadata is declared: %v", err)
		}
		s, err := informer.Lookup[metadata](w.group, mapScope)
		w.must(err)
		meta.Release()
		if w.group.Inventory()[0].Refs != 1 {
			t.Error("Lookup's handle does not hold the informer")
		}
		s.Release()
		w.wantRequests("configmaps", 1, 1)
	})
}

func TestLookupAcquiresInAGroupThatIsNotStrict(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		w.run()
		s, err := informer.Lookup[object](w.group, mapScope)
		w.must(err)
		w.must(s.WaitSynced(w.ctx))
		if s.Len() != 1 {
			t.Errorf("%d objects", s.Len())
		}
	})
}

func TestScopesAreToldApartByWhatTheySay(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		labelled := cm("a", "1")
		labelled.Labels = map[string]string{"x": "1", "y": "2"}
		elsewhere := cm("c", "1")
		elsewhere.Namespace = "elsewhere"
		w.create(labelled, cm("b", "1"), elsewhere)
		all := hold[object](w, mapScope)
		one := hold[object](w, informer.Scope{Resource: configmaps, Labels: "y=2,x=1"})
		same := hold[object](w, informer.Scope{Resource: configmaps, Labels: "x = 1, y==2"})
		there := hold[object](w, informer.Scope{Resource: configmaps, Namespace: "elsewhere"})
		named := hold[object](w, informer.Scope{Resource: configmaps, Fields: "metadata.name=b"})
		w.run()
		w.settle()
		for name, test := range map[string]struct {
			s    *informer.Shared[object]
			want int
		}{"all": {all, 3}, "labels": {one, 1}, "the same": {same, 1}, "namespace": {there, 1}, "fields": {named, 1}} {
			if n := test.s.Len(); n != test.want {
				t.Errorf("%s: %d objects, want %d", name, n, test.want)
			}
		}
		if one.Scope() != same.Scope() || len(w.group.Inventory()) != 4 {
			t.Errorf("scopes %q and %q, %d informers", one.Scope(), same.Scope(), len(w.group.Inventory()))
		}
		w.wantRequests("configmaps", 4, 4)
	})
}

// A group that has stopped keeps what it holds, and runs again.
func TestGroupRunsAgain(t *testing.T) {
	inGroup(t, informer.GroupOptions{}, func(w *groupWorld) {
		w.create(cm("a", "1"))
		s := hold[object](w, mapScope)
		told, _ := follow(s, informer.HandlerOptions{})
		stop := w.run()
		w.settle()
		if err := w.group.Run(w.ctx); !errors.Is(err, informer.ErrRunning) {
			t.Errorf("second Run: %v", err)
		}
		stop()
		w.create(cm("b", "1"))
		synctest.Wait()
		if n := len(told.take()); n != 1 || s.Len() != 1 {
			t.Errorf("%d events, %d objects", n, s.Len())
		}
		released := hold[object](w, secretsAsMaps())
		released.Release()
		<-released.Done()
		w.run()
		w.must(s.WaitFor(w.ctx, w.server.ResourceVersion()))
		synctest.Wait()
		if got := told.take(); len(got) != 1 || !strings.HasPrefix(got[0], "Added default/b") {
			t.Errorf("told %q", got)
		}
	})
}

func secretsAsMaps() informer.Scope { return informer.Scope{Resource: configmaps, Namespace: "other"} }
