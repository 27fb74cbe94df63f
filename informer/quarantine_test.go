package informer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

// quarantined is "key reason" for each entry.
func quarantined(inf *informer.Informer[object]) []string {
	var words []string
	for _, q := range inf.Status().Quarantined {
		words = append(words, strings.TrimSpace(fmt.Sprint(q.Key, " ", q.Reason, " ", q.Index)))
	}
	return words
}

// One object that can't be decoded must not stop the others: it is reported, and repaired when it changes.
func TestUndecodableObjectIsQuarantined(t *testing.T) {
	inListModes(t, func(w *world) {
		w.create(cm("good1", "1"), cm("bad", "1"), cm("good2", "1"))
		fault := w.server.Inject(apitest.Fault{Undecodable: []string{"default/bad"}})
		var rec recorder
		h := w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.synced()
		w.must(h.WaitSynced(w.ctx))
		if w.inf.Len() != 2 {
			w.Errorf("%d objects, want the two good ones", w.inf.Len())
		}
		expect(w, quarantined(w.inf), "default/bad decode")
		q := w.inf.Status().Quarantined[0]
		if q.Err == nil || q.Since.IsZero() {
			w.Errorf("no reason or time: %+v", q)
		}
		w.update("good1", "2")
		time.Sleep(time.Second)
		w.update("bad", "still")
		w.settle()
		if again := w.inf.Status().Quarantined[0]; !again.Since.Equal(q.Since) {
			w.Error("Since moved though it was bad all the time")
		}
		if obj, _ := w.inf.Get("default/good1"); obj.Data["v"] != "2" {
			w.Error("the good ones are not current")
		}
		fault.Remove()
		rec.take()
		w.update("bad", "repaired")
		w.settle()
		expect(w, quarantined(w.inf))
		expect(w, rec.take(), "Added bad=repaired")
		w.equalsServer()
	})
}

func TestWrongTypeIsAnErrorAndNoPanic(t *testing.T) {
	inListModes(t, func(w *world) {
		w.create(cm("good", "1"), cm("wrong", "1"))
		w.server.Inject(apitest.Fault{WrongType: []string{"default/wrong"}})
		w.synced()
		expect(w, quarantined(w.inf), "default/wrong decode")
		if w.inf.Len() != 1 {
			w.Errorf("%d objects", w.inf.Len())
		}
	})
}

// An error in a transform, lost once, must not leave the object wrong until it changes again without anyone knowing.
func TestTransformThatFailsOrPanicsQuarantines(t *testing.T) {
	failing := ""
	opts := options{Transform: func(obj object) (object, error) {
		switch obj.Data["v"] {
		case "error":
			return nil, errors.New("on purpose " + failing)
		case "panic":
			panic("on purpose")
		}
		return obj, nil
	}}
	inWorld(t, opts, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"), cm("c", "error"))
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.synced()
		w.settle()
		expect(t, quarantined(w.inf), "default/c transform")
		rec.take()
		w.update("a", "error")
		w.update("b", "panic")
		w.settle()
		expect(t, quarantined(w.inf), "default/a transform", "default/b transform", "default/c transform")
		if obj, ok := w.inf.Get("default/a"); !ok || obj.Data["v"] != "1" {
			t.Error("the last good state should stay")
		}
		expect(t, rec.take())
		w.relist(func() {}) // listed again: still bad, still there
		if obj, ok := w.inf.Get("default/a"); !ok || obj.Data["v"] != "1" {
			t.Error("the last good state should stay through a relist")
		}
		expect(t, rec.take())
		w.update("a", "2")
		w.delete("b", "c")
		w.settle()
		expect(t, quarantined(w.inf))
		// The final state of b is bad, so the handler gets the last good one, marked.
		expect(t, rec.take(), "Updated a=1>2", "Deleted b=1 lost")
		w.equalsServer()
	})
}

func TestTransformIsCalledOncePerObjectTakenIn(t *testing.T) {
	for name, mode := range listModes {
		t.Run(name, func(t *testing.T) {
			calls := map[string]int{}
			opts := options{Reflector: mode, Transform: func(obj object) (object, error) {
				calls[obj.Name+"="+obj.Data["v"]]++
				return obj, nil
			}}
			inWorld(t, opts, func(w *world) {
				w.create(cm("a", "1"), cm("b", "1"), cm("c", "1"))
				w.synced()
				w.update("a", "2")
				w.delete("b")
				w.settle()
				w.relist(func() { w.update("c", "2") })
				want := map[string]int{"a=1": 1, "b=1": 2, "c=1": 1, "a=2": 1, "c=2": 1} // b's final state is received too
				for state, n := range want {
					if calls[state] != n {
						w.Errorf("%s: %d calls, want %d", state, calls[state], n)
					}
				}
				if len(calls) != len(want) {
					w.Errorf("calls: %v", calls)
				}
			})
		})
	}
}

func TestTransformDropsObjects(t *testing.T) {
	for name, mode := range listModes {
		t.Run(name, func(t *testing.T) {
			opts := options{Reflector: mode, Transform: informer.Keep(func(obj object) bool { return obj.Data["v"] != "unwanted" })}
			inWorld(t, opts, func(w *world) {
				w.create(cm("a", "1"), cm("b", "unwanted"))
				var rec recorder
				w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
				w.synced()
				w.update("a", "unwanted")
				w.update("b", "wanted")
				w.update("a", "again")
				w.settle()
				w.relist(func() { w.update("b", "unwanted") })
				expect(w, rec.take(), "Added a=1 initial", "Deleted a=1 lost", "Added b=wanted", "Added a=again", "Deleted b=wanted lost")
				expect(w, quarantined(w.inf))
			})
		})
	}
}

