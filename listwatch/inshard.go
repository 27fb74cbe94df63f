package listwatch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InShard is the part of source that is in shard. The server is asked for no more, and whatever comes all the same is dropped
// here, before it is decoded: most servers ignore the selector. An event of an object that is not in the shard becomes a
// Bookmark, so that its resource version is not lost. An item without a key, of which nothing is known, passes.
func InShard[T any](source Source[T], shard Shard) Source[T] {
	if shard.Everything() {
		return source
	}
	return sharded[T]{source, shard}
}

type sharded[T any] struct {
	source Source[T]
	shard  Shard
}

func (s sharded[T]) List(ctx context.Context, opts metav1.ListOptions) (Page[T], error) {
	opts.ShardSelector = s.shard.Selector()
	page, err := s.source.List(ctx, opts)
	kept := page.Items[:0]
	for n := range page.Items {
		if s.has(&page.Items[n]) {
			kept = append(kept, page.Items[n])
		}
	}
	clear(page.Items[len(kept):])
	page.Items = kept
	return page, err
}

func (s sharded[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	opts.ShardSelector = s.shard.Selector()
	stream, err := s.source.Watch(ctx, opts)
	if err != nil || stream == nil {
		return nil, err
	}
	return shardedStream[T]{stream, s}, nil
}

func (s sharded[T]) has(it *Item[T]) bool {
	if it.Key == "" {
		return true
	}
	namespace, _ := SplitKey(it.Key)
	return s.shard.Has(it.UID, namespace)
}

type shardedStream[T any] struct {
	Stream[T]
	sharded[T]
}

func (s shardedStream[T]) Next(ctx context.Context) ([]Event[T], error) {
	events, err := s.Stream.Next(ctx)
	for n := range events {
		if ev := &events[n]; ev.Type != Bookmark && !s.has(&ev.Item) {
			*ev = bookmark[T](ev.Item.ResourceVersion, nil)
		}
	}
	return events, err
}
