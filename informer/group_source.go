package informer

import (
	"context"
	"errors"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/informerkit/informerkit/listwatch"
)

// changeable is a source that can be changed for another one of the same collection, once, when whole objects are wanted in
// place of their metadata. To the reflector it looks as if the server's history had expired: what is under way ends with
// "expired", and a list follows, all of it from the new source.
//
// The list says of its objects that they are in a state nobody knows, so that the informer takes in also those that did not
// change but for their form. When the reflector goes on after that list, it is stored: that is told to whole.
type changeable struct {
	whole func()

	mu      sync.Mutex // guards what follows; a leaf
	current *former
}

// former is a source and what has been done with it. All but leave is for the reflector's goroutine.
type former struct {
	source  listwatch.Source[runtime.Object]
	left    context.Context // ends when another source takes its place
	leave   context.CancelCauseFunc
	follows bool // it took the place of another one
	begun   bool // it gave the first page of the list under way
	listed  bool // it gave a complete list
	stored  bool // and that is stored
}

// errChanged is told to the reflector when the source was changed. "Expired" makes it list.
var errChanged = errors.Join(errForm, apierrors.NewResourceExpired("whole objects are wanted"))

var errForm = errors.New("the form of objects changes")

// isChange tells an error of our own making.
func isChange(err error) bool { return errors.Is(err, errForm) }

func newFormer(source listwatch.Source[runtime.Object]) *former {
	f := &former{source: source}
	f.left, f.leave = context.WithCancelCause(context.Background())
	return f
}

func newChangeable(source listwatch.Source[runtime.Object], whole func()) *changeable {
	return &changeable{whole: whole, current: newFormer(source)}
}

// change makes source the one.
func (c *changeable) change(source listwatch.Source[runtime.Object]) {
	next := newFormer(source)
	next.follows = true
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current.follows {
		panic("BUG: informer: a source is changed a second time")
	}
	c.current.leave(errChanged)
	c.current = next
}

func (c *changeable) now() *former {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// List implements [listwatch.Source].
func (c *changeable) List(ctx context.Context, opts metav1.ListOptions) (listwatch.Page[runtime.Object], error) {
	f := c.now()
	first := opts.Continue == ""
	if !first && !f.begun {
		return listwatch.Page[runtime.Object]{}, errChanged
	}
	f.begun, f.listed = true, false
	ctx, cancel := f.bind(ctx)
	defer cancel()
	page, err := f.source.List(ctx, opts)
	if f.left.Err() != nil {
		return listwatch.Page[runtime.Object]{}, errChanged
	}
	if err != nil {
		return page, err
	}
	for n := range page.Items {
		f.disguise(&page.Items[n])
	}
	f.listed = page.Continue == ""
	return page, nil
}

// Watch implements [listwatch.Source].
func (c *changeable) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[runtime.Object], error) {
	f := c.now()
	lists := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	if lists {
		f.listed = false
	} else if err := c.goOn(f); err != nil {
		return nil, err
	}
	ctx, cancel := f.bind(ctx)
	inner, err := f.source.Watch(ctx, opts)
	if f.left.Err() != nil {
		err = errChanged
	}
	if err != nil || inner == nil {
		cancel()
		if inner != nil {
			inner.Stop()
		}
		return nil, err
	}
	return &changeableStream{
		inner:  inner,
		source: c,
		former: f,
		lists:  lists,
		cancel: cancel,
		unbind: context.AfterFunc(f.left, inner.Stop),
	}, nil
}

// goOn is told that the reflector watches, or reads on after a list: what f listed is stored.
func (c *changeable) goOn(f *former) error {
	if !f.follows || f.stored {
		return nil
	}
	if !f.listed { // what is stored is from the former source
		return errChanged
	}
	f.stored = true
	c.whole()
	return nil
}

// bind makes a context end when another source takes this one's place, too.
func (f *former) bind(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unbind := context.AfterFunc(f.left, func() { cancel(errChanged) })
	return ctx, func() {
		unbind()
		cancel(nil)
	}
}

// disguise makes a listed object one that is not stored yet.
func (f *former) disguise(item *listwatch.Item[runtime.Object]) {
	if f.follows && !f.stored {
		item.UID = "in another form: " + item.UID
	}
}

// changeableStream is a stream that ends when the source is changed.
type changeableStream struct {
	inner  listwatch.Stream[runtime.Object]
	source *changeable
	former *former
	lists  bool // it is a streaming list, whose end has not been seen
	cancel func()
	unbind func() bool
}

func (s *changeableStream) Next(ctx context.Context) ([]listwatch.Event[runtime.Object], error) {
	f := s.former
	if !s.lists {
		if err := s.source.goOn(f); err != nil {
			return nil, err
		}
	}
	events, err := s.inner.Next(ctx)
	if f.left.Err() != nil {
		return nil, errChanged
	}
	for n := range events {
		if !s.lists {
			break
		}
		f.disguise(&events[n].Item)
		if events[n].InitialEventsEnd {
			s.lists, f.listed = false, true
		}
	}
	return events, err
}

func (s *changeableStream) Stop() {
	s.unbind()
	s.inner.Stop()
	s.cancel()
}
