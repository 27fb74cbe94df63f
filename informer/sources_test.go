package informer_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/listwatch"
)

// labelled is an object of a namespace with labels "k=v,…".
func labelled(namespace, name, value, set string) object {
	obj := cm(name, value)
	obj.Namespace = namespace
	obj.Labels, _ = labels.ConvertSelectorToLabelsMap(set)
	return obj
}

func selected(s *apitest.Server, selector string) listwatch.Source[object] {
	return narrowed(apitest.Source[object](s, configmaps, ""), selector)
}

func narrowed(from listwatch.Source[object], selector string) listwatch.Source[object] {
	sel, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	return listwatch.Narrow(from, sel, nil)
}

// inUnion runs a test with an informer over the objects labelled x and those labelled y.
func inUnion(t *testing.T, test func(w *world, rec *recorder)) {
	t.Helper()
	none := func(*apitest.Server) listwatch.Source[object] { return nil }
	inServer(t, apitest.Options{}, none, options{Name: "maps"}, func(w *world) {
		w.must(w.inf.AddSource("x", selected(w.server, "x")))
		w.must(w.inf.AddSource("y", selected(w.server, "y")))
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		test(w, &rec)
	})
}

func (w *world) put(obj object) {
	w.Helper()
	if _, err := apitest.Update(w.server, obj); apierrors.IsNotFound(err) {
		_, err = apitest.Create(w.server, obj)
		w.must(err)
	} else {
		w.must(err)
	}
}

// rest waits for everything under way.
func rest() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func TestObjectInTwoSourcesIsThereOnceAndGoneWhenGoneFromBoth(t *testing.T) {
	inUnion(t, func(w *world, rec *recorder) {
		w.put(labelled("default", "a", "1", "x=1,y=1"))
		w.put(labelled("default", "b", "1", "x=1"))
		w.put(labelled("default", "c", "1", "z=1"))
		w.synced()
		synctest.Wait()
		got := rec.take()
		slices.Sort(got)
		expect(t, got, "Added a=1 initial", "Added b=1 initial")
		w.put(labelled("default", "a", "2", "y=1")) // leaves x, stays in y
		rest()
		got = rec.take()
		if len(got) == 0 || slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "Deleted") }) {
			t.Errorf("leaving one of two selectors: %q", got)
		}
		if obj, ok := w.inf.Get("default/a"); !ok || obj.Data["v"] != "2" {
			t.Error("not current")
		}
		w.put(labelled("default", "a", "3", "z=1")) // leaves y as well
		rest()
		if got := rec.take(); len(got) != 1 || !strings.HasPrefix(got[0], "Deleted a") {
			t.Errorf("leaving the last selector: %q", got)
		}
		if w.inf.Len() != 1 {
			t.Errorf("%d objects", w.inf.Len())
		}
	})
}

// A source that lags tells of a deletion when another one has brought the object's successor: it does not have that one.
func TestSourceThatLagsDoesNotHoldASuccessor(t *testing.T) {
	none := func(*apitest.Server) listwatch.Source[object] { return nil }
	inServer(t, apitest.Options{}, none, options{}, func(w *world) {
		w.must(w.inf.AddSource("x", selected(w.server, "x")))
		w.put(labelled("default", "a", "1", "x=1,y=1"))
		w.synced()
		w.server.Inject(apitest.Fault{Verb: "watch", EventDelay: 10 * time.Second})
		w.must(w.inf.AddSource("y", selected(w.server, "y")))
		time.Sleep(time.Minute) // for its list
		w.delete("a")
		w.put(labelled("default", "a", "2", "x=1"))
		time.Sleep(time.Minute) // for what y has to say
		w.delete("a")
		time.Sleep(time.Minute)
		synctest.Wait()
		if obj, ok := w.inf.Get("default/a"); ok {
			t.Errorf("a=%s is still there", describe(obj))
		}
	})
}

