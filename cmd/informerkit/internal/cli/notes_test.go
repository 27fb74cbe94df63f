package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

func TestNotes(t *testing.T) {
	status := func(synced bool, r reflector.Status) informer.Status {
		return informer.Status{Synced: synced, Objects: 3, Reflector: r}
	}
	failing := reflector.Status{Phase: reflector.BackingOff, LastError: errors.New("pods: list: no"), Attempts: 4}
	fine := reflector.Status{Phase: reflector.Watching}
	type step struct {
		second int
		status informer.Status
		want   string
	}
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"synced at once", []step{{0, status(false, reflector.Status{Phase: reflector.Listing}), ""}, {1, status(true, fine), ""}, {60, status(true, fine), ""}}},
		{"never synced", []step{
			{0, status(false, failing), ""}, {4, status(false, failing), ""},
			{5, status(false, failing), "pods: not synced after 5s: list: no (4 in a row)"},
			{6, status(false, failing), ""}, {34, status(false, failing), ""},
			{35, status(false, failing), "pods: not synced after 35s: list: no (4 in a row)"},
			{36, status(true, fine), "pods: in step again, 3 objects"},
			{37, status(true, fine), ""},
		}},
		{"slow list", []step{
			{0, status(false, reflector.Status{Phase: reflector.Queued}), ""},
			{5, status(false, reflector.Status{Phase: reflector.Listing, Received: 500, Expected: 12000}), "pods: not synced after 5s: listing, 500 of 12000 objects so far"},
			{35, status(false, reflector.Status{Phase: reflector.Listing, Received: 9000, Expected: -1}), "pods: not synced after 35s: listing, 9000 objects so far"},
			{65, status(false, reflector.Status{Phase: reflector.Queued}), "pods: not synced after 1m5s: queued"},
		}},
		{"short trouble is not worth a word", []step{
			{0, status(true, fine), ""}, {10, status(true, failing), ""}, {14, status(true, failing), ""}, {15, status(true, fine), ""},
			{16, status(true, failing), ""}, {20, status(true, failing), ""},
		}},
		{"lost and found", []step{
			{0, status(true, fine), ""}, {10, status(true, failing), ""},
			{15, status(true, failing), "pods: out of step for 5s: list: no (4 in a row); still trying"},
			{20, status(true, fine), "pods: in step again, 3 objects"},
			{21, status(true, failing), ""},
			{26, status(true, failing), "pods: out of step for 5s: list: no (4 in a row); still trying"},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var n notes
			for _, s := range test.steps {
				if got := n.next("pods", s.status, noon.Add(time.Duration(s.second)*time.Second)); got != s.want {
					t.Errorf("at %d s: got %q, want %q", s.second, got, s.want)
				}
			}
		})
	}
}

func TestNotesAreOneLine(t *testing.T) {
	var n notes
	s := informer.Status{Reflector: reflector.Status{LastError: errors.New("a\n\tb\n")}}
	n.next("pods", s, noon)
	if got := n.next("pods", s, noon.Add(firstNote)); !strings.HasSuffix(got, "a b (0 in a row)") {
		t.Errorf("got %q", got)
	}
}

func TestObjectsLeftOutAreToldOnceForEachReason(t *testing.T) {
	var n notes
	status := func(entries ...informer.Quarantined) informer.Status { return informer.Status{Quarantined: entries} }
	bad := informer.Quarantined{Key: "shop/web-1", Reason: informer.ReasonDecode, Err: errors.New("odd")}
	worse := informer.Quarantined{Key: "shop/web-1", Reason: informer.ReasonDecode, Err: errors.New("odder")}
	other := informer.Quarantined{Key: "shop/web-2", Reason: informer.ReasonKey, Err: errors.New("odd")}
	for i, step := range []struct {
		status informer.Status
		want   string
	}{
		{status(), ""},
		{status(bad), "pods: shop/web-1 is left out (decode): odd"},
		{status(bad, other), "pods: shop/web-2 is left out (key): odd"},
		{status(worse, other), "pods: shop/web-1 is left out (decode): odder"},
		{status(other), ""},
		{status(worse, other), "pods: shop/web-1 is left out (decode): odder"},
	} {
		if got := strings.Join(n.leftOut("pods", step.status), "\n"); got != step.want {
			t.Errorf("step %d: got %q, want %q", i, got, step.want)
		}
	}
}
