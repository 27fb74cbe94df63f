package informer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
)

// MutationCheckOptions configures [Informer.CheckMutations]. The zero value, but for Found, works.
type MutationCheckOptions struct {
	// Found is called for each object that somebody changed in place, in CheckMutations' goroutine. Nil is an error.
	Found func(Mutation)
	// Period is how long a sample is kept before it is compared and another one is drawn. 0: a minute.
	Period time.Duration
	// Share is the part of the objects in a sample, 0.01 for one in a hundred; 1 for all. 0: 0.01.
	Share float64
	// Max bounds a sample, and so the memory for copies. 0: 1,000 objects.
	Max int
}

// Mutation is an object that was changed in place, which nobody may do: it is shared.
type Mutation struct {
	Informer, Key string
	// Diff shows what was changed, for people: its form is not stable.
	Diff string
}

// sampled is an object and how it was.
type sampled[T any] struct {
	key      string
	obj      T
	original runtime.Object
}

// CheckMutations looks for code that changes cached objects in place, until ctx ends, and returns nil then. Each period it keeps
// copies of a random sample of the objects and compares them at the end. It is cheap enough to leave on: what it costs is
// bounded by the sample's size. The error names an option that can't be right, or says that T can't be copied.
func (i *Informer[T]) CheckMutations(ctx context.Context, opts MutationCheckOptions) error {
	if opts.Found == nil {
		return fmt.Errorf("informer %s: MutationCheckOptions.Found is nil", i.opts.Name)
	}
	if opts.Share < 0 || opts.Share > 1 || opts.Period < 0 || opts.Max < 0 {
		return fmt.Errorf("informer %s: MutationCheckOptions %+v: Share is not in [0,1], or another field is negative", i.opts.Name, opts)
	}
	if opts.Period == 0 {
		opts.Period = time.Minute
	}
	if opts.Share == 0 {
		opts.Share = 0.01
	}
	if opts.Max == 0 {
		opts.Max = 1000
	}
	ticker := time.NewTicker(opts.Period)
	defer ticker.Stop()
	sample, err := i.sample(nil, opts)
	for err == nil {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		i.compare(sample, opts.Found)
		sample, err = i.sample(sample[:0], opts)
	}
	return err
}

// compare reports the objects of a sample that are not what they were.
func (i *Informer[T]) compare(sample []sampled[T], found func(Mutation)) {
	for n := range sample {
		if now, ok := any(sample[n].obj).(runtime.Object); ok && !equality.Semantic.DeepEqual(sample[n].original, now) {
			found(Mutation{Informer: i.opts.Name, Key: sample[n].key, Diff: diff(sample[n].original, now)})
		}
	}
}

// sample draws objects into dst: a part of all, and of that a random choice if it is too much (reservoir sampling).
func (i *Informer[T]) sample(dst []sampled[T], opts MutationCheckOptions) ([]sampled[T], error) {
	drawn := 0
	for key, obj := range i.Snapshot().All() {
		if opts.Share < 1 && rand.Float64() >= opts.Share {
			continue
		}
		drawn++
		if len(dst) < opts.Max {
			dst = append(dst, sampled[T]{key: key, obj: obj})
		} else if n := rand.IntN(drawn); n < opts.Max {
			dst[n] = sampled[T]{key: key, obj: obj}
		}
	}
	for n := range dst {
		obj, ok := any(dst[n].obj).(runtime.Object)
		if !ok {
			return nil, fmt.Errorf("informer %s: %T can't be copied: it is no runtime.Object", i.opts.Name, dst[n].obj)
		}
		dst[n].original = obj.DeepCopyObject()
	}
	clear(dst[len(dst):cap(dst)])
	return dst, nil
}

// diff is for people. Comparing may meet fields it can't look into; the mutation is still worth telling.
func diff(before, after runtime.Object) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprintf("(no diff: %v)", v)
		}
	}()
	return cmp.Diff(before, after)
}
