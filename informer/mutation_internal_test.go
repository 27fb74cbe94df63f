package informer

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/store"
)

// A change of a shared object is reported with its key and what was changed. (Here in one goroutine: the change is the data race
// that the check is there to find.)
func TestMutationIsReportedOnceWithItsKey(t *testing.T) {
	inf, err := New[*corev1.Pod](nil, Options[*corev1.Pod]{Name: "pods"})
	if err != nil {
		t.Fatal(err)
	}
	var batch store.Batch[*corev1.Pod]
	for _, name := range []string{"a", "b", "c"} {
		batch.Put(name, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	inf.writer.Commit(&batch)
	all := MutationCheckOptions{Share: 1, Max: 10}
	var found []Mutation
	note := func(m Mutation) { found = append(found, m) }
	sample, err := inf.sample(nil, all)
	if err != nil {
		t.Fatal(err)
	}
	changed, _ := inf.Get("b")
	changed.Labels = map[string]string{"changed": "in place"}
	inf.compare(sample, note)
	if len(found) != 1 || found[0].Key != "b" || found[0].Informer != "pods" || !strings.Contains(found[0].Diff, "in place") {
		t.Errorf("found %+v", found)
	}
	if sample, err = inf.sample(sample[:0], all); err != nil {
		t.Fatal(err)
	}
	if inf.compare(sample, note); len(found) != 1 {
		t.Errorf("one change is reported %d times", len(found))
	}
}

// Samples are bounded, of the asked size, and reach every object in time.
func TestSamplesAreBoundedAndReachEverything(t *testing.T) {
	const objects = 500
	inf, err := New[*corev1.Pod](nil, Options[*corev1.Pod]{})
	if err != nil {
		t.Fatal(err)
	}
	var batch store.Batch[*corev1.Pod]
	for n := range objects {
		name := fmt.Sprint("p", n)
		batch.Put(name, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	inf.writer.Commit(&batch)
	for _, opts := range []MutationCheckOptions{
		{Share: 0.1, Max: 20},  // bounded by Max: 20 of about 50
		{Share: 0.05, Max: 80}, // not bounded: about 25
		{Share: 1, Max: 25},
	} {
		seen := map[string]int{}
		total := 0
		var sample []sampled[*corev1.Pod]
		for range 200 {
			if sample, err = inf.sample(sample[:0], opts); err != nil {
				t.Fatal(err)
			}
			if len(sample) > opts.Max {
				t.Fatalf("%+v: a sample of %d", opts, len(sample))
			}
			total += len(sample)
			inThis := map[string]bool{}
			for _, s := range sample {
				if inThis[s.key] {
					t.Fatalf("%+v: %s is in one sample twice", opts, s.key)
				}
				inThis[s.key] = true
				if s.original == any(s.obj) {
					t.Fatal("the original is not a copy")
				}
				seen[s.key]++
			}
		}
		if mean := total / 200; mean < 15 || mean > 30 {
			t.Errorf("%+v: samples of %d objects on average", opts, mean)
		}
		if len(seen) < objects*95/100 {
			t.Errorf("%+v: only %d of %d objects were ever in a sample", opts, len(seen), objects)
		}
	}
}
