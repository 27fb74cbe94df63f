package informer

import (
	"fmt"
	"reflect"
	"time"

	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
	"github.com/informerkit/informerkit/store"
)

// Options configures an [Informer]. The zero value works.
type Options[T any] struct {
	// Name tells informers apart in errors, logs and metrics. "" stands for T's name.
	Name string

	// Transform changes an object before it is stored, or drops it by returning [ErrDrop]. It is called once for each
	// received object that is taken in (a relisted object that did not change is not), also for the final state of a deleted one.
	// It may change the object in place unless the source shares its objects with others; it must keep namespace, name,
	// UID and resource version. An error or panic quarantines the object. Nil: objects are stored as received.
	Transform func(obj T) (T, error)

	// Key gives the key of a transformed object. Nil: namespace/name, or name alone for a cluster-scoped object.
	// An error or panic quarantines the object.
	Key func(obj T) (string, error)

	// Shard is the part of the collection to hold, of each source: what is asked for, and all that is taken in, whatever the server
	// sends. Objects need metadata to be told apart by. It can be changed later ([Informer.Reshard]). The zero value is everything.
	Shard listwatch.Shard

	// Reflector tunes listing and watching. Its Name is this informer's if empty. Failures go to its OnError or, if that is
	// nil, to the log, where one that stays the same is repeated at growing intervals.
	Reflector reflector.Options

	// ShutdownTimeout bounds how long Run, once its context has ended, waits for handler calls under way; after it Run
	// returns a [HandlersRunningError]. 0: as long as they take.
	ShutdownTimeout time.Duration

	// Writer is the store to fill, for callers that keep the writing handle themselves; what they write is not told to
	// handlers. It must have been made with [Same]. Nil: a store of the informer's own.
	Writer *store.Writer[T]
}

func (o Options[T]) withDefaults() (Options[T], error) {
	if o.Name == "" {
		o.Name = typeName[T]()
	}
	if o.ShutdownTimeout < 0 {
		return o, fmt.Errorf("informer %s: ShutdownTimeout is %s: must not be negative", o.Name, o.ShutdownTimeout)
	}
	if o.Reflector.Name == "" {
		o.Reflector.Name = o.Name
	}
	return o, nil
}

func typeName[T any]() string {
	t := reflect.TypeFor[T]()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.String()
}
