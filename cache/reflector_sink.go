package cache

import (
	"context"
	"errors"

	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// ResourceVersionUpdater is a [ReflectorStore] that wants to hear each resource version that its content has got to.
type ResourceVersionUpdater interface {
	// UpdateResourceVersion is called after the change that came with it.
	UpdateResourceVersion(resourceVersion string)
}

// ReflectorBookmarkStore is a [ReflectorStore] that wants to hear of bookmarks. A [Store], whose Bookmark returns
// nothing, hears of them too.
type ReflectorBookmarkStore interface {
	Bookmark(resourceVersion string) error
}

// storeSink fills a [ReflectorStore], whoever wrote it: lists by Replace, as a whole, and events one by one.
type storeSink struct {
	store ReflectorStore
}

func (s storeSink) Replace(context.Context) reflector.Replacement[any] {
	return &storeReplacement{sink: s, at: map[string]int{}}
}

// Apply puts in what can be put in. What the store refuses is an error, and so leads to another list.
func (s storeSink) Apply(_ context.Context, events []listwatch.Event[any]) error {
	var errs []error
	for i := range events {
		if err := s.apply(&events[i]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s storeSink) apply(ev *listwatch.Event[any]) error {
	err := s.put(ev)
	if err == nil {
		s.advance(ev.Item.ResourceVersion)
	}
	return err
}

func (s storeSink) put(ev *listwatch.Event[any]) error {
	if ev.Type == listwatch.Bookmark {
		return s.bookmark(ev.Item.ResourceVersion)
	}
	obj, err := ev.Item.Object()
	if err != nil {
		if ev.Item.Key == "" {
			return err
		}
		return nil // reported by the source, and nothing that could be put in
	}
	switch ev.Type {
	case listwatch.Added:
		return s.store.Add(obj)
	case listwatch.Modified:
		return s.store.Update(obj)
	case listwatch.Deleted:
		return s.store.Delete(obj)
	}
	panic("BUG: event of unknown type")
}

func (s storeSink) bookmark(rv string) error {
	switch store := s.store.(type) {
	case ReflectorBookmarkStore:
		return store.Bookmark(rv)
	case interface{ Bookmark(string) }:
		store.Bookmark(rv)
	}
	return nil
}

func (s storeSink) advance(rv string) {
	if updater, ok := s.store.(ResourceVersionUpdater); ok && rv != "" {
		updater.UpdateResourceVersion(rv)
	}
}

// storeReplacement collects a list.
type storeReplacement struct {
	sink    storeSink
	objects []any          // nil where something was removed
	at      map[string]int // by key, where in objects
}

func (r *storeReplacement) Add(items []listwatch.Item[any]) error {
	for i := range items {
		item := &items[i]
		obj, err := item.Object()
		if err != nil {
			continue // reported by the source
		}
		if at, listed := r.at[item.Key]; listed {
			r.objects[at] = obj
			continue
		}
		r.at[item.Key] = len(r.objects)
		r.objects = append(r.objects, obj)
	}
	return nil
}

func (r *storeReplacement) Remove(key string) error {
	if at, listed := r.at[key]; listed {
		r.objects[at] = nil
		delete(r.at, key)
	}
	return nil
}

func (r *storeReplacement) Commit(list reflector.ListInfo) error {
	objects := r.objects
	if len(r.at) < len(objects) {
		objects = make([]any, 0, len(r.at))
		for _, obj := range r.objects {
			if obj != nil {
				objects = append(objects, obj)
			}
		}
	}
	if objects == nil {
		objects = []any{}
	}
	if err := r.sink.store.Replace(objects, list.ResourceVersion); err != nil {
		return err
	}
	r.sink.advance(list.ResourceVersion)
	return nil
}