func TestKeyFunctionThatFailsQuarantines(t *testing.T) {
	opts := options{Key: func(obj object) (string, error) {
		switch obj.Data["v"] {
		case "error":
			return "", errors.New("no key for you")
		case "panic":
			panic("no key")
		case "empty":
			return "", nil
		}
		return "own/" + obj.Name, nil
	}}
	inWorld(t, opts, func(w *world) {
		w.create(cm("a", "1"), cm("b", "error"), cm("c", "panic"), cm("d", "empty"))
		w.synced()
		if _, ok := w.inf.Get("own/a"); !ok || w.inf.Len() != 1 {
			t.Error("the good object is not under its key")
		}
		expect(t, quarantined(w.inf), "default/b key", "default/c key", "default/d key")
	})
}

// An index function that fails leaves the object stored, but out of that index, and says so.
func TestIndexFunctionThatFailsIsReported(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "bad"), cm("b", "1"))
		byValue := informer.AddIndex(w.inf, "ok", func(obj object) []string { return []string{obj.Data["v"]} })
		fails := informer.AddIndex(w.inf, "fails", func(obj object) ([]string, error) {
			if obj.Data["v"] == "bad" {
				return nil, errors.New("odd object")
			}
			return []string{obj.Data["v"]}, nil
		})
		panics := informer.AddIndex(w.inf, "panics", func(obj object) []string {
			if obj.Data["v"] == "bad" {
				panic("odd object")
			}
			return []string{obj.Data["v"]}
		})
		w.synced()
		s := w.inf.Snapshot()
		if _, ok := s.Get("default/a"); !ok || byValue.Count(s, "bad") != 1 || fails.Count(s, "bad") != 0 || panics.Count(s, "1") != 1 {
			t.Error("stored and indexed wrongly")
		}
		expect(t, quarantined(w.inf), "default/a index fails", "default/a index panics")
		w.update("a", "good")
		w.settle()
		s = w.inf.Snapshot()
		if fails.Count(s, "good") != 1 || panics.Count(s, "good") != 1 {
			t.Error("not repaired by the next good version")
		}
		expect(t, quarantined(w.inf))
		w.delete("a")
		w.settle()
		if n := fails.Count(w.inf.Snapshot(), "good"); n != 0 {
			t.Errorf("%d objects left in the index", n)
		}
	})
}

// An object that can't even be named is an error of the stream: going on would lose its change.
func TestObjectWithoutNameListsAgain(t *testing.T) {
	f := newFunnel(cm("a", "1"))
	f.run(t, options{}, func(inf *informer.Informer[object]) {
		synctest.Wait()
		lists := inf.Status().Reflector.Lists
		f.send(listwatch.Event[object]{Type: listwatch.Modified, Item: listwatch.BadItem[object]("", "u", "11", errors.New("garbage"))})
		time.Sleep(time.Minute)
		synctest.Wait()
		s := inf.Status().Reflector
		if s.Lists != lists+1 {
			t.Errorf("%d lists after it, want one more than %d", s.Lists, lists)
		}
		if s.ResourceVersion == "11" {
			t.Error("the resource version went past the lost change")
		}
	})
}

func TestStripTransforms(t *testing.T) {
	full := func() metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Name:          "a",
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
			Annotations:   map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "kept": "yes"},
		}
	}
	strip := informer.Chain(
		informer.StripManagedFields[metav1.Object](),
		informer.StripAnnotations[metav1.Object]("kubectl.kubernetes.io/last-applied-configuration", "absent"),
	)
	custom := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"x": int64(1)}}}
	meta := full()
	custom.SetName("a")
	custom.SetManagedFields(meta.ManagedFields)
	custom.SetAnnotations(meta.Annotations)
	for name, obj := range map[string]metav1.Object{
		"typed":        &corev1.Pod{ObjectMeta: full(), Spec: corev1.PodSpec{NodeName: "n"}},
		"metadata":     &metav1.PartialObjectMetadata{ObjectMeta: full()},
		"unstructured": custom,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := strip(obj)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.GetManagedFields()) != 0 || len(got.GetAnnotations()) != 1 || got.GetAnnotations()["kept"] != "yes" || got.GetName() != "a" {
				t.Errorf("stripped: %+v", got)
			}
			if len(obj.GetManagedFields()) != 1 || len(obj.GetAnnotations()) != 2 {
				t.Error("the object received was changed")
			}
			again, err := strip(got)
			if err != nil || again != got {
				t.Error("the second application is not a no-op")
			}
		})
	}
	only := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"x": ""}}}
	if got, _ := informer.StripAnnotations[*corev1.Pod]("x")(only); got.Annotations != nil {
		t.Error("an empty map is left behind")
	}
	drops := informer.Chain(informer.Keep(func(*corev1.Pod) bool { return false }), func(*corev1.Pod) (*corev1.Pod, error) {
		t.Error("called after a drop")
		return nil, nil
	})
	if _, err := drops(only); !errors.Is(err, informer.ErrDrop) {
		t.Errorf("error is %v", err)
	}
}
