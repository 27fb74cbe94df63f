package reflector

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/informerkit/informerkit/listwatch"
)

// driver does what the machine says and tells it what came of it. It is of one Run, and of one goroutine.
type driver[T any] struct {
	*Reflector[T]
	ctx context.Context

	// The list under way.
	release     func() // gives the limiter's place back
	replacement Replacement[T]

	// The open stream.
	dog    *watchdog
	stream listwatch.Stream[T]
	rest   []listwatch.Event[T] // read from stream, behind the end mark of its list
	listed bool                 // past that mark, or there is none
}

func (d *driver[T]) do(act action) input {
	switch act.do {
	case doBegin:
		return d.begin()
	case doList:
		return d.list(act)
	case doStream, doWatch:
		return d.open(act)
	case doRead:
		return d.read(act)
	case doCommit, doClear:
		return d.commit(act)
	case doWait:
		return d.wait(act)
	}
	panic("BUG: reflector: unknown action")
}

// begin waits for a place among the lists, unless there is one already, and starts a replacement.
func (d *driver[T]) begin() input {
	d.endStream()
	d.replacement = nil
	if d.release == nil {
		d.board.enter(d.opts.Clock.Now(), Queued)
		release, err := d.opts.Limiter.Acquire(d.ctx, d.opts.Priority)
		if err != nil {
			return input{kind: cancelled, err: err}
		}
		d.release = release
	}
	d.board.enter(d.opts.Clock.Now(), Listing)
	d.board.set(func(s *Status) { s.Received, s.Expected = 0, -1 })
	d.replacement = d.sink.Replace(d.ctx)
	return input{kind: begun}
}

// endList drops what was not committed and gives the place back.
func (d *driver[T]) endList() {
	d.replacement = nil
	if d.release != nil {
		d.release()
		d.release = nil
	}
}

func (d *driver[T]) endStream() {
	d.rest = nil
	if d.stream != nil {
		// A stream is stopped whatever it thinks of that.
		_ = safely("Stream.Stop", func() error { d.stream.Stop(); return nil })
		d.stream = nil
	}
	if d.dog != nil {
		d.dog.close()
		d.dog = nil
	}
}

func (d *driver[T]) list(act action) input {
	got, late, err := listPage(d.ctx, d.source, d.opts.Clock, act.until, act.opts)
	switch {
	case late:
		return input{kind: timedOut}
	case err != nil:
		return input{kind: failed, err: during("list", err)}
	}
	if err := d.replacement.Add(got.Items); err != nil {
		return input{kind: applyFailed, err: during("take in a page", err)}
	}
	d.board.set(func(s *Status) {
		s.Received += int64(len(got.Items))
		s.Expected = -1
		if got.Remaining >= 0 {
			s.Expected = s.Received + got.Remaining
		}
	})
	return input{kind: page, rv: got.ResourceVersion, cont: got.Continue}
}

func (d *driver[T]) open(act action) input {
	d.listed = act.do == doWatch
	if d.listed {
		d.endList()
		d.endStream()
		d.board.enter(d.opts.Clock.Now(), Watching)
	}
	d.dog = newWatchdog(d.ctx, d.opts.Clock, act.until)
	err := safely("Source.Watch", func() (err error) {
		d.stream, err = d.source.Watch(d.dog.ctx, act.opts)
		if err == nil && d.stream == nil {
			err = errors.New("the source returned no stream and no error")
		}
		return err
	})
	if err != nil {
		d.stream = nil
		return d.failure(failed, during("watch", err))
	}
	return input{kind: opened}
}

func (d *driver[T]) read(act action) input {
	d.dog.move(act.until)
	events := d.rest
	d.rest = nil
	if len(events) == 0 {
		err := safely("Stream.Next", func() (err error) {
			events, err = d.stream.Next(d.dog.ctx)
			return err
		})
		if err != nil {
			if !isEOF(err) {
				err = during("watch", err)
			}
			return d.failure(ended, err)
		}
	}
	if !d.listed {
		return d.gather(events)
	}
	if err := d.sink.Apply(d.ctx, events); err != nil {
		return input{kind: applyFailed, err: during("take in events", err)}
	}
	return summary(events)
}

