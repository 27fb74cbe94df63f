package bench

import (
	"errors"
	"fmt"

	memdb "github.com/hashicorp/go-memdb"
	corev1 "k8s.io/api/core/v1"
)

// memIndex is a go-memdb index of one string of a pod.
type memIndex func(pod *corev1.Pod) string

func (f memIndex) FromObject(raw any) (bool, []byte, error) {
	pod, ok := raw.(*corev1.Pod)
	if !ok {
		return false, nil, fmt.Errorf("a %T is not a pod", raw)
	}
	return true, []byte(f(pod) + "\x00"), nil
}

func (f memIndex) FromArgs(args ...any) ([]byte, error) {
	value, ok := args[0].(string)
	if !ok {
		return nil, fmt.Errorf("a %T is not a string", args[0])
	}
	return []byte(value + "\x00"), nil
}

const podTable = "pods"

func newMemDB(p *population, _ bool) (*holder, error) {
	db, err := memdb.NewMemDB(&memdb.DBSchema{Tables: map[string]*memdb.TableSchema{podTable: {
		Name: podTable,
		Indexes: map[string]*memdb.IndexSchema{
			"id":        {Name: "id", Unique: true, Indexer: memIndex(keyOf)},
			"namespace": {Name: "namespace", Indexer: memIndex(func(pod *corev1.Pod) string { return pod.Namespace })},
			"node":      {Name: "node", Indexer: memIndex(func(pod *corev1.Pod) string { return pod.Spec.NodeName })},
		},
	}}})
	if err != nil {
		return nil, err
	}
	find := func(index string, args ...any) int {
		found, err := db.Txn(false).Get(podTable, index, args...)
		must(err)
		n := 0
		for found.Next() != nil {
			n++
		}
		return n
	}
	write := func(fill func(txn *memdb.Txn)) {
		txn := db.Txn(true)
		fill(txn)
		txn.Commit()
	}
	h := &holder{
		get: func(key string) *corev1.Pod {
			obj, err := db.Txn(false).First(podTable, "id", key)
			must(err)
			pod, _ := obj.(*corev1.Pod)
			return pod
		},
		all:       func() int { return find("id") },
		namespace: func(namespace string) int { return find("namespace", namespace) },
		node:      func(node string) int { return find("node", node) },
		put: func(pod *corev1.Pod) {
			write(func(txn *memdb.Txn) { must(txn.Insert(podTable, pod)) })
		},
		remove: func(pod *corev1.Pod) {
			write(func(txn *memdb.Txn) {
				if err := txn.Delete(podTable, pod); !errors.Is(err, memdb.ErrNotFound) {
					must(err)
				}
			})
		},
		batch: func(pods []*corev1.Pod) {
			write(func(txn *memdb.Txn) {
				for _, pod := range pods {
					must(txn.Insert(podTable, pod))
				}
			})
		},
	}
	h.batch(p.pods)
	p.age(h)
	return h, nil
}
