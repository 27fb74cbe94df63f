package reflector

import (
	"context"
	"fmt"
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/informerkit/informerkit/listwatch"
)

// List reads a collection once, beside any reflector: a consistent read, in pages, each of which is given to page. It takes a
// place of opts.Limiter; opts.PageSize (0: 500), RequestTimeout and Priority count, and Name is for errors. It returns the
// resource version that all of the list is as of.
//
// Nothing is tried again, so the error is that of the limiter's wait, of the source (a continue token that has expired
// included), of page, or an [*OptionError].
func List[T any](ctx context.Context, source listwatch.Source[T], opts Options, page func(items []listwatch.Item[T]) error) (
	resourceVersion string, err error,
) {
	if opts, err = opts.withDefaults(); err != nil {
		return "", err
	}
	if opts.Name == "" {
		opts.Name = reflect.TypeFor[T]().String()
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: list: %w", opts.Name, err)
		}
	}()
	release, err := opts.Limiter.Acquire(ctx, opts.Priority)
	if err != nil {
		return "", err
	}
	defer release()
	next := metav1.ListOptions{Limit: opts.PageSize}
	if next.Limit == 0 {
		next.Limit = defaultPageSize
	}
	for {
		got, late, err := listPage(ctx, source, opts.Clock, opts.Clock.Now().Add(opts.RequestTimeout), next)
		switch {
		case late:
			return "", ErrTimeout
		case err != nil:
			return "", err
		}
		if err := page(got.Items); err != nil {
			return "", err
		}
		if next.Continue == "" {
			resourceVersion = got.ResourceVersion
		}
		switch got.Continue {
		case "":
			return resourceVersion, nil
		case next.Continue:
			return "", errContinueLoop
		}
		next.Continue = got.Continue
	}
}

// listPage asks for a page, until a time. An error that comes after that is late.
func listPage[T any](ctx context.Context, source listwatch.Source[T], clk clock.WithTicker, until time.Time, opts metav1.ListOptions) (
	got listwatch.Page[T], late bool, err error,
) {
	dog := newWatchdog(ctx, clk, until)
	defer dog.close()
	err = safely("Source.List", func() (err error) {
		got, err = source.List(dog.ctx, opts)
		return err
	})
	return got, err != nil && dog.barked(), err
}
