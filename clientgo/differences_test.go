package clientgo_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/clientgo"
	"github.com/informerkit/informerkit/informer"
)

// What handlers are told by our informers and by client-go's, where it is the same and where docs/migration.md says that it is not.
func TestWhatDiffersFromClientGosInformers(t *testing.T) {
	for name, c := range map[string]struct {
		list         []corev1.ConfigMap         // of the first list
		watch        func(w *watch.FakeWatcher) // after it
		relist       []corev1.ConfigMap         // of the second; nil: there is none
		theirs, ours []string                   // told after the first list
	}{
		"a relist that finds all as it was": {
			list: []corev1.ConfigMap{at("a", "uid-a", "5")}, relist: []corev1.ConfigMap{at("a", "uid-a", "5")},
			theirs: []string{"update a=5 a=5"},
			ours:   nil,
		},
		"a relist that finds a change": {
			list: []corev1.ConfigMap{at("a", "uid-a", "5")}, relist: []corev1.ConfigMap{at("a", "uid-a", "6")},
			theirs: []string{"update a=5 a=6"},
			ours:   []string{"update a=5 a=6"},
		},
		"a relist that lacks an object": {
			list: []corev1.ConfigMap{at("a", "uid-a", "5")}, relist: []corev1.ConfigMap{},
			theirs: []string{"tombstone default/a a=5"},
			ours:   []string{"tombstone default/a a=5"},
		},
		"deleted and made again unseen": {
			list: []corev1.ConfigMap{at("a", "uid-a", "5")}, relist: []corev1.ConfigMap{at("a", "uid-b", "7")},
			theirs: []string{"update a=5 a=7"},
			ours:   []string{"update a=5 a=7"},
		},
		"an older state comes late": {
			list: []corev1.ConfigMap{at("a", "uid-a", "5")},
			watch: func(w *watch.FakeWatcher) {
				older := at("a", "uid-a", "4")
				w.Modify(&older)
			},
			theirs: []string{"update a=5 a=4"},
			ours:   nil,
		},
		"changes in a row": {
			watch: func(w *watch.FakeWatcher) {
				for _, rv := range []string{"11", "12"} {
					a := at("a", "uid-a", rv)
					w.Modify(&a)
				}
				last := at("a", "uid-a", "13")
				w.Delete(&last)
			},
			theirs: []string{"add a=11 false", "update a=11 a=12", "delete a=13"},
			ours:   []string{"add a=11 false", "update a=11 a=12", "delete a=13"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			expect(t, tell(t, cache.NewSharedIndexInformer, c.list, c.watch, c.relist), c.theirs...)
			expect(t, tell(t, clientgo.NewInformer, c.list, c.watch, c.relist), c.ours...)
		})
	}
}

// at is an object whose value is its resource version.
func at(name, uid, rv string) corev1.ConfigMap {
	obj := cm(name, rv)
	obj.UID, obj.ResourceVersion = types.UID(uid), rv
	return *obj
}

// tell gives what a handler of an informer is told after the first list.
func tell(
	t *testing.T,
	newInformer func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer,
	list []corev1.ConfigMap, script func(*watch.FakeWatcher), relist []corev1.ConfigMap,
) (got []string) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		watches := make(chan *watch.FakeWatcher, 1)
		lw := &cache.ListWatch{
			ListFunc: func(metav1.ListOptions) (runtime.Object, error) {
				lists++
				if lists == 1 {
					return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: list}, nil
				}
				return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "20"}, Items: relist}, nil
			},
			WatchFunc: func(o metav1.ListOptions) (watch.Interface, error) {
				if o.SendInitialEvents != nil {
					return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), "", nil)
				}
				w := watch.NewFake()
				watches <- w
				return w, nil
			},
		}
		i := newInformer(lw, &corev1.ConfigMap{}, 0, cache.Indexers{})
		var told words
		if _, err := i.AddEventHandler(told.handler()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			i.RunWithContext(ctx)
		}()
		w := <-watches
		synctest.Wait()
		told.take()
		if script != nil {
			script(w)
		}
		if relist != nil {
			w.Error(&apierrors.NewResourceExpired("too old").ErrStatus)
			<-watches
			if lists != 2 {
				t.Errorf("%d lists, want 2", lists)
			}
		}
		synctest.Wait()
		got = told.take()
		cancel()
		<-ended
	})
	return got
}

// A handler with the latest state only is not told of an object that came and went while it was busy. Who creates objects and waits
// to be told when they are gone wants every change.
func TestLatestStateDoesNotTellWhatCameAndWent(t *testing.T) {
	for delivery, want := range map[string][]string{
		"every change": {"add b=1 true", "add a=1 false", "delete a=1"},
		"latest state": {"add b=1 true"},
	} {
		t.Run(delivery, func(t *testing.T) {
			opts := clientgo.Options{}
			if delivery == "latest state" {
				opts.Engine.Delivery = informer.LatestState
			}
			inBubble(t, opts, func(b *bench) {
				b.must(apitest.Create(b.server, cm("b", "1")))
				var told words
				recording, free := told.handler(), make(chan struct{})
				b.must(b.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
					AddFunc: func(obj any, initial bool) {
						recording.OnAdd(obj, initial)
						<-free
					},
					DeleteFunc: recording.OnDelete,
				}))
				b.start()
				b.must(apitest.Create(b.server, cm("a", "1")))
				synctest.Wait()
				b.must(apitest.Delete(b.server, cm("a", "")))
				synctest.Wait()
				close(free)
				synctest.Wait()
				expect(t, told.take(), want...)
			})
		})
	}
}
