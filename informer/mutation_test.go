package informer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/informerkit/informerkit/informer"
)

// A change of a shared object is reported within a period, with its key, and nobody panics.
func TestMutationCheckNamesTheObject(t *testing.T) {
	inWorld(t, options{Name: "maps"}, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"), cm("c", "1"))
		w.synced()
		var found []informer.Mutation
		ctx, cancel := context.WithCancel(w.ctx)
		done := make(chan error)
		go func() {
			done <- w.inf.CheckMutations(ctx, informer.MutationCheckOptions{
				Found: func(m informer.Mutation) { found = append(found, m) }, Period: time.Second, Share: 1,
			})
		}()
		synctest.Wait()
		obj, _ := w.inf.Get("default/b")
		obj.Labels = map[string]string{"changed": "in place"}
		w.update("c", "2") // an honest change
		time.Sleep(time.Second)
		synctest.Wait()
		if len(found) != 1 || found[0].Key != "default/b" || found[0].Informer != "maps" || !strings.Contains(found[0].Diff, "in place") {
			t.Errorf("found %+v", found)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if len(found) != 1 {
			t.Errorf("one change is reported %d times", len(found))
		}
		cancel()
		w.must(<-done)
	})
}

func TestMutationCheckFindsWithASampleInTime(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		for n := range 500 {
			w.create(cm(fmt.Sprint("o", n), "1"))
		}
		w.synced()
		found := map[string]bool{}
		go func() {
			err := w.inf.CheckMutations(w.ctx, informer.MutationCheckOptions{
				Found: func(m informer.Mutation) { found[m.Key] = true }, Period: time.Second, Share: 0.1, Max: 20,
			})
			if err != nil {
				t.Error(err)
			}
		}()
		time.Sleep(time.Second / 2) // between the checks
		for range 100 { // somebody changes everything, all the time
			for _, obj := range w.inf.Snapshot().All() {
				obj.Data["v"] += "x"
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if len(found) < 400 || len(found) > 500 {
			t.Errorf("%d of 500 objects found in 100 samples of up to 20", len(found))
		}
	})
}

func TestMutationCheckOptionsThatCannotBeRight(t *testing.T) {
	inWorld(t, options{Name: "maps"}, func(w *world) {
		nop := func(informer.Mutation) {}
		for _, opts := range []informer.MutationCheckOptions{
			{}, {Found: nop, Share: 2}, {Found: nop, Share: -1}, {Found: nop, Period: -1}, {Found: nop, Max: -1},
		} {
			if err := w.inf.CheckMutations(w.ctx, opts); err == nil || !strings.Contains(err.Error(), "maps") {
				t.Errorf("%+v: %v", opts, err)
			}
		}
	})
}
