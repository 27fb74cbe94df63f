package bench

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// The names of the contenders.
const (
	typed             = "typed"
	throughCache      = "cache"
	clientGo          = "client-go"
	controllerRuntime = "controller-runtime"
	noCopy            = "controller-runtime-nocopy"
	stateDB           = "statedb"
	memDB             = "memdb"
)

// contenders are all of them, in the order of tables.
var contenders = []string{typed, throughCache, clientGo, controllerRuntime, noCopy, stateDB, memDB}

// Those with a notion of something.
var (
	iterating = []string{typed, throughCache, clientGo, stateDB, memDB}            // client-go makes a slice to iterate over
	slicing   = []string{typed, throughCache, clientGo, controllerRuntime, noCopy} // have lists as slices
	labelling = []string{typed, throughCache, clientGo, controllerRuntime, noCopy} // know what a label selector is
	writing   = []string{typed, throughCache, clientGo, stateDB, memDB}            // can be written to
	following = []string{typed, throughCache, clientGo}                            // are whole informers, and replace all there is
	indexing  = []string{typed, throughCache, clientGo}                            // have an index of labels, and client-go to compare
)

// holder is a contender that holds pods. What it has no notion of is nil; see above. Functions that find several objects visit each, in the
// contender's own way, and return how many there are.
type holder struct {
	get       func(key string) *corev1.Pod // nil: absent
	all       func() int
	slice     func() int // all, as a slice that is the caller's
	namespace func(namespace string) int
	// matching is by label selector; namespace "" is all. It uses an index of labels if the holder was made with one.
	matching func(namespace string, selector labels.Selector) int
	node     func(node string) int

	// One goroutine writes.
	put    func(pod *corev1.Pod)
	remove func(pod *corev1.Pod)
	batch  func(pods []*corev1.Pod) // puts all, as one step where there are steps
	// replace makes pods all there is, and returns how many changes that told of; -1: it does not tell.
	replace func(pods []*corev1.Pod) int

	close func() // nil: nothing to close
}

// newHolders make holders with the pods of a population, indexed by namespace and node; and by labels if the contender can and
// byLabels says so.
var newHolders = map[string]func(p *population, byLabels bool) (*holder, error){
	typed:        newTyped,
	throughCache: newThroughCache,
	clientGo:     newClientGo,
	controllerRuntime: func(p *population, _ bool) (*holder, error) {
		return newControllerRuntime(p, true)
	},
	noCopy: func(p *population, _ bool) (*holder, error) {
		return newControllerRuntime(p, false)
	},
	stateDB: newStateDB,
	memDB:   newMemDB,
}

// hasLabelIndex tells who makes another holder when asked for an index of labels.
var hasLabelIndex = map[string]bool{typed: true, throughCache: true}

// age deletes a quarter of the pods and adds them again in another order.
func (p *population) age(h *holder) {
	for _, i := range p.aged {
		h.remove(p.pods[i])
	}
	for n := range p.aged {
		h.put(p.pods[p.aged[len(p.aged)-1-n]])
	}
}
