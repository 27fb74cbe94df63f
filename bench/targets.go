package bench

import (
	"fmt"
	"strings"
)

// target is what a contender of this module has to reach.
type target struct {
	what                string // in words, as in the table
	workload, contender string
	metric              string  // "": the workload's own
	times               float64 // it needs at most client-go's figure divided by this; 0: atMost counts
	atMost              float64 // it is this at most, whatever client-go's is
	// missed says why, if it is known that it can't be reached on the machine the committed results are from.
	missed string
}

var targets = []target{
	{what: "Get, one reader", workload: "Get/readers=1", contender: typed, times: 1,
		missed: "three reads from memory, each of which has to wait for the one before (the table's entry, the object's cell, the key's bytes). client-go's map waits for as many, " +
			"and its lock costs little while nobody writes. How the two compare depends on how they lie in memory: from 0.9x to 1.2x were seen."},
	{what: "Get, two readers and a writer", workload: "Get/readers=2/writers=1", contender: typed, times: 5,
		missed: "three goroutines share two processors here, and none of them ever rests: with two thirds of a processor a Get takes one and a half times as long as alone. " +
			"The writer writes twice as often as client-go's, meanwhile, and what it writes has to come to the readers' caches."},
	{what: "list all: iterate", workload: "ListAll/as=iterate", contender: typed, times: 15,
		missed: "what is left is reading the cells, 24 bytes per object and 2.4 MB in all, which come from the processor's outer caches. " +
			"How long client-go's copy takes depends on how its map lies in memory: from 0.8 to 4 ms were seen."},
	{what: "list all: slice, through `cache`", workload: "ListAll/as=slice", contender: throughCache, times: 3,
		missed: "most of it is the slice itself, 1.6 MB that are allocated, cleared and written for each list, by both."},
	{what: "namespace of 1,000: iterate", workload: "ListNamespace/select=all", contender: typed, times: 20},
	{what: "namespace of 1,000: through `cache`", workload: "ListNamespace/select=all", contender: throughCache, times: 5},
	{what: "selector matching 10: in a namespace of 1,000", workload: "ListNamespace/select=10", contender: typed, times: 100},
	{what: "selector matching 10: over all", workload: "ListAll/select=10", contender: typed, times: 5000},
	{what: "by index, 500 objects", workload: "ByIndex/objects=500", contender: typed, times: 20,
		missed: "the 500 objects of a node lie on as many cache lines, each of which has to come from memory: 12 ns per object, all of it waiting."},
	{what: "by index, 500 objects: through `cache`", workload: "ByIndex/objects=500", contender: throughCache, times: 5,
		missed: "as above, and the slice to return."},
	{what: "update, same index values", workload: "Update/values=same", contender: typed, times: 2,
		missed: "two thirds of the time (`touch`, `getRef`, `columns.get`) are the look-up of the key: three reads from memory, each of which has to wait for the one before " +
			"(the table's entry, the object's cell, the key's bytes). What one takes is said at the top. client-go's map waits for as many; what else it does, this module " +
			"saves. Its key (`ObjectKey`) and its index values each of them makes. An update of what is in the caches takes 0.2 µs."},
	{what: "update, changed index values", workload: "Update/values=changed", contender: typed, times: 2,
		missed: "almost half of the time is the look-up of the key, as above, and a quarter (`cut`, `insert`, `ownBlock`, `apply`) takes the object from one set of the index " +
			"to another, which client-go's maps of maps do with fewer reads and more memory."},
	{what: "add and delete", workload: "DeleteAdd", contender: typed, times: 2,
		missed: "a third of the time is the look-up of the key, as above, and a third takes the object out of both indexes and puts it in again."},
	{what: "batch of 1,000", workload: "Batch/objects=1000", contender: typed, times: 3,
		missed: "half of the time (`ObjectKey`, `keyOf`, the index functions `newTyped.func*`, and comparing what they return in `has`) is reading the 1,000 pods that are put, " +
			"their names and what is indexed, which client-go has to as well. The look-ups, that of 32 keys side by side, are a third."},
	{what: "write p99 while two readers list", workload: "WriteLatency/listers=2", contender: typed, times: 1000,
		missed: "what the writer waits for is a processor: two readers that list without rest have both."},
	{what: "longest Get during a replacement of everything", workload: "ReplaceAll/changed=1%/readers=1", contender: typed, times: 1000,
		missed: "no Get waits for the replacement; the longest of some thousands is the one that the scheduler or the machine interrupted."},
	{what: "events to 1 handler", workload: "Events/handlers=1", contender: typed, times: 2,
		missed: "with one handler it sleeps and is woken for every few events; with ten the same event costs less."},
	{what: "events to 1 handler: bytes", workload: "Events/handlers=1", contender: typed, metric: "B/op", times: 1},
	{what: "events to 10 handlers", workload: "Events/handlers=10", contender: typed, times: 5,
		missed: "an event takes the informer's goroutine 2 µs however many handlers there are, most of it cache misses: to read the object that was received, " +
			"and to find the one that is stored."},
	{what: "events to 10 handlers: bytes", workload: "Events/handlers=10", contender: typed, metric: "B/op", times: 1},
	{what: "handler 200,000 events behind, LatestState: heap growth, states sharing what did not change",
		workload: "Backlog/delivery=latest/states=shared", contender: typed, atMost: 5},
	{what: "handler 200,000 events behind, LatestState: heap growth, each state received anew",
		workload: "Backlog/delivery=latest/states=received", contender: typed, atMost: 5,
		missed: "the handler will be told, of each of the 1,000 objects, the state it was told last and the newest one. The newest is the store's; " +
			"the other is held by the backlog alone, and these pods need 11 KB each in memory."},
	{what: "replace all, 1 % changed", workload: "ReplaceAll/changed=1%", contender: typed, times: 3,
		missed: "both have to read all 100,000 pods for their keys; what is compared besides, UID and resource version, lies on other cache lines than the names do."},
	{what: "replace all: told for each that changed", workload: "Relist/changed=1%/measure=time", contender: typed, metric: "told/changed", atMost: 1},
	{what: "replace all: peak heap over live set", workload: "Relist/changed=1%/measure=heap", contender: typed, atMost: 1.1},
}

