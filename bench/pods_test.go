package bench

import (
	"encoding/json"
	"testing"
)

func TestPopulationIsRealistic(t *testing.T) {
	p := newPopulation(2 * perNamespace)
	raw, err := json.Marshal(p.pods[7])
	if err != nil {
		t.Fatal(err)
	}
	t.Log(len(raw), len(encode(p.pods[7])))
	if len(raw) < 3<<10 || len(raw) > 5<<10 {
		t.Errorf("a pod has %d bytes of JSON, want 3 to 5 KB", len(raw))
	}
}
