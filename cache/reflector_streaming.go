package cache

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/features"

	"github.com/informerkit/informerkit/listwatch"
	"github.com/informerkit/informerkit/reflector"
)

// streamingMode is what client-go's feature gate says (KUBE_FEATURE_WatchListClient in the environment, or whatever has
// taken its place with features.ReplaceFeatureGates).
func streamingMode() reflector.Streaming {
	if features.FeatureGates().Enabled(features.WatchListClient) {
		return reflector.StreamingAuto
	}
	return reflector.StreamingOff
}

// fallbackSource takes an error that a lister-watcher itself comes up with when it is asked for a streaming list for "I
// don't know that": tests' fakes say such things. What a server or the network says, it leaves alone.
type fallbackSource struct{ listwatch.Source[any] }

func (s fallbackSource) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[any], error) {
	stream, err := s.Source.Watch(ctx, opts)
	if err != nil && opts.SendInitialEvents != nil && *opts.SendInitialEvents && isOwn(err) {
		err = fmt.Errorf("%w: %w", listwatch.ErrStreamingUnsupported, err)
	}
	return stream, err
}

// isOwn reports that err is of neither a server, nor the network, nor a context.
func isOwn(err error) bool {
	var status apierrors.APIStatus
	var network net.Error // an *url.Error, which is what HTTP clients return, is one too
	return !errors.As(err, &status) && !errors.As(err, &network) &&
		!errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
