package store

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
)

// The benchmarks' store: 100,000 pods in 100 namespaces on 200 nodes, of 1,000 owners, visited in random order.
const benchObjects = 100_000

type benchPod struct {
	namespace, name, node string
	labels                []string // "key", "key\x00value" of 7 labels, sorted
	version               int
}

func benchKey(i int) string { return fmt.Sprintf("namespace-%d/pod-%d-of-owner-%d", i%100, i, i%1000) }

func newBenchPod(i int) *benchPod {
	p := &benchPod{namespace: "namespace-" + strconv.Itoa(i%100), name: "pod-" + strconv.Itoa(i), node: "node-" + strconv.Itoa(i*7919%200)}
	for _, l := range [][2]string{
		{"app", strconv.Itoa(i % 50)}, {"env", strconv.Itoa(i % 3)}, {"hash", strconv.Itoa(i % 1000)}, {"name", strconv.Itoa(i % 1000)},
		{"team", strconv.Itoa(i % 20)}, {"tier", strconv.Itoa(i % 4)}, {"zone", strconv.Itoa(i % 3)},
	} {
		p.labels = append(p.labels, l[0], l[0]+"\x00"+l[1])
	}
	return p
}

func byNamespace(p *benchPod) []string { return []string{p.namespace} }
func byNode(p *benchPod) []string      { return []string{p.node} }
func byLabel(p *benchPod) []string     { return p.labels }

type benchStore struct {
	*Store[*benchPod]
	w               *Writer[*benchPod]
	namespace, node *Index[*benchPod]
	keys            []string
	pods            []*benchPod
	order           []int
	batch           Batch[*benchPod]
}

func newBenchStore(b *testing.B) *benchStore {
	s := &benchStore{}
	s.Store, s.w = New(Options[*benchPod]{Same: func(prev, next *benchPod) bool { return prev.version == next.version }})
	s.namespace, s.node = AddIndex(s.w, "namespace", byNamespace), AddIndex(s.w, "node", byNode)
	for i := range benchObjects {
		s.keys, s.pods = append(s.keys, benchKey(i)), append(s.pods, newBenchPod(i))
		s.batch.Put(s.keys[i], s.pods[i])
	}
	s.w.Commit(&s.batch)
	s.batch.Reset()
	s.order = rand.New(rand.NewPCG(1, 2)).Perm(benchObjects)
	runtime.GC()
	b.ReportAllocs()
	b.ResetTimer()
	return s
}

func (s *benchStore) put(i int) {
	s.batch.Put(s.keys[i], s.pods[i])
	s.w.Commit(&s.batch)
}

var sink atomic.Int64

