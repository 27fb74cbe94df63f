package reflector

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/listwatch"
)

// A run that is resumed makes no list, and loses nothing of the time in between.
func TestResumeWatchesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, sink := newScript(), newMemory()
		src.onList = func(context.Context, int, metav1.ListOptions) (listwatch.Page[string], error) {
			return list("10", item("a", "3")), nil
		}
		src.onWatch = func(_ context.Context, n int, _ metav1.ListOptions) (listwatch.Stream[string], error) {
			if n == 0 {
				return play(says(added("b", "12"))), nil
			}
			return play(says(deleted("a", "13"))), nil
		}
		x := run(t, src, sink, Options{Streaming: StreamingOff})
		synctest.Wait()
		if err := x.stop(); !errors.Is(err, context.Canceled) {
			t.Fatalf("Run = %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := x.Resume(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Resume = %v", err)
		}
		sameCalls(t, src.trace(), "list@0", "watch@10", "watch@12")
		sameContent(t, sink.content(), map[string]string{"b": "12"})
	})
}

func TestListReadsPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newScript()
		src.onList = func(_ context.Context, n int, _ metav1.ListOptions) (listwatch.Page[string], error) {
			page := list([]string{"10", "10", "11"}[n], item([]string{"a", "b", "c"}[n], "1"))
			page.Continue = []string{"x", "y", ""}[n]
			return page, nil
		}
		limiter := NewLimiter(1)
		var keys string
		rv, err := List(t.Context(), src, Options{PageSize: 1, Limiter: limiter}, func(items []listwatch.Item[string]) error {
			for i := range items {
				keys += items[i].Key
			}
			return nil
		})
		if keys != "abc" || rv != "10" || err != nil {
			t.Errorf("keys %q, resource version %q, error %v", keys, rv, err)
		}
		for n, c := range src.made() {
			if want := (metav1.ListOptions{Limit: 1, Continue: []string{"", "x", "y"}[n]}); c.opts != want {
				t.Errorf("page %d asks for %+v", n, c.opts)
			}
		}
		limiterIsFree(t, limiter)
	})
}

func limiterIsFree(t *testing.T, limiter *Limiter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	release, err := limiter.Acquire(ctx, 0)
	if err != nil {
		t.Fatal("a place was not given back")
	}
	release()
}

// Whatever goes wrong ends a list with an error that says so and names it, and gives its place back.
func TestListEndsWithTheErrorOfWhatFailed(t *testing.T) {
	gone, refused := apierrors.NewResourceExpired("too old"), errors.New("refused")
	for _, tc := range []struct {
		name string
		list func(ctx context.Context, opts metav1.ListOptions) (listwatch.Page[string], error)
		page error
		want error
	}{
		{name: "the source fails", want: gone, list: func(context.Context, metav1.ListOptions) (listwatch.Page[string], error) {
			return listwatch.Page[string]{}, gone
		}},
		{name: "the page is refused", page: refused, want: refused},
		{name: "the source hangs", want: ErrTimeout, list: func(ctx context.Context, _ metav1.ListOptions) (listwatch.Page[string], error) {
			<-ctx.Done()
			return listwatch.Page[string]{}, ctx.Err()
		}},
		{name: "the source panics", want: refused, list: func(context.Context, metav1.ListOptions) (listwatch.Page[string], error) {
			panic(refused)
		}},
		{name: "the pages go round in circles", want: errContinueLoop,
			list: func(context.Context, metav1.ListOptions) (listwatch.Page[string], error) {
				return listwatch.Page[string]{Continue: "x"}, nil
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, limiter := newScript(), NewLimiter(1)
				src.onList = func(ctx context.Context, _ int, opts metav1.ListOptions) (listwatch.Page[string], error) {
					if tc.list == nil {
						return list("10"), nil
					}
					return tc.list(ctx, opts)
				}
				page := func([]listwatch.Item[string]) error { return tc.page }
				_, err := List(t.Context(), src, Options{Name: "things", Limiter: limiter}, page)
				if !errors.Is(err, tc.want) || !strings.HasPrefix(err.Error(), "things: list: ") {
					t.Errorf("error is %v, want one of %v", err, tc.want)
				}
				limiterIsFree(t, limiter)
			})
		})
	}
}

func TestListWaitsForItsPlaceAsLongAsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := NewLimiter(1)
		release, err := limiter.Acquire(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		src := newScript()
		if _, err := List(ctx, src, Options{Limiter: limiter}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
		sameCalls(t, src.trace())
		var option *OptionError
		if _, err := List(ctx, src, Options{PageSize: -1}, nil); !errors.As(err, &option) {
			t.Errorf("error of an option is %v", err)
		}
	})
}