// gather puts the events of a streaming list into the replacement, up to its end mark.
func (d *driver[T]) gather(events []listwatch.Event[T]) input {
	d.dog.sleep() // a slow sink is no silent server
	var items []listwatch.Item[T]
	var err error
	flush := func() {
		if err == nil && len(items) > 0 {
			err = d.replacement.Add(items)
			clear(items)
			items = items[:0]
		}
	}
	end := false
	for i := range events {
		switch ev := &events[i]; ev.Type {
		case listwatch.Added, listwatch.Modified:
			items = append(items, ev.Item)
		case listwatch.Deleted:
			if flush(); err == nil {
				err = d.replacement.Remove(ev.Item.Key)
			}
		case listwatch.Bookmark:
			end = ev.InitialEventsEnd
		}
		if end {
			events, d.rest = events[:i+1], events[i+1:]
			break
		}
	}
	if flush(); err != nil {
		return input{kind: applyFailed, err: during("take in a streaming list", err)}
	}
	in := summary(events)
	in.end, d.listed = end, end
	d.board.set(func(s *Status) { s.Received += int64(in.events - in.marks) })
	return in
}

// summary is what the machine needs to know of events.
func summary[T any](events []listwatch.Event[T]) input {
	in := input{kind: batch, events: len(events)}
	for i := range events {
		in.rv = newest(in.rv, events[i].Item.ResourceVersion)
		if events[i].Type == listwatch.Bookmark {
			in.marks++
		}
	}
	return in
}

func (d *driver[T]) commit(act action) input {
	if act.do == doClear {
		d.endStream()
		d.replacement = d.sink.Replace(d.ctx)
	}
	if err := d.replacement.Commit(act.info); err != nil {
		return input{kind: applyFailed, err: during("commit a list", err)}
	}
	d.endList()
	if act.do == doClear {
		return input{kind: cleared}
	}
	return input{kind: committed}
}

func (d *driver[T]) wait(act action) input {
	d.endStream()
	d.endList()
	timer := d.opts.Clock.NewTimer(act.until.Sub(d.opts.Clock.Now()))
	defer timer.Stop()
	select {
	case <-timer.C():
		return input{kind: woke}
	case <-d.ctx.Done():
		return input{kind: cancelled, err: context.Cause(d.ctx)}
	}
}

// failure tells a failure of the source from a time that came.
func (d *driver[T]) failure(kind inputKind, err error) input {
	if d.dog.barked() {
		return input{kind: timedOut}
	}
	return input{kind: kind, err: err}
}

// during says what a failure interrupted.
func during(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }

// publish puts what a step means for the status on the board.
func (d *driver[T]) publish(now time.Time, in input, act action) {
	m := &d.machine
	d.board.set(func(s *Status) {
		s.Attempts, s.ResourceVersion, s.NoStreaming = m.attempts, m.rv, m.noStreaming
		switch in.kind {
		case committed:
			s.Lists++
			s.LastError = nil
		case batch:
			s.LastEvent = now
		}
		if d.listed && (in.kind == opened || in.kind == batch) {
			s.LastError = nil
		}
		if act.report != nil {
			s.LastError, s.LastErrorAt = act.report, now
		}
		switch {
		case act.do == doCommit && act.info.Reset:
			s.Resets++
		case act.do == doRead && d.listed:
			s.enter(now, Watching)
		case act.do == doWait:
			s.enter(now, BackingOff)
			s.RetryAt = act.until
		}
	})
}

// tell calls the user's function, whose panic is not this reflector's end.
func (d *driver[T]) tell(err error) {
	if d.opts.OnError == nil {
		return
	}
	if bad := safely("Options.OnError", func() error { d.opts.OnError(d.ctx, err); return nil }); bad != nil {
		d.board.set(func(s *Status) { s.LastError = d.named(errors.Join(bad, err)) })
	}
}

// safely turns a panic of the source into an error.
func safely(call string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Call: call, Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}
