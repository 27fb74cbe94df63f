package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/apitest/workload"
)

// followed is what a follower of a server's pods shows and says. It belongs to a synctest bubble.
type followed struct {
	err chan error

	mu          sync.Mutex // guards what follows
	shown, said []string
}

// soFar is what was shown and said.
func (f *followed) soFar() (shown, said []string) {
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.shown), slices.Clone(f.said)
}

func follow(ctx context.Context, server *apitest.Server, once bool, fail error) *followed {
	f := &followed{err: make(chan error, 1)}
	follower := follower[*unstructured.Unstructured]{
		name:    "pods",
		source:  apitest.Source[*unstructured.Unstructured](server, workload.Pods, ""),
		content: func(u *unstructured.Unstructured) *unstructured.Unstructured { return u },
		show: func(r record) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.shown = append(f.shown, r.typ+" "+r.key)
			return fail
		},
		say: func(line string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.said = append(f.said, line)
		},
	}
	go func() { f.err <- follower.run(ctx, once) }()
	return f
}

func TestFollowerSaysWhyItIsNotSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apitest.NewServer(apitest.Options{})
		defer server.Close()
		create(t, server, newPod("shop", "web-1"))
		fault := server.Inject(apitest.Fault{Error: apierrors.NewServiceUnavailable("etcd is away")})
		ctx, cancel := context.WithCancel(t.Context())
		f := follow(ctx, server, false, nil)
		time.Sleep(4 * time.Second)
		_, said := f.soFar()
		if len(said) != 0 {
			t.Errorf("too early: %q", said)
		}
		time.Sleep(2 * time.Second)
		_, said = f.soFar()
		if len(said) != 1 || !strings.HasPrefix(said[0], "pods: not synced after 5s: ") || !strings.Contains(said[0], "etcd is away (ServiceUnavailable)") {
			t.Errorf("said %q", said)
		}
		fault.Remove()
		time.Sleep(70 * time.Second) // more than any back-off
		shown, said := f.soFar()
		if last := said[len(said)-1]; last != "pods: in step again, 1 objects" {
			t.Errorf("said %q", said)
		}
		if !slices.Equal(shown, []string{"ADDED shop/web-1"}) {
			t.Errorf("shown %q", shown)
		}
		cancel()
		if err := <-f.err; err != nil {
			t.Error(err)
		}
	})
}

func TestFollowerKeepsTryingOnceItHasShownSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apitest.NewServer(apitest.Options{})
		defer server.Close()
		create(t, server, newPod("shop", "web-1"))
		ctx, cancel := context.WithCancel(t.Context())
		f := follow(ctx, server, false, nil)
		time.Sleep(time.Second)
		fault := server.Inject(apitest.Fault{Error: apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("revoked"))})
		server.CloseWatches("", errors.New("broken"))
		time.Sleep(10 * time.Second)
		_, said := f.soFar()
		if len(said) != 1 || !strings.HasPrefix(said[0], "pods: out of step for 5s: ") || !strings.Contains(said[0], "pods is forbidden: revoked (Forbidden)") ||
			!strings.HasSuffix(said[0], "still trying") {
			t.Errorf("said %q", said)
		}
		create(t, server, newPod("shop", "web-2"))
		fault.Remove()
		time.Sleep(70 * time.Second)
		shown, said := f.soFar()
		if !slices.Equal(shown, []string{"ADDED shop/web-1", "ADDED shop/web-2"}) || said[len(said)-1] != "pods: in step again, 2 objects" {
			t.Errorf("shown %q, said %q", shown, said)
		}
		cancel()
		if err := <-f.err; err != nil {
			t.Error(err)
		}
	})
}

func TestFollowerShowsThatAResourceIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apitest.NewServer(apitest.Options{})
		defer server.Close()
		create(t, server, newPod("shop", "web-1"))
		ctx, cancel := context.WithCancel(t.Context())
		f := follow(ctx, server, false, nil)
		time.Sleep(time.Second)
		server.Inject(apitest.Fault{Error: apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "")})
		server.CloseWatches("", nil)
		time.Sleep(10 * time.Second)
		shown, said := f.soFar()
		if !slices.Equal(shown, []string{"ADDED shop/web-1", "DELETED shop/web-1"}) {
			t.Errorf("shown %q", shown)
		}
		if len(said) != 1 || !strings.Contains(said[0], "NotFound") {
			t.Errorf("said %q", said)
		}
		cancel()
		if err := <-f.err; err != nil {
			t.Error(err)
		}
	})
}

func TestFollowerEndsWhenNothingCanBeShown(t *testing.T) {
	for _, once := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := apitest.NewServer(apitest.Options{})
			defer server.Close()
			create(t, server, newPod("shop", "web-1"))
			create(t, server, newPod("shop", "web-2"))
			f := follow(t.Context(), server, once, errClosedPipe)
			if err := <-f.err; !errors.Is(err, errClosedPipe) {
				t.Errorf("once %v: error %v", once, err)
			}
			if shown, _ := f.soFar(); once && len(shown) != 1 {
				t.Errorf("went on after an error: %q", shown)
			}
		})
	}
}

func TestFollowerEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apitest.NewServer(apitest.Options{})
		defer server.Close()
		ctx, cancel := endAfter(t.Context(), 7*time.Second)
		defer cancel()
		start := time.Now()
		if err := <-follow(ctx, server, false, nil).err; err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != 7*time.Second {
			t.Errorf("took %v", took)
		}
		hang := server.Inject(apitest.Fault{Hang: true})
		ctx, cancel = endAfter(t.Context(), 7*time.Second)
		defer cancel()
		if err := <-follow(ctx, server, false, nil).err; err == nil || err.Error() != "pods: not synced after 7s: listing" {
			t.Errorf("error %v", err)
		}
		hang.Remove()
	})
}

func TestFollowerSaysWhatIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apitest.NewServer(apitest.Options{})
		defer server.Close()
		create(t, server, newPod("shop", "web-1"))
		create(t, server, newPod("shop", "web-2"))
		server.Inject(apitest.Fault{Undecodable: []string{"shop/web-2"}})
		ctx, cancel := context.WithCancel(t.Context())
		f := follow(ctx, server, false, nil)
		time.Sleep(5 * time.Second)
		shown, said := f.soFar()
		if !slices.Equal(shown, []string{"ADDED shop/web-1"}) || len(said) != 1 || !strings.HasPrefix(said[0], "pods: shop/web-2 is left out (decode): ") {
			t.Errorf("shown %q, said %q", shown, said)
		}
		cancel()
		if err := <-f.err; err != nil {
			t.Error(err)
		}
	})
}
