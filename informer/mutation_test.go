package informer_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/informerkit/informerkit/informer"
)

// Honest changes replace objects: they are not reported, however often samples are drawn.
func TestMutationCheckIsSilentAboutHonestChanges(t *testing.T) {
	inWorld(t, options{}, func(w *world) {
		w.create(cm("a", "1"), cm("b", "1"))
		w.synced()
		ctx, cancel := context.WithCancel(w.ctx)
		done := make(chan error)
		go func() {
			done <- w.inf.CheckMutations(ctx, informer.MutationCheckOptions{
				Found: func(m informer.Mutation) { t.Errorf("found %+v", m) }, Period: time.Second, Share: 1,
			})
		}()
		for n := range 20 {
			w.update("a", fmt.Sprint(n))
			w.delete("b")
			time.Sleep(700 * time.Millisecond)
			w.create(cm("b", fmt.Sprint(n)))
		}
		cancel()
		w.must(<-done)
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
