package cli

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestFaultsBreakAndHeal(t *testing.T) {
	w, err := newWorld(worldOptions{deployments: 1}, func(string, uint64) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.server.Close()
	kinds := map[string]int{}
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		f := nextFault(r, resourceNames)
		_, kind, _ := strings.Cut(f.text, ": ")
		kinds[strings.TrimRight(strings.Map(dropDigits, kind), ".")]++
		before := w.server.ResourceVersion()
		heal, err := f.begin(w.server, w.work.Step)
		if err != nil {
			t.Fatal(err)
		}
		if (heal != nil) != (f.lasts > 0) {
			t.Errorf("%s: lasts %v, heals: %v", f.text, f.lasts, heal != nil)
		}
		if unseen := strings.Contains(f.text, "unseen"); unseen != (w.server.ResourceVersion() != before) {
			t.Errorf("%s: resource version %s after %s", f.text, w.server.ResourceVersion(), before)
		}
		if heal != nil {
			heal()
		}
	}
	if len(kinds) != 5 {
		t.Errorf("kinds of faults: %v", kinds)
	}
}

func dropDigits(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}
