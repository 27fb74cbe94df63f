package feed

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A change per call, as fast as it goes, with a reader in a goroutine for each cursor.
func BenchmarkAppend(b *testing.B) {
	for _, policy := range []Policy{EveryChange, LatestState} {
		for _, n := range []int{0, 1, 10, 1000} {
			b.Run(fmt.Sprintf("policy=%v/cursors=%d", policy, n), func(b *testing.B) {
				log, appender := New[*int]()
				var readers sync.WaitGroup
				stop := make(chan struct{})
				for range n {
					c := log.Cursor(policy)
					readers.Go(func() {
						defer c.Close()
						buf := make([]Change[*int], 64)
						for {
							if c.Next(buf) > 0 {
								continue
							}
							select {
							case <-c.Ready():
							case <-stop:
								return
							}
						}
					})
				}
				obj := new(int)
				b.ReportAllocs()
				for b.Loop() {
					appender.Append(Change[*int]{Kind: Updated, Key: "namespace/name", Old: obj, New: obj})
				}
				b.StopTimer()
				close(stop)
				readers.Wait()
			})
		}
	}
}

// A batch of changes appended and then read by every cursor, all by one goroutine: the work, without wake-ups.
func BenchmarkRound(b *testing.B) {
	keys := make([]string, 1000)
	for i := range keys {
		keys[i] = fmt.Sprint("namespace-", i%7, "/name-", i)
	}
	for _, policy := range []Policy{EveryChange, LatestState} {
		for _, batch := range []int{1, 64, 1000} {
			for _, n := range []int{1, 10, 1000} {
				b.Run(fmt.Sprintf("policy=%v/batch=%d/cursors=%d", policy, batch, n), func(b *testing.B) {
					log, appender := New[*int]()
					cursors := make([]*Cursor[*int], n)
					for i := range cursors {
						cursors[i] = log.Cursor(policy)
					}
					obj := new(int)
					changes := make([]Change[*int], batch)
					buf := make([]Change[*int], 128)
					k, read := 0, 0
					b.ReportAllocs()
					for b.Loop() {
						for i := range changes {
							changes[i] = Change[*int]{Kind: Updated, Key: keys[k%len(keys)], Old: obj, New: obj}
							k++
						}
						appender.Append(changes...)
						for _, c := range cursors {
							for {
								n := c.Next(buf)
								if n == 0 {
									break
								}
								read += n
							}
						}
					}
					if want := b.N * batch * n; read != want {
						b.Fatalf("read %d, want %d", read, want)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(read), "ns/delivery")
					for _, c := range cursors {
						c.Close()
					}
				})
			}
		}
	}
}

// From the appender to waiting readers and back: one change at a time, and all have seen it before the next. ns/append is
// what the appender itself spends.
func BenchmarkWake(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("cursors=%d", n), func(b *testing.B) {
			log, appender := New[int]()
			var readers, seen sync.WaitGroup
			for range n {
				c := log.Cursor(EveryChange)
				readers.Go(func() {
					defer c.Close()
					buf := make([]Change[int], 64)
					for {
						for _, change := range buf[:c.Next(buf)] {
							if change.Kind == Deleted {
								return
							}
							seen.Done()
						}
						<-c.Ready()
					}
				})
			}
			var appending time.Duration
			b.ReportAllocs()
			for b.Loop() {
				seen.Add(n)
				start := time.Now()
				appender.Append(Change[int]{Kind: Added, Key: "k"})
				appending += time.Since(start)
				seen.Wait()
			}
			b.ReportMetric(float64(appending.Nanoseconds())/float64(b.N), "ns/append")
			appender.Append(Change[int]{Kind: Deleted, Key: "k"})
			readers.Wait()
		})
	}
}

// A LatestState reader that never reads, 200,000 changes of 1,000 keys behind: heap held, and how far merging fell behind.
func BenchmarkBacklog(b *testing.B) {
	for _, cursors := range []int{1, 10} {
		b.Run(fmt.Sprintf("policy=LatestState/changes=200000/keys=1000/cursors=%d", cursors), func(b *testing.B) {
			keys := make([]string, 1000)
			objs := make([]*[64]byte, len(keys))
			for i := range keys {
				keys[i], objs[i] = fmt.Sprint("namespace/name-", i), new([64]byte)
			}
			var before, after runtime.MemStats
			var held, lag uint64
			for b.Loop() {
				log, appender := New[*[64]byte]()
				cs := make([]*Cursor[*[64]byte], cursors)
				for i := range cs {
					cs[i] = log.Cursor(LatestState)
				}
				runtime.GC()
				runtime.ReadMemStats(&before)
				for i := range 200_000 {
					k := i % len(keys)
					obj := new([64]byte)
					appender.Append(Change[*[64]byte]{Kind: Updated, Key: keys[k], Old: objs[k], New: obj})
					objs[k] = obj
					if i%128 == 0 {
						for _, c := range cs {
							lag = max(lag, uint64(log.End())-c.read.Load())
						}
					}
				}
				for _, c := range cs {
					if n := c.Backlog().Changes; n != len(keys) {
						b.Fatalf("backlog %d", n)
					}
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				held = max(held, after.HeapAlloc-before.HeapAlloc)
				for _, c := range cs {
					c.Close()
				}
			}
			b.ReportMetric(float64(held), "B-held")
			b.ReportMetric(float64(lag), "max-lag")
		})
	}
}