// verdict is a target beside what was measured.
type verdict struct {
	target
	unit            string
	measured, model spread // ours; client-go's. Model is zero where client-go has no such figure.
	ratio           spread // client-go's over ours, round by round
	profile         []share
	met             bool
}

// judge gives the verdicts on all targets whose workloads were measured.
func (r *Results) judge() ([]verdict, error) {
	var verdicts []verdict
	for _, t := range targets {
		for i := range r.Workloads {
			if r.Workloads[i].Name != t.workload {
				continue
			}
			v, err := r.Workloads[i].judge(t)
			if err != nil && r.Config.Match != nil {
				continue // not all were to be measured
			}
			if err != nil {
				return nil, fmt.Errorf("target %q: %w", t.what, err)
			}
			verdicts = append(verdicts, v)
		}
	}
	return verdicts, nil
}

func (r *Result) judge(t target) (verdict, error) {
	v := verdict{target: t, unit: t.metric, profile: r.Profiles[t.contender]}
	if v.unit == "" {
		v.unit = r.Metric
	}
	measured, ok := r.spread(t.contender, v.unit)
	if !ok {
		return v, fmt.Errorf("%s of %s was not measured for %s", v.unit, t.workload, t.contender)
	}
	v.measured = measured
	if v.model, ok = r.spread(clientGo, v.unit); ok {
		v.ratio, ok = r.ratio(t.contender, v.unit)
	}
	if t.times == 0 {
		v.met = measured.median <= t.atMost
		return v, nil
	}
	if !ok {
		return v, fmt.Errorf("%s of %s was not measured for %s", v.unit, t.workload, clientGo)
	}
	v.met = v.ratio.median >= t.times
	return v, nil
}

// slow reports that the contender does not reach a target that is about time.
func (r *Result) slow(contender string) bool {
	for _, t := range targets {
		if t.workload != r.Name || t.contender != contender || t.metric != "" || !strings.Contains(r.Metric, "ns") {
			continue
		}
		if v, err := r.judge(t); err == nil && !v.met {
			return true
		}
	}
	return false
}

// spread is a contender's over the rounds; false if it was not measured.
func (r *Result) spread(contender, unit string) (spread, bool) {
	var values []float64
	for _, round := range r.Rounds {
		if value, ok := round[contender][unit]; ok {
			values = append(values, value)
		}
	}
	if len(values) == 0 {
		return spread{}, false
	}
	return spreadOf(values), true
}

// ratio is how many times a contender's figure goes into client-go's of the same round; false if there is none.
func (r *Result) ratio(contender, unit string) (spread, bool) {
	var values []float64
	for _, round := range r.Rounds {
		own, has := round[contender][unit]
		model, hasModel := round[clientGo][unit]
		if has && hasModel && own > 0 {
			values = append(values, model/own)
		}
	}
	if len(values) == 0 {
		return spread{}, false
	}
	return spreadOf(values), true
}
