package informer_test

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// bulk is a source of many objects that makes them anew for every page, as decoding does, and measures the heap between pages.
type bulk struct {
	objects, page int
	changed       int // every so many objects have a new version in the second list; 0: none
	lists         int
	peak          uint64       // of the live heap, between pages
	decoded       atomic.Int64 // objects made
}

func (b *bulk) item(n int) listwatch.Item[object] {
	rv := "1"
	if b.lists > 1 && b.changed > 0 && n%b.changed == 0 {
		rv = "2"
	}
	key, uid := fmt.Sprintf("default/o%06d", n), fmt.Sprint("uid", n)
	return listwatch.LazyItem(key, uid, rv, func() (object, error) {
		b.decoded.Add(1)
		obj := cm(fmt.Sprintf("o%06d", n), strings.Repeat("x", 2000))
		obj.UID, obj.ResourceVersion = types.UID(uid), rv
		return obj, nil
	})
}

func (b *bulk) measure() {
	if b.lists > 1 {
		b.peak = max(b.peak, liveHeap())
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func (b *bulk) List(_ context.Context, opts listOptions) (listwatch.Page[object], error) {
	from := 0
	if opts.Continue == "" {
		b.lists++
	} else if _, err := fmt.Sscan(opts.Continue, &from); err != nil {
		return listwatch.Page[object]{}, err
	}
	b.measure()
	page := listwatch.Page[object]{ResourceVersion: fmt.Sprint(b.lists * 10)}
	for n := from; n < min(from+b.page, b.objects); n++ {
		page.Items = append(page.Items, b.item(n))
	}
	if from+b.page < b.objects {
		page.Continue = fmt.Sprint(from + b.page)
	}
	return page, nil
}

func (b *bulk) Watch(_ context.Context, opts listOptions) (listwatch.Stream[object], error) {
	if opts.SendInitialEvents != nil {
		b.lists++
		return &bulkStream{b: b, initial: true}, nil
	}
	return &bulkStream{b: b}, nil
}

// bulkStream sends the objects, if it is a streaming list, and ends a minute later with 410, once.
type bulkStream struct {
	b       *bulk
	initial bool
	sent    int
}

func (s *bulkStream) Next(ctx context.Context) ([]listwatch.Event[object], error) {
	s.b.measure()
	if s.initial {
		var events []listwatch.Event[object]
		for ; s.sent < s.b.objects && len(events) < s.b.page; s.sent++ {
			events = append(events, listwatch.Event[object]{Type: listwatch.Added, Item: s.b.item(s.sent)})
		}
		if len(events) > 0 {
			return events, nil
		}
		s.initial = false
		end := bookmark(fmt.Sprint(s.b.lists * 10))
		end.InitialEventsEnd = true
		return []listwatch.Event[object]{end}, nil
	}
	if s.b.lists > 1 {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	select {
	case <-time.After(time.Minute):
		return nil, apierrors.NewResourceExpired("too old")
	case <-ctx.Done():
		return nil, io.EOF
	}
}

func (s *bulkStream) Stop() {}

// A relist costs the live set, what changed, and one page; in lists and in streaming lists. What did not change keeps its
// pointer, is not decoded, and is told to nobody.
func TestRelistMemoryIsBounded(t *testing.T) {
	const objects = 8_000
	for name, opts := range map[string]reflector.Options{
		"paged":     {Streaming: reflector.StreamingOff, PageSize: 400},
		"streaming": {},
	} {
		for _, changed := range []int{0, 100} {
			t.Run(fmt.Sprintf("%s/changed=%d", name, changed), func(t *testing.T) {
				b := &bulk{objects: objects, page: 400, changed: changed}
				synctest.Test(t, func(t *testing.T) {
					inf, err := informer.New[object](b, options{Reflector: opts})
					if err != nil {
						t.Fatal(err)
					}
					told := 0
					ctx, cancel := context.WithCancel(t.Context())
					done := make(chan error)
					go func() { done <- inf.Run(ctx) }()
					if err := inf.WaitSynced(ctx); err != nil {
						t.Fatal(err)
					}
					inf.AddHandler(handler{Event: func(e event) {
						if !e.Initial {
							told++
						}
					}}, informer.HandlerOptions{})
					synctest.Wait()
					steady := liveHeap()
					b.decoded.Store(0)
					time.Sleep(10 * time.Minute)
					synctest.Wait()
					want := 0
					if changed > 0 {
						want = objects / changed
					}
					if b.lists != 2 || told != want || b.decoded.Load() != int64(want) || inf.Len() != objects {
						t.Errorf("%d lists, %d events, %d objects decoded, %d stored; want 2, %d, %d, %d", b.lists, told, b.decoded.Load(), inf.Len(), want, want, objects)
					}
					ratio := float64(b.peak) / float64(steady)
					t.Logf("live heap: steady %d MB, at most %.3f times that during the relist, %.3f after it", steady>>20, ratio, float64(liveHeap())/float64(steady))
					if ratio > 1.15 {
						t.Errorf("the relist needs %.2f times the live set", ratio)
					}
					cancel()
					<-done
				})
			})
		}
	}
}
