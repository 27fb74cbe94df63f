package cache

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/informerkit/informerkit/informer"
	"github.com/informerkit/informerkit/reflector"
)

// EngineOptions are what [SharedIndexInformerOptions], whose fields are client-go's, has no room for. The zero value is what
// [NewSharedIndexInformerWithOptions] uses.
type EngineOptions struct {
	// Delivery is the policy of every handler's backlog. With informer.LatestState a handler that lags is told one change per object, from
	// the state it was told last to the newest, and what it lags behind is bounded by the number of objects.
	Delivery informer.Delivery
	// LabelIndex adds [LabelIndex].
	LabelIndex bool
	// Reflector tunes listing and watching. Its Name is the informer's, and its Streaming, if that is automatic, follows the feature
	// gate WatchListClient. OnError is told besides the watch error handler.
	Reflector reflector.Options
	// ShutdownTimeout bounds how long the informer waits for handlers' calls under way when it is stopped. 0: as long as they take.
	ShutdownTimeout time.Duration
}

// NewSharedIndexInformerWithEngine is [NewSharedIndexInformerWithOptions] with options of the engine below. The error names the one
// that can't be right.
func NewSharedIndexInformerWithEngine(lw ListerWatcher, exampleObject runtime.Object, options SharedIndexInformerOptions, engine EngineOptions) (SharedIndexInformer, error) {
	i, err := newSharedIndexInformer(lw, exampleObject, options, engine)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// InformerOf gives the informer below a shared informer of this package: its status, snapshots, typed indexes, overlay, handlers with
// another delivery policy. Do not run it. False: i is somebody else's.
func InformerOf(i SharedInformer) (*informer.Informer[any], bool) {
	if own, ok := i.(*sharedIndexInformer); ok {
		return own.informer, true
	}
	return nil, false
}
