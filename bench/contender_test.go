package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestHoldersAgree: contenders are compared at the same work, so all must give the same answers, which are those of a plain map.
func TestHoldersAgree(t *testing.T) {
	p := newPopulation(2 * perNamespace)
	for _, contender := range contenders {
		for _, byLabels := range []bool{false, true} {
			if byLabels && !hasLabelIndex[contender] {
				continue
			}
			t.Run(fmt.Sprintf("by=%s/labels=%t", contender, byLabels), func(t *testing.T) {
				h, err := newHolders[contender](p, byLabels)
				if err != nil {
					t.Fatal(err)
				}
				if h.close != nil {
					defer h.close()
				}
				model := map[string]*corev1.Pod{}
				for i, pod := range p.pods {
					model[p.keys[i]] = pod
				}
				checkHolder(t, h, p, model, contender, byLabels)
				if !slices.Contains(writing, contender) {
					return
				}
				random := rand.New(rand.NewPCG(3, 4))
				for step := range 300 {
					pod := withState(p.pods[random.IntN(len(p.pods))], uint64(10_000+step))
					pod.Spec.NodeName = p.nodes[random.IntN(len(p.nodes))]
					switch random.IntN(3) {
					case 0:
						h.put(pod)
						model[keyOf(pod)] = pod
					case 1:
						h.remove(pod)
						delete(model, keyOf(pod))
					case 2:
						other := withState(p.pods[random.IntN(len(p.pods))], uint64(20_000+step))
						h.batch([]*corev1.Pod{pod, other})
						model[keyOf(pod)] = pod
						model[keyOf(other)] = other
					}
				}
				checkHolder(t, h, p, model, contender, byLabels)
				if !slices.Contains(following, contender) {
					return
				}
				next := newLists(p).next()
				clear(model)
				for i, pod := range next {
					model[p.keys[i]] = pod
				}
				h.replace(next)
				checkHolder(t, h, p, model, contender, byLabels)
			})
		}
	}
}

// checkHolder compares the answers of h with those of a model.
func checkHolder(t *testing.T, h *holder, p *population, model map[string]*corev1.Pod, contender string, byLabels bool) {
	t.Helper()
	for _, key := range p.keys {
		got, want := h.get(key), model[key]
		if (got == nil) != (want == nil) || got != nil && (got.UID != want.UID || got.ResourceVersion != want.ResourceVersion) {
			t.Fatalf("%s: got %v, want %v", key, got, want)
		}
	}
	count := func(wanted func(pod *corev1.Pod) bool) (n int) {
		for _, pod := range model {
			if wanted(pod) {
				n++
			}
		}
		return n
	}
	same := func(what string, got int, wanted func(pod *corev1.Pod) bool) {
		t.Helper()
		if want := count(wanted); got != want {
			t.Errorf("%s: found %d, want %d", what, got, want)
		}
	}
	all := func(*corev1.Pod) bool { return true }
	if slices.Contains(iterating, contender) {
		same("all", h.all(), all)
	}
	if slices.Contains(slicing, contender) {
		same("slice", h.slice(), all)
	}
	for _, namespace := range p.namespaces {
		same(namespace, h.namespace(namespace), func(pod *corev1.Pod) bool { return pod.Namespace == namespace })
	}
	for _, node := range p.nodes {
		same(node, h.node(node), func(pod *corev1.Pod) bool { return pod.Spec.NodeName == node })
	}
	if !slices.Contains(labelling, contender) || hasLabelIndex[contender] && !byLabels {
		return
	}
	for _, want := range p.templates[:20] {
		matches := func(pod *corev1.Pod) bool { return want.selector.Matches(labels.Set(pod.Labels)) }
		same("selector", h.matching("", want.selector), matches)
		same("selector in namespace", h.matching(want.namespace, want.selector), matches)
	}
}

func TestPopulationIsRealistic(t *testing.T) {
	p := newPopulation(2 * perNamespace)
	raw, err := json.Marshal(p.pods[7])
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) < 3<<10 || len(raw) > 5<<10 {
		t.Errorf("a pod has %d bytes of JSON, want 3 to 5 KB", len(raw))
	}
	nodes, namespaces, templates := map[string]int{}, map[string]int{}, map[string]int{}
	for i, pod := range p.pods {
		nodes[pod.Spec.NodeName]++
		namespaces[pod.Namespace]++
		templates[pod.Namespace+pod.Labels[templateLabel]]++
		if len(pod.Labels) != 7 {
			t.Fatalf("%s has %d labels, want 7", p.keys[i], len(pod.Labels))
		}
		if i > 0 && p.keys[i-1] >= p.keys[i] {
			t.Fatalf("%s comes before %s", p.keys[i-1], p.keys[i])
		}
	}
	each := func(what string, counts map[string]int, kinds, want int) {
		t.Helper()
		if len(counts) != kinds {
			t.Errorf("%d %s, want %d", len(counts), what, kinds)
		}
		for name, n := range counts {
			if n != want {
				t.Errorf("%d pods of %s, want %d", n, name, want)
			}
		}
	}
	each("nodes", nodes, 4, perNode)
	each("namespaces", namespaces, 2, perNamespace)
	each("templates", templates, 200, perTemplate)
}
