package informer

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/informerkit/informerkit/internal/failurelog"
)

// reportFailure logs a list or watch error without flooding: log says when one that stays the same is due again.
func reportFailure(ctx context.Context, log *failurelog.Log, informer string, err error) {
	if times, due := log.Due(err.Error(), time.Now()); due {
		klog.FromContext(ctx).Error(err, "List or watch failed", "informer", informer, "times", times)
	}
}
