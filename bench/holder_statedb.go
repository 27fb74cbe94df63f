package bench

import (
	"iter"

	"github.com/cilium/statedb"
	"github.com/cilium/statedb/index"
	corev1 "k8s.io/api/core/v1"
)

// stateIndex is a statedb index of one string of a pod.
func stateIndex(name string, unique bool, of func(pod *corev1.Pod) string) statedb.Index[*corev1.Pod, string] {
	return statedb.Index[*corev1.Pod, string]{
		Name:       name,
		FromObject: func(pod *corev1.Pod) index.KeySet { return index.NewKeySet(index.String(of(pod))) },
		FromKey:    index.String,
		Unique:     unique,
	}
}

func newStateDB(p *population, _ bool) (*holder, error) {
	byKey := stateIndex("key", true, keyOf)
	byNamespace := stateIndex("namespace", false, func(pod *corev1.Pod) string { return pod.Namespace })
	byNode := stateIndex("node", false, func(pod *corev1.Pod) string { return pod.Spec.NodeName })
	db := statedb.New()
	table, err := statedb.NewTableAny(db, podTable, func() []string { return nil }, func(*corev1.Pod) []string { return nil },
		byKey, byNamespace, byNode)
	if err != nil {
		return nil, err
	}
	if err := db.Start(); err != nil {
		return nil, err
	}
	visit := func(found iter.Seq2[*corev1.Pod, statedb.Revision]) (n int) {
		for range found {
			n++
		}
		return n
	}
	write := func(fill func(txn statedb.WriteTxn)) {
		txn := db.WriteTxn(table)
		fill(txn)
		txn.Commit()
	}
	insert := func(txn statedb.WriteTxn, pod *corev1.Pod) {
		_, _, err := table.Insert(txn, pod)
		must(err)
	}
	h := &holder{
		get: func(key string) *corev1.Pod {
			pod, _, _ := table.Get(db.ReadTxn(), byKey.Query(key))
			return pod
		},
		all:       func() int { return visit(table.All(db.ReadTxn())) },
		namespace: func(namespace string) int { return visit(table.List(db.ReadTxn(), byNamespace.Query(namespace))) },
		node:      func(node string) int { return visit(table.List(db.ReadTxn(), byNode.Query(node))) },
		put: func(pod *corev1.Pod) {
			write(func(txn statedb.WriteTxn) { insert(txn, pod) })
		},
		remove: func(pod *corev1.Pod) {
			write(func(txn statedb.WriteTxn) {
				_, _, err := table.Delete(txn, pod)
				must(err)
			})
		},
		batch: func(pods []*corev1.Pod) {
			write(func(txn statedb.WriteTxn) {
				for _, pod := range pods {
					insert(txn, pod)
				}
			})
		},
		close: func() { must(db.Stop()) },
	}
	h.batch(p.pods)
	p.age(h)
	return h, nil
}
