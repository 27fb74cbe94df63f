package reflector

import (
	"context"
	"fmt"
	"testing"

	"github.com/informerkit/informerkit/listwatch"
)

// BenchmarkEvents is what the reflector adds to each event between stream and sink.
func BenchmarkEvents(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			src := newScript()
			src.onList = answers(list("10"))
			ctx, cancel := context.WithCancel(b.Context())
			s := &endless{left: b.N, done: cancel}
			for i := range size {
				s.batch = append(s.batch, modified(fmt.Sprint("k", i), fmt.Sprint(1000+i)))
			}
			src.onWatch = func(context.Context, int, listOptions) (stream, error) { return s, nil }
			r, err := New(src, discard{}, Options{Streaming: StreamingOff})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			_ = r.Run(ctx) // until the stream says it is enough
		})
	}
}

// endless gives the same batch until b.N events went by.
type endless struct {
	batch []listwatch.Event[string]
	left  int
	done  func()
}

func (s *endless) Next(ctx context.Context) ([]listwatch.Event[string], error) {
	if s.left <= 0 {
		s.done()
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	s.left -= len(s.batch)
	return s.batch, nil
}

func (s *endless) Stop() {}

type discard struct{}

func (discard) Replace(context.Context) Replacement[string]            { return discard{} }
func (discard) Apply(context.Context, []listwatch.Event[string]) error { return nil }
func (discard) Add([]listwatch.Item[string]) error                     { return nil }
func (discard) Remove(string) error                                    { return nil }
func (discard) Commit(ListInfo) error                                  { return nil }
