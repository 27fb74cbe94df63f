package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// follower follows one collection and hands on what it is told. T is what the informer holds.
type follower[T any] struct {
	name    string
	source  listwatch.Source[T]
	content func(T) *unstructured.Unstructured
	show    func(record) error
	say     func(string)
}

// wholeObjects is the source of a resource's objects, metadataOnly that of their metadata, which costs the server and this process less.
func wholeObjects(c *cluster, t target, namespace string) (listwatch.Source[*unstructured.Unstructured], error) {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	if t.namespaced() && namespace != "" {
		return listwatch.For[*unstructured.Unstructured](client.Resource(t.Resource).Namespace(namespace)), nil
	}
	return listwatch.For[*unstructured.Unstructured](client.Resource(t.Resource)), nil
}

func metadataOnly(c *cluster, t target, namespace string) (listwatch.Source[*metav1.PartialObjectMetadata], error) {
	client, err := metadata.NewForConfig(c.config)
	if err != nil {
		return nil, err
	}
	if t.namespaced() && namespace != "" {
		return listwatch.For[*metav1.PartialObjectMetadata](client.Resource(t.Resource).Namespace(namespace)), nil
	}
	return listwatch.For[*metav1.PartialObjectMetadata](client.Resource(t.Resource)), nil
}

// run follows until ctx ends, or with once until the first list has been shown. The error is why it ended, unless ctx did it: what
// makes the first list hopeless, that it was not complete when time was up, or that nothing can be shown any more.
func (f follower[T]) run(ctx context.Context, once bool) error {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var inf *informer.Informer[T]
	failures := 0 // of Run's goroutine
	inf, err := informer.New(f.source, informer.Options[T]{
		Name:            f.name,
		ShutdownTimeout: shutdownTimeout,
		Reflector: reflector.Options{
			OnNotFound: reflector.NotFoundClear,
			OnError: func(_ context.Context, err error) {
				failures++
				if !inf.Status().Synced && hopeless(err, failures) {
					cancel(err)
				}
			},
		},
	})
	if err != nil {
		return err
	}
	if !once {
		inf.AddHandler(informer.Handler[T]{Event: func(e informer.Event[T]) {
			if err := f.show(f.record(e)); err != nil {
				cancel(err)
			}
		}}, informer.HandlerOptions{Name: "output"})
	}

	var running sync.WaitGroup
	running.Go(func() { cancel(inf.Run(own)) })
	running.Go(func() { f.takeNotes(own, inf) })
	waited := inf.WaitSynced(own)
	if waited == nil && once {
		cancel(f.showAll(inf))
	} else if waited == nil && inf.Len() == 0 {
		f.say(f.name + ": no objects yet; waiting for changes")
	}
	running.Wait()

	cause := context.Cause(own)
	switch outside := context.Cause(ctx); {
	case outside != nil && errors.Is(cause, outside):
		return f.outOfTime(outside, waited)
	case errors.Is(cause, context.Canceled): // by us, with nothing to say
		return nil
	}
	return cause
}

// shutdownTimeout bounds how long output that nobody reads can hold up the end.
const shutdownTimeout = 2 * time.Second

// outOfTime is an error if time was up before the first list was complete.
func (f follower[T]) outOfTime(outside, waited error) error {
	late := (*timeUpError)(nil)
	unsynced := (*informer.NotSyncedError)(nil)
	if !errors.As(outside, &late) || !errors.As(waited, &unsynced) {
		return nil
	}
	why := unsynced.Phase.String()
	if unsynced.Last != nil {
		why = describeOf(f.name, unsynced.Last)
	}
	return fmt.Errorf("%s: not synced after %v: %s", f.name, late.after, why)
}

// timeUpError is the cause of a context that --for ended.
type timeUpError struct{ after time.Duration }

func (e *timeUpError) Error() string { return fmt.Sprintf("%v are over", e.after) }

func (f follower[T]) record(e informer.Event[T]) record { return recordOf(e, time.Now(), f.content) }

// showAll shows what there is, by key.
func (f follower[T]) showAll(inf *informer.Informer[T]) error {
	objects := maps.Collect(inf.Snapshot().All())
	if len(objects) == 0 {
		f.say(f.name + ": no objects")
	}
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		if err := f.show(f.record(informer.Event[T]{Type: informer.Added, Key: key, New: objects[key], Initial: true})); err != nil {
			return err
		}
	}
	return nil
}

func (f follower[T]) takeNotes(ctx context.Context, inf *informer.Informer[T]) {
	var n notes
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		status := inf.Status()
		if note := n.next(f.name, status, time.Now()); note != "" {
			f.say(note)
		}
		for _, note := range n.leftOut(f.name, status) {
			f.say(note)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