func BenchmarkGet(b *testing.B) {
	for _, writers := range []int{0, 1} {
		b.Run("writers="+strconv.Itoa(writers), func(b *testing.B) {
			s := newBenchStore(b)
			stop, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				for n := 0; writers > 0; n++ {
					select {
					case <-stop:
						return
					default:
						s.put(s.order[n%benchObjects])
					}
				}
			}()
			for n := range b.N {
				if _, ok := s.Get(s.keys[s.order[n%benchObjects]]); !ok {
					b.Fatal("not found")
				}
			}
			b.StopTimer()
			close(stop)
			<-done
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, values := range []string{"same", "changed"} {
		for _, snapshots := range []int{0, 1} {
			b.Run(fmt.Sprintf("values=%s/snapshots=%d", values, snapshots), func(b *testing.B) {
				s := newBenchStore(b)
				moved := make([]*benchPod, benchObjects)
				for i, p := range s.pods {
					c := *p
					if values == "changed" {
						c.node, c.namespace = "node-"+strconv.Itoa(i*104729%200), "namespace-"+strconv.Itoa((i+7)%100)
					}
					moved[i] = &c
				}
				b.ResetTimer()
				for n := range b.N {
					i := s.order[n%benchObjects]
					s.pods[i], moved[i] = moved[i], s.pods[i]
					if snapshots > 0 {
						s.Snapshot()
					}
					s.put(i)
				}
			})
		}
	}
}

func BenchmarkDeleteAdd(b *testing.B) {
	for _, snapshots := range []int{0, 1} {
		b.Run(fmt.Sprintf("snapshots=%d", snapshots), func(b *testing.B) {
			s := newBenchStore(b)
			for n := range b.N {
				i := s.order[n%benchObjects]
				if snapshots > 0 {
					s.Snapshot()
				}
				s.batch.Delete(s.keys[i])
				s.w.Commit(&s.batch)
				s.put(i)
			}
		})
	}
}

// BenchmarkBatch reports the time per operation of a batch of 1,000 updates.
func BenchmarkBatch(b *testing.B) {
	s := newBenchStore(b)
	for n := 0; n < b.N; n++ {
		s.batch.Put(s.keys[s.order[n%benchObjects]], s.pods[s.order[n%benchObjects]])
		if n%1000 == 999 {
			s.w.Commit(&s.batch)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s := newBenchStore(b)
	for n := range b.N {
		s.put(s.order[n%benchObjects])
		s.Snapshot()
	}
}

func BenchmarkAll(b *testing.B) {
	s := newBenchStore(b)
	for range b.N {
		n := 0
		for _, p := range s.Snapshot().All() {
			if p != nil {
				n++
			}
		}
		sink.Store(int64(n))
	}
}

func BenchmarkIndexGet(b *testing.B) {
	s := newBenchStore(b)
	snapshot := s.Snapshot()
	for _, c := range []struct {
		name, value string
		ix          *Index[*benchPod]
	}{{"namespace/objects=1000", "namespace-7", s.namespace}, {"node/objects=500", "node-7", s.node}} {
		b.Run("index="+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				n := 0
				for _, p := range c.ix.Get(snapshot, c.value) {
					if p != nil {
						n++
					}
				}
				sink.Store(int64(n))
			}
		})
	}
}

func BenchmarkSelect(b *testing.B) {
	s := newBenchStore(b)
	labels := AddIndex(s.w, "labels", byLabel)
	snapshot := s.Snapshot()
	for _, c := range []struct {
		name string
		q    Query[*benchPod]
	}{
		{"namespace+owner/matches=100", And(s.namespace.Is("namespace-7"), labels.Is("name\x007"))},
		{"namespace+3labels", And(s.namespace.Is("namespace-7"), labels.Is("env\x001"), labels.Is("tier\x003"), Not(labels.Is("team\x007")))},
		{"node+owner", And(s.node.Is("node-7"), labels.Is("name\x007"))},
		{"env+tier", And(labels.Is("env\x001"), labels.Is("tier\x003"))},
	} {
		b.Run("query="+c.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for range b.N {
				n = 0
				for _, p := range snapshot.Select(c.q) {
					if p != nil {
						n++
					}
				}
			}
			b.ReportMetric(float64(n), "matches")
		})
	}
}

func BenchmarkLabelIndexUpdate(b *testing.B) {
	for _, change := range []string{"none", "value", "delete+add"} {
		for _, snapshots := range []int{0, 1} {
			b.Run(fmt.Sprintf("labels=7/change=%s/snapshots=%d", change, snapshots), func(b *testing.B) {
				s := newBenchStore(b)
				AddIndex(s.w, "labels", byLabel)
				b.ResetTimer()
				for n := range b.N {
					i := s.order[n%benchObjects]
					if snapshots > 0 {
						s.Snapshot()
					}
					switch change {
					case "value":
						c := *s.pods[i]
						c.labels = append(c.labels[:5:5], "hash\x00"+strconv.Itoa(n%1000))
						c.labels = append(c.labels, s.pods[i].labels[6:]...)
						s.pods[i] = &c
					case "delete+add":
						s.batch.Delete(s.keys[i])
						s.w.Commit(&s.batch)
					}
					s.put(i)
				}
			})
		}
	}
}

func BenchmarkReplace(b *testing.B) {
	for _, percent := range []int{0, 1, 100} {
		b.Run(fmt.Sprintf("changed=%d%%", percent), func(b *testing.B) {
			s := newBenchStore(b)
			for n := range b.N {
				r := s.w.Replace()
				for i, p := range s.pods {
					if s.order[i]%100 < percent {
						c := *p
						c.version = n + 1
						p = &c
					}
					r.Put(s.keys[i], p)
				}
				r.Commit("")
			}
		})
	}
}

// BenchmarkMemory reports the bytes per object that the store adds to objects and keys.
func BenchmarkMemory(b *testing.B) {
	for _, indexes := range []string{"0", "2", "2+labels", "2+uid", "2+order"} {
		b.Run("indexes="+indexes, func(b *testing.B) {
			var keys []string
			var pods []*benchPod
			for i := range benchObjects {
				keys, pods = append(keys, benchKey(i)), append(pods, newBenchPod(i))
			}
			for range b.N {
				before := heap()
				_, w := New(Options[*benchPod]{})
				if indexes != "0" {
					AddIndex(w, "namespace", byNamespace)
					AddIndex(w, "node", byNode)
				}
				switch indexes {
				case "2+labels":
					AddIndex(w, "labels", byLabel)
				case "2+uid":
					AddIndex(w, "uid", func(p *benchPod) []string { return []string{p.name} })
				case "2+order":
					AddOrder(w)
				}
				r := w.Replace()
				for i, p := range pods {
					r.Put(keys[i], p)
				}
				r.Commit("1")
				r = nil
				b.ReportMetric(float64(heap()-before)/benchObjects, "B/object")
				runtime.KeepAlive(w)
			}
			runtime.KeepAlive(pods)
		})
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
