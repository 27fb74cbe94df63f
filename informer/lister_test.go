package informer_test

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/informerkit/informerkit/informer"
)

func TestListerGet(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"))
		l := informer.NewLister(w.inf, informer.ListerOptions[object]{Resource: configmaps.GroupResource()})
		w.synced()
		obj, err := l.Get("default", "a")
		w.must(err)
		if stored, _ := w.inf.Get("default/a"); obj != stored {
			t.Error("not the stored object")
		}
		_, err = l.Get("default", "b")
		if !apierrors.IsNotFound(err) || err.Error() != `configmaps "b" not found` {
			t.Errorf("error is %v", err)
		}
		if _, err := l.Get("", "a"); !apierrors.IsNotFound(err) {
			t.Errorf("without the namespace: %v", err)
		}
	})
}

// With and without a label index, through updates, a list is what matching object by object gives.
func TestListerListsWhatTheSelectorMatches(t *testing.T) {
	selectors := []string{
		"", "app=a", "app==a,tier=front", "app!=a", "app in (a,b)", "app notin (a,b)", "app", "!app", "app,!tier",
		"size>2", "size<5,app", "app=absent", "app!=absent", "tier=front,app notin (b),size",
	}
	for _, noIndex := range []bool{false, true} {
		t.Run(fmt.Sprintf("noindex=%t", noIndex), func(t *testing.T) {
			inWorld(t, options{}, func(w *world) {
				l := informer.NewLister(w.inf, informer.ListerOptions[object]{NoLabelIndex: noIndex})
				w.synced()
				r := newRand(1)
				for range 300 {
					set := ""
					for key, values := range map[string][]string{"app": {"a", "b", "c"}, "tier": {"front", "back"}, "size": {"1", "3", "7", "x"}} {
						if n := r.IntN(len(values) + 1); n < len(values) {
							set += key + "=" + values[n] + ","
						}
					}
					obj := labelled(fmt.Sprint("ns", r.IntN(3)), fmt.Sprint("o", r.IntN(40)), fmt.Sprint(r.IntN(1000)), trim(set))
					w.put(obj)
				}
				w.settle()
				for _, text := range selectors {
					selector, err := labels.Parse(text)
					w.must(err)
					for _, namespace := range []string{"", "ns1", "absent"} {
						var got, want []string
						for key, obj := range l.List(namespace, selector) {
							if stored, _ := w.inf.Get(key); stored != obj {
								t.Errorf("%s is not the stored object", key)
							}
							got = append(got, key)
						}
						for key, obj := range w.inf.Snapshot().All() {
							if (namespace == "" || obj.Namespace == namespace) && selector.Matches(labels.Set(obj.Labels)) {
								want = append(want, key)
							}
						}
						slices.Sort(got)
						slices.Sort(want)
						if !slices.Equal(got, want) {
							t.Errorf("selector %q in %q: got %v, want %v", text, namespace, got, want)
						}
						if n := len(l.Slice(namespace, selector)); n != len(want) {
							t.Errorf("selector %q in %q: slice of %d, want %d", text, namespace, n, len(want))
						}
					}
				}
				if n := len(l.Slice("", labels.Nothing())); n != 0 {
					t.Errorf("the selector of nothing matches %d", n)
				}
				before := len(l.Slice("ns1", nil))
				l.Close()
				if after := len(l.Slice("ns1", nil)); before == 0 || after != before {
					t.Errorf("after Close: %d objects, before: %d", after, before)
				}
			})
		})
	}
}

func trim(s string) string {
	if s == "" {
		return s
	}
	return s[:len(s)-1]
}

func TestListerCopiesOnReadWhenAsked(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"))
		l := informer.NewLister(w.inf, informer.ListerOptions[object]{Copy: object.DeepCopy})
		w.synced()
		got, err := l.Get("default", "a")
		w.must(err)
		got.Data["v"] = "changed"
		for _, obj := range l.List("default", nil) {
			if obj.Data["v"] != "1" {
				t.Error("a reader's change shows")
			}
			obj.Data["v"] = "changed"
		}
		if stored, _ := w.inf.Get("default/a"); stored.Data["v"] != "1" {
			t.Error("a reader's change reached the store")
		}
	})
}