func TestRelistOfOneSourceTouchesItsObjectsOnly(t *testing.T) {
	inUnion(t, func(w *world, rec *recorder) {
		w.put(labelled("default", "onlyx", "1", "x=1"))
		w.put(labelled("default", "onlyy", "1", "y=1"))
		w.put(labelled("default", "both", "1", "x=1,y=1"))
		w.synced()
		synctest.Wait()
		rec.take()
		before, _ := w.inf.Get("default/onlyx")
		w.server.Inject(apitest.Fault{Verb: "watch", Times: 1, Error: apierrors.NewResourceExpired("too old")})
		w.server.LoseEvents(func() {
			_, err := apitest.Delete(w.server, labelled("default", "onlyy", "", ""))
			w.must(err)
			_, err = apitest.Delete(w.server, labelled("default", "both", "", ""))
			w.must(err)
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		got := rec.take()
		slices.Sort(got)
		expect(t, got, "Deleted both=1 lost", "Deleted onlyy=1 lost")
		if after, _ := w.inf.Get("default/onlyx"); after != before {
			t.Error("an unchanged object lost its pointer")
		}
	})
}

func TestSourcesComeAndGoWhileRunning(t *testing.T) {
	inUnion(t, func(w *world, rec *recorder) {
		w.put(labelled("default", "x", "1", "x=1"))
		w.put(labelled("default", "y", "1", "y=1"))
		w.put(labelled("default", "z", "1", "z=1"))
		w.put(labelled("default", "yz", "1", "y=1,z=1"))
		w.synced()
		synctest.Wait()
		rec.take()
		w.must(w.inf.AddSource("z", selected(w.server, "z")))
		if err := w.inf.AddSource("z", selected(w.server, "z")); err == nil || !strings.Contains(err.Error(), `"z"`) {
			t.Errorf("adding a name twice: %v", err)
		}
		rest()
		expect(t, rec.take(), "Added z=1")
		w.must(w.inf.RemoveSource(w.ctx, "y"))
		synctest.Wait()
		expect(t, rec.take(), "Deleted y=1 lost")
		if err := w.inf.RemoveSource(w.ctx, "y"); !errors.Is(err, informer.ErrNoSource) {
			t.Errorf("removing what is not there: %v", err)
		}
		if n := w.server.OpenWatches(""); n != 2 {
			t.Errorf("%d open watches, want 2", n)
		}
		w.put(labelled("default", "y", "2", "y=1"))
		rest()
		expect(t, rec.take())
		var names []string
		for _, s := range w.inf.Status().Sources {
			names = append(names, s.Name)
		}
		expect(t, names, "x", "z")
	})
}

func TestOnlySourceMayBecomeOneOfSeveral(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.put(labelled("default", "a", "1", ""))
		w.put(labelled("default", "b", "1", "x=1"))
		var rec recorder
		w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
		w.synced()
		w.must(w.inf.AddSource("x", selected(w.server, "x")))
		rest()
		rec.take()
		w.must(w.inf.RemoveSource(w.ctx, ""))
		synctest.Wait()
		expect(t, rec.take(), "Deleted a=1 lost")
		w.must(w.inf.RemoveSource(w.ctx, "x"))
		synctest.Wait()
		expect(t, rec.take(), "Deleted b=1 lost")
		w.must(w.inf.AddSource("all", apitest.Source[object](w.server, configmaps, "")))
		rest()
		got := rec.take()
		slices.Sort(got)
		expect(t, got, "Added a=1", "Added b=1")
		w.equalsServer()
	})
}

// One source that can't list is named; the other is usable.
func TestSourceThatFailsIsNamedAndTheOtherWorks(t *testing.T) {
	inUnion(t, func(w *world, rec *recorder) {
		w.put(labelled("default", "a", "1", "x=1"))
		w.must(w.inf.RemoveSource(w.ctx, "y"))
		w.must(w.inf.AddSource("denied", failingSource{apierrors.NewForbidden(configmaps.GroupResource(), "", errors.New("no role"))}))
		w.run()
		ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
		defer cancel()
		err := w.inf.WaitSynced(ctx)
		var notSynced *informer.NotSyncedError
		if !errors.As(err, &notSynced) || notSynced.Source != "denied" || !apierrors.IsForbidden(err) {
			t.Errorf("error is %v", err)
		}
		if _, ok := w.inf.Get("default/a"); !ok {
			t.Error("the source that works is not usable")
		}
		for _, s := range w.inf.Status().Sources {
			if want := s.Name == "x"; s.Synced != want {
				t.Errorf("source %s: synced %t", s.Name, s.Synced)
			}
		}
		w.must(w.inf.RemoveSource(w.ctx, "denied"))
		w.must(w.inf.WaitSynced(w.ctx)) // those that are left have listed
	})
}

type failingSource struct{ err error }

func (f failingSource) List(context.Context, listOptions) (listwatch.Page[object], error) {
	return listwatch.Page[object]{}, f.err
}

func (f failingSource) Watch(context.Context, listOptions) (listwatch.Stream[object], error) {
	return nil, f.err
}

// With many namespaces under churn and sources coming and going, the union is what the sources have.
func TestUnionEqualsItsSources(t *testing.T) {
	for seed := range 20 {
		none := func(*apitest.Server) listwatch.Source[object] { return nil }
		inServer(t, apitest.Options{Seed: uint64(seed)}, none, options{}, func(w *world) {
			r := newRand(seed)
			present := map[string]bool{}
			var rec recorder
			w.inf.AddHandler(rec.handler(), informer.HandlerOptions{})
			w.run()
			for range 200 {
				switch name := fmt.Sprint("l", r.IntN(4)); r.IntN(12) {
				case 0:
					if present[name] {
						w.must(w.inf.RemoveSource(w.ctx, name))
					} else {
						w.must(w.inf.AddSource(name, selected(w.server, name)))
					}
					present[name] = !present[name]
				case 1:
					w.server.CloseWatches("", nil)
				case 2:
					w.server.Compact()
					w.server.CloseWatches("", errors.New("cut"))
				case 3:
					rest()
				default:
					var set []string
					for n := range 4 {
						if r.IntN(2) == 0 {
							set = append(set, fmt.Sprintf("l%d=1", n))
						}
					}
					w.put(labelled("default", fmt.Sprint("o", r.IntN(10)), fmt.Sprint(r.IntN(100)), strings.Join(set, ",")))
				}
			}
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			want := map[string]string{}
			objs, err := apitest.List[object](w.server, configmaps, "")
			w.must(err)
			for _, obj := range objs {
				for label := range obj.Labels {
					if present[label] {
						want[obj.Namespace+"/"+obj.Name] = describe(obj)
					}
				}
			}
			got := map[string]string{}
			for key, obj := range w.inf.Snapshot().All() {
				got[key] = describe(obj)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("seed %d: store has %v, want %v", seed, got, want)
			}
			if told := replay(t, rec.events); fmt.Sprint(told) != fmt.Sprint(want) {
				t.Errorf("seed %d: handler was told %v, want %v", seed, told, want)
			}
		})
	}
}
