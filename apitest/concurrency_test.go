package apitest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/listwatch"
)

// Writers, watchers and faults at the same time: each watcher that resumes from where it was ends with the server's state.
func TestResumedWatchesFollowConcurrentWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, apitest.Options{WatchBuffer: 5, BookmarkInterval: 50 * time.Millisecond})
		ctx, cancel := context.WithCancel(t.Context())
		copies := make([]map[string]string, 8)
		var watchers, writers sync.WaitGroup
		for i := range copies {
			watchers.Go(func() { copies[i] = follow(ctx, t, s) })
		}
		for i := range 4 {
			writers.Go(func() {
				for n := range 100 {
					p := pod(fmt.Sprint("ns", i), fmt.Sprint("p", n%10))
					var err error
					switch n / 10 % 3 {
					case 0:
						_, err = apitest.Create(s, p)
					case 1:
						_, err = apitest.Update(s, onNode(p, fmt.Sprint("n", n)))
					case 2:
						_, err = apitest.Delete(s, p)
					}
					if err != nil {
						t.Error(err)
					}
					time.Sleep(time.Duration(1+i) * time.Millisecond)
				}
			})
		}
		for range 10 {
			time.Sleep(17 * time.Millisecond)
			s.CloseWatches("", nil)
			time.Sleep(17 * time.Millisecond)
			s.CloseWatches("", io.ErrUnexpectedEOF)
		}
		writers.Wait()
		time.Sleep(time.Minute) // all is told
		cancel()
		watchers.Wait()
		want := map[string]string{}
		for _, p := range must(apitest.List[*corev1.Pod](s, pods, ""))(t) {
			want[p.Namespace+"/"+p.Name] = p.ResourceVersion
		}
		if len(want) == 0 {
			t.Fatal("the server is empty")
		}
		for i, c := range copies {
			diff(t, fmt.Sprint("copy ", i), want, c)
		}
	})
}

// follow keeps a copy by watching from the last resource version again and again.
func follow(ctx context.Context, t *testing.T, s *apitest.Server) map[string]string {
	src := apitest.Source[*corev1.Pod](s, pods, "")
	objects, rv := map[string]string{}, "1"
	for {
		stream, err := src.Watch(ctx, metav1.ListOptions{ResourceVersion: rv, AllowWatchBookmarks: true})
		for err == nil {
			var events []listwatch.Event[*corev1.Pod]
			if events, err = stream.Next(ctx); err != nil {
				stream.Stop()
				break
			}
			for _, ev := range events {
				rv = ev.Item.ResourceVersion
				switch ev.Type {
				case listwatch.Added, listwatch.Modified:
					objects[ev.Item.Key] = rv
				case listwatch.Deleted:
					delete(objects, ev.Item.Key)
				}
			}
		}
		if ctx.Err() != nil {
			return objects
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("watch from %s: %v", rv, err)
			return objects
		}
	}
}

func TestStoppedWatchesLeaveNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine stays
		s := newServer(t, apitest.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		for range 100 {
			w := must(s.ListerWatcher(pods, "").WatchWithContext(ctx, metav1.ListOptions{}))(t)
			stopped := must(s.ListerWatcher(pods, "").Watch(metav1.ListOptions{}))(t)
			stopped.Stop()
			stopped.Stop()
			_ = w
		}
		synctest.Wait()
		diff(t, "open", 100, s.OpenWatches("pods"))
		create(t, s, pod("ns", "a")) // nobody reads it
		cancel()
		synctest.Wait()
		diff(t, "open", 0, s.OpenWatches(""))
	})
}
