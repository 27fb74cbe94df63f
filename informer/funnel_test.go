package informer_test

import (
	"context"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// funnel is a source whose list is fixed and whose stream sends what a test puts in, also what no server would.
type funnel struct {
	list   []listwatch.Item[object]
	rv     string // of the list
	events chan []listwatch.Event[object]
	fail   chan error // ends the stream
}

var errExpired = apierrors.NewResourceExpired("too old")

func newFunnel(objs ...object) *funnel {
	f := &funnel{rv: "10"}
	for _, obj := range objs {
		f.list = append(f.list, listwatch.NewItem(obj))
	}
	return f
}

func (f *funnel) List(context.Context, metav1.ListOptions) (listwatch.Page[object], error) {
	return listwatch.Page[object]{Items: f.list, ResourceVersion: f.rv}, nil
}

func (f *funnel) Watch(context.Context, metav1.ListOptions) (listwatch.Stream[object], error) {
	return funnelStream{f}, nil
}

type funnelStream struct{ f *funnel }

func (s funnelStream) Next(ctx context.Context) ([]listwatch.Event[object], error) {
	select {
	case events := <-s.f.events:
		return events, nil
	case err := <-s.f.fail:
		return nil, err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (funnelStream) Stop() {}

func (f *funnel) send(events ...listwatch.Event[object]) { f.events <- events }

func modified(obj object) listwatch.Event[object] {
	return listwatch.Event[object]{Type: listwatch.Modified, Item: listwatch.NewItem(obj)}
}

func deleted(obj object) listwatch.Event[object] {
	return listwatch.Event[object]{Type: listwatch.Deleted, Item: listwatch.NewItem(obj)}
}

func bookmark(rv string) listwatch.Event[object] {
	return listwatch.Event[object]{Type: listwatch.Bookmark, Item: listwatch.Item[object]{ResourceVersion: rv}}
}

// run runs an informer over the funnel in a bubble, and test when it is synced.
func (f *funnel) run(t *testing.T, opts options, test func(*informer.Informer[object])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f.events, f.fail = make(chan []listwatch.Event[object]), make(chan error)
		opts.Reflector.Streaming = reflector.StreamingOff
		inf, err := informer.New[object](f, opts)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- inf.Run(ctx) }()
		if err := inf.WaitSynced(ctx); err != nil {
			t.Fatal(err)
		}
		test(inf)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}
