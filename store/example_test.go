package store_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/informerkit/informerkit/store"
)

type pod struct {
	node, app string
	version   int
}

func byNode(p *pod) []string { return []string{p.node} }

func byApp(p *pod) []string { return []string{p.app} }

func Example() {
	pods, w := store.New(store.Options[*pod]{})
	onNode := store.AddIndex(w, "node", byNode)

	var b store.Batch[*pod]
	b.Put("default/web-1", &pod{node: "n1"})
	b.Put("default/web-2", &pod{node: "n1"})
	b.Put("default/db", &pod{node: "n2"})
	b.Revision = "42"
	w.Commit(&b)

	if p, ok := pods.Get("default/db"); ok {
		fmt.Println("db runs on", p.node)
	}
	for key := range onNode.Get(pods.Snapshot(), "n1") {
		fmt.Println("on n1:", key)
	}
	// Output:
	// db runs on n2
	// on n1: default/web-1
	// on n1: default/web-2
}

func ExampleSnapshot() {
	pods, w := store.New(store.Options[*pod]{})
	var b store.Batch[*pod]
	b.Put("web", &pod{})
	b.Revision = "1"
	w.Commit(&b)

	before := pods.Snapshot()
	b.Delete("web")
	b.Put("db", &pod{})
	b.Revision = "2"
	w.Commit(&b)

	for _, s := range []*store.Snapshot[*pod]{before, pods.Snapshot()} {
		fmt.Println(s.Revision(), slices.Sorted(maps.Keys(maps.Collect(s.All()))))
	}
	// Output:
	// 1 [web]
	// 2 [db]
}

func ExampleWriter_Commit() {
	_, w := store.New(store.Options[*pod]{})
	var b store.Batch[*pod]
	b.Put("web", &pod{version: 1})
	w.Commit(&b)

	b.Put("web", &pod{version: 2})
	b.Put("db", &pod{version: 1})
	b.Delete("unknown")
	for _, c := range w.Commit(&b) {
		fmt.Println(c.Key, "was there:", c.HadOld, "is there:", c.HasNew)
	}
	// Output:
	// web was there: true is there: true
	// db was there: false is there: true
}

func ExampleReplacement() {
	pods, w := store.New(store.Options[*pod]{Same: func(prev, next *pod) bool { return prev.version == next.version }})
	var b store.Batch[*pod]
	b.Put("web", &pod{version: 1})
	b.Put("db", &pod{version: 1})
	b.Put("old", &pod{version: 1})
	w.Commit(&b)
	web, _ := pods.Get("web")

	r := w.Replace()
	r.Put("web", &pod{version: 1}) // nothing new
	r.Put("db", &pod{version: 2})
	for _, c := range r.Commit("100") {
		fmt.Println(c.Key, "is there:", c.HasNew)
	}
	still, _ := pods.Get("web")
	fmt.Println("web kept its pointer:", still == web)
	// Output:
	// old is there: false
	// db is there: true
	// web kept its pointer: true
}

func ExampleSnapshot_Select() {
	pods, w := store.New(store.Options[*pod]{})
	node, app := store.AddIndex(w, "node", byNode), store.AddIndex(w, "app", byApp)
	var b store.Batch[*pod]
	for i, p := range []pod{{node: "n1", app: "web"}, {node: "n2", app: "web"}, {node: "n1", app: "db"}, {node: "n3", app: "web"}} {
		b.Put(fmt.Sprint("pod-", i), &p)
	}
	w.Commit(&b)

	q := store.And(app.Is("web"), store.Not(node.Is("n2")))
	for key, p := range pods.Snapshot().Select(q) {
		fmt.Println(key, p.node, p.app)
	}
	fmt.Println(pods.Snapshot().Count(node.Is("n1", "n2")), "on n1 or n2")
	// Output:
	// pod-0 n1 web
	// pod-3 n3 web
	// 3 on n1 or n2
}

func ExampleOrder() {
	pods, w := store.New(store.Options[*pod]{})
	order := store.AddOrder(w)
	var b store.Batch[*pod]
	for _, key := range []string{"kube-system/dns", "default/web", "default/db", "default/cache"} {
		b.Put(key, &pod{})
	}
	w.Commit(&b)

	// Pages of two of the namespace "default": "0" is the byte after "/".
	from := "default/"
	for page := 1; ; page++ {
		n := 0
		for key := range order.Range(pods.Snapshot(), from, "default0") {
			fmt.Println("page", page, key)
			from = key + "\x00"
			if n++; n == 2 {
				break
			}
		}
		if n < 2 {
			break
		}
	}
	// Output:
	// page 1 default/cache
	// page 1 default/db
	// page 2 default/web
}

func ExampleStore_Failures() {
	pods, w := store.New(store.Options[*pod]{})
	store.AddIndex(w, "node", func(p *pod) ([]string, error) {
		if p.node == "" {
			return nil, errors.New("not scheduled")
		}
		return []string{p.node}, nil
	})
	var b store.Batch[*pod]
	b.Put("web", &pod{})
	w.Commit(&b)
	for _, f := range pods.Failures() {
		fmt.Printf("%s is not in index %s: %v\n", f.Key, f.Index, f.Err)
	}
	b.Put("web", &pod{node: "n1"})
	w.Commit(&b)
	fmt.Println(len(pods.Failures()), "failures")
	// Output:
	// web is not in index node: not scheduled
	// 0 failures
}
