package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// printer is a sink that says what it is given.
type printer struct{ done context.CancelFunc }

func (p *printer) Replace(context.Context) reflector.Replacement[*metav1.PartialObjectMetadata] {
	return &printerList{}
}

func (p *printer) Apply(_ context.Context, events []listwatch.Event[*metav1.PartialObjectMetadata]) error {
	for i := range events {
		fmt.Println(events[i].Type, events[i].Item.Key, "at", events[i].Item.ResourceVersion)
	}
	p.done()
	return nil
}

// printerList shows nothing before it is committed.
type printerList struct{ keys []string }

func (l *printerList) Add(items []listwatch.Item[*metav1.PartialObjectMetadata]) error {
	for i := range items {
		l.keys = append(l.keys, items[i].Key)
	}
	return nil
}

func (l *printerList) Remove(key string) error { return nil }

func (l *printerList) Commit(list reflector.ListInfo) error {
	fmt.Println("list", l.keys, "at", list.ResourceVersion)
	return nil
}

func object(name, rv string) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: rv}}
}

// cluster stands for a server that holds two objects, and changes one.
func cluster() listwatch.Source[*metav1.PartialObjectMetadata] {
	return listwatch.Funcs[*metav1.PartialObjectMetadata]{
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &metav1.PartialObjectMetadataList{
				ListMeta: metav1.ListMeta{ResourceVersion: "10"},
				Items:    []metav1.PartialObjectMetadata{object("a", "3"), object("b", "4")},
			}, nil
		},
		WatchFunc: func(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			w := watch.NewFakeWithChanSize(1, false)
			changed := object("a", "11")
			w.Modify(&changed)
			return w, nil
		},
		NoStreaming: true,
	}
}

func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	r, err := reflector.New(cluster(), &printer{done: cancel}, reflector.Options{Name: "objects"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Run(ctx))
	fmt.Println(r.Status().Phase, "at", r.Status().ResourceVersion)
	// Output:
	// list [default/a default/b] at 10
	// MODIFIED default/a at 11
	// context canceled
	// stopped at 11
}

// Options are checked once, by New.
func ExampleOptions() {
	_, err := reflector.New(cluster(), &printer{}, reflector.Options{
		PageSize:     500,                                                // never one giant answer
		WatchTimeout: 30 * time.Minute,                                   // watches of 30 to 60 minutes
		Backoff:      reflector.Backoff{Initial: time.Second, Jitter: 1}, // 1 to 2 s, then longer, up to 30 to 60 s
		Priority:     1,                                                  // before others, when many have to list
		OnNotFound:   reflector.NotFoundClear,                            // empty while the CRD is not there
		Streaming:    reflector.StreamingOff,                             // paged lists only
		OnError:      func(_ context.Context, err error) { slog.Warn(err.Error()) },
	})
	fmt.Println(err)

	_, err = reflector.New(cluster(), &printer{}, reflector.Options{WatchTimeout: time.Millisecond})
	var bad *reflector.OptionError
	fmt.Println(errors.As(err, &bad), bad.Field)
	// Output:
	// <nil>
	// true WatchTimeout
}

// With NotFoundStop a reflector ends when its resource is removed.
func ExampleNotFoundPolicy() {
	missing := listwatch.Funcs[*metav1.PartialObjectMetadata]{
		ListFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return nil, apierrors.NewGenericServerResponse(404, "list", schema.GroupResource{Resource: "widgets"}, "", "", 0, true)
		},
		NoStreaming: true,
	}
	r, err := reflector.New(missing, &printer{}, reflector.Options{Name: "widgets", OnNotFound: reflector.NotFoundStop})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(apierrors.IsNotFound(r.Run(context.Background())))
	// Output: true
}

// A limiter shared by some reflectors bounds how many of them list at once.
func ExampleLimiter() {
	limiter := reflector.NewLimiter(1)
	ctx := context.Background()
	release, _ := limiter.Acquire(ctx, 0)

	impatient, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	_, err := limiter.Acquire(impatient, 0)
	fmt.Println(err)

	release()
	release, err = limiter.Acquire(ctx, 0)
	fmt.Println(err)
	release()
	// Output:
	// context deadline exceeded
	// <nil>
}
