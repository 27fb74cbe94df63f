package clientgo

import (
	"k8s.io/client-go/tools/cache"

	ours "github.com/informerkit/informerkit/cache"
)

// indexer is ours under client-go's type names. Objects that carry a key of client-go's (tombstones, explicit keys) may be given.
type indexer struct{ ours.Indexer }

var _ cache.Indexer = indexer{}

func (x indexer) Delete(obj any) error               { return x.Indexer.Delete(ourTombstone(obj)) }
func (x indexer) Get(obj any) (any, bool, error)     { return x.Indexer.Get(ourTombstone(obj)) }
func (x indexer) GetIndexers() cache.Indexers        { return theirIndexers(x.Indexer.GetIndexers()) }
func (x indexer) AddIndexers(i cache.Indexers) error { return x.Indexer.AddIndexers(ourIndexers(i)) }

func ourIndexers(indexers cache.Indexers) ours.Indexers {
	converted := make(ours.Indexers, len(indexers))
	for name, fn := range indexers {
		converted[name] = ours.IndexFunc(fn)
	}
	return converted
}

func theirIndexers(indexers ours.Indexers) cache.Indexers {
	converted := make(cache.Indexers, len(indexers))
	for name, fn := range indexers {
		converted[name] = cache.IndexFunc(fn)
	}
	return converted
}
