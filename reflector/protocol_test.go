package reflector

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/internal/versions"
)

// FuzzProtocol feeds the machine whatever can happen after what it asked for, and holds it to its promises.
func FuzzProtocol(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(binary.BigEndian.AppendUint64(nil, seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { explore(t, data) })
}

func TestProtocolKeepsItsPromises(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		data := make([]byte, 400)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if explore(t, data); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// dice are choices taken from bytes; when they run out every choice is 0.
type dice struct{ data []byte }

func (d *dice) roll(n int) int {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return int(b) % n
}

var errorNames = func() (names []string) {
	for name := range errorsByName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}()

// watcher holds the machine to its promises, action by action.
type watcher struct {
	t      *testing.T
	m      *machine
	now    time.Time
	rv     string // before the step
	waited bool   // since the last list began, or stream was opened
	gaveUp int    // lists begun without a wait
	opened time.Time
	news   bool // since the watch was opened
	whole  bool // the replacement is complete
	inList bool // there is a replacement
}

func explore(t *testing.T, data []byte) {
	d := &dice{data}
	opts, err := Options{
		Streaming:  Streaming(d.roll(3)),
		PageSize:   int64(d.roll(2)) * 50,
		FirstList:  ListPolicy(d.roll(2)),
		OnNotFound: NotFoundPolicy(d.roll(3)),

		InternalErrorRetry: time.Duration(d.roll(2)) * time.Minute,
	}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{t: t, m: &machine{opts: opts}, now: time.Unix(1e9, 0), waited: true}
	in := input{kind: started}
	for len(d.data) > 0 && !t.Failed() {
		w.rv = w.m.rv
		act := w.m.step(w.now, float64(d.roll(256))/256, in)
		w.check(in, act)
		in = w.next(d, act)
	}
}

// check is what must hold of every action.
func (w *watcher) check(in input, act action) {
	t, m := w.t, w.m
	t.Helper()
	if slices.Contains([]doing{doList, doStream, doWatch, doWait}, act.do) && !act.until.After(w.now) {
		t.Errorf("%v ends before it begins: %v", act.do, act.until.Sub(w.now))
	}
	reset := in.kind == committed && versions.Older(m.rv, w.rv)
	if versions.Older(m.rv, w.rv) && !reset {
		t.Errorf("the resource version went back from %s to %s", w.rv, m.rv)
	}
	switch act.do {
	case doBegin:
		w.beginList()
	case doList:
		if m.opts.Streaming == StreamingOn {
			t.Error("a paged list, though only streaming ones are allowed")
		}
		if m.opts.PageSize > 0 && act.opts.Limit != m.opts.PageSize {
			t.Errorf("limit %d, page size %d", act.opts.Limit, m.opts.PageSize)
		}
		checkListOptions(t, act.opts)
		if !w.inList {
			t.Error("a page of no list")
		}
	case doStream:
		if m.opts.Streaming == StreamingOff {
			t.Error("a streaming list, though they are off")
		}
		if o := act.opts; o.SendInitialEvents == nil || !*o.SendInitialEvents || o.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan || !o.AllowWatchBookmarks {
			t.Errorf("streaming list with %+v", o)
		}
		checkWatchOptions(t, act.opts)
		if !w.inList {
			t.Error("a stream of no list")
		}
		w.opened, w.news = w.now, false
	case doWatch:
		if o := act.opts; o.SendInitialEvents != nil || o.ResourceVersionMatch != "" || o.ResourceVersion != m.rv {
			t.Errorf("watch with %+v, at %s", o, m.rv)
		}
		checkWatchOptions(t, act.opts)
		if in.kind != committed && !w.waited && !w.news && w.now.Sub(w.opened) < time.Second {
			t.Error("a watch follows a fruitless one at once")
		}
		w.waited, w.inList = false, false
		w.opened, w.news = w.now, false
	case doCommit:
		if !w.inList || !w.whole {
			t.Error("a partial list is committed")
		}
		if back := m.listed && versions.Older(act.info.ResourceVersion, m.rv); back != act.info.Reset {
			t.Errorf("commit of %s after %s: reset %v", act.info.ResourceVersion, m.rv, act.info.Reset)
		}
		var told *HistoryResetError
		if act.info.Reset && (m.list.opts.ResourceVersion != "" && !m.list.read || !errors.As(act.report, &told)) {
			t.Errorf("a reset by a list at %q is reported as %v", m.list.opts.ResourceVersion, act.report)
		}
	case doClear:
		if m.opts.OnNotFound != NotFoundClear || !m.listed || !act.info.Gone {
			t.Errorf("cleared: %+v", act.info)
		}
	case doWait:
		if d := act.until.Sub(w.now); d < m.opts.Backoff.Initial {
			t.Errorf("a wait of %v", d)
		}
		w.waited, w.inList = true, false
	}
}

func (w *watcher) beginList() {
	if !w.waited {
		if w.gaveUp++; w.gaveUp > 1 {
			w.t.Error("a list follows another without a wait")
		}
	}
	w.waited, w.inList, w.whole = false, true, false
}

// checkListOptions and checkWatchOptions are the API server's own validation of list options.
func checkListOptions(t *testing.T, o metav1.ListOptions) {
	t.Helper()
	switch {
	case o.Watch || o.SendInitialEvents != nil || o.AllowWatchBookmarks:
		t.Errorf("a list with a watch's options: %+v", o)
	case o.ResourceVersionMatch != "" && (o.ResourceVersion == "" || o.Continue != ""):
		t.Errorf("a match without its resource version, or with a token: %+v", o)
	case o.Continue != "" && o.ResourceVersion != "":
		t.Errorf("a token and a resource version: %+v", o)
	}
}

func checkWatchOptions(t *testing.T, o metav1.ListOptions) {
	t.Helper()
	if o.Limit != 0 || o.Continue != "" || o.TimeoutSeconds == nil || *o.TimeoutSeconds < 1 {
		t.Errorf("a watch with %+v", o)
	}
}

// next is something that can happen after act.
func (w *watcher) next(d *dice, act action) input {
	if d.roll(60) == 0 && act.do != doStop {
		return input{kind: cancelled, err: errors.New("enough")}
	}
	if d.roll(4) > 0 {
		w.now = w.now.Add(time.Duration(d.roll(200)) * time.Duration([]int64{1e6, 1e7, 1e9}[d.roll(3)]))
	}
	failure := func() error { return errorsByName[errorNames[d.roll(len(errorNames))]] }
	late := func() input {
		w.now = later(w.now, act.until)
		return input{kind: timedOut}
	}
	switch act.do {
	case doBegin:
		return input{kind: begun}
	case doList:
		switch d.roll(8) {
		case 0:
			return input{kind: failed, err: failure()}
		case 1:
			return late()
		case 2:
			return input{kind: applyFailed, err: io.ErrShortWrite}
		case 3, 4:
			return input{kind: page, rv: w.someRV(d), cont: strconv.Itoa(d.roll(3) + 1)}
		}
		w.whole = true
		return input{kind: page, rv: w.someRV(d)}
	case doStream, doWatch:
		switch d.roll(4) {
		case 0:
			return input{kind: failed, err: failure()}
		case 1:
			return late()
		}
		w.opened = w.now
		return input{kind: opened}
	case doRead:
		switch d.roll(8) {
		case 0:
			return input{kind: ended, err: io.EOF}
		case 1:
			return input{kind: ended, err: failure()}
		case 2:
			return late()
		case 3:
			return input{kind: applyFailed, err: io.ErrShortWrite}
		}
		in := input{kind: batch, rv: w.someRV(d), events: 1 + d.roll(3), marks: d.roll(2)}
		if w.inList {
			in.end = d.roll(3) == 0
			w.whole = in.end
		}
		w.news = w.news || !w.inList && newest(w.m.rv, in.rv) != w.m.rv
		return in
	case doCommit:
		if d.roll(6) == 0 {
			return input{kind: applyFailed, err: io.ErrShortWrite}
		}
		w.inList, w.news = false, true
		return input{kind: committed}
	case doClear:
		if d.roll(6) == 0 {
			return input{kind: applyFailed, err: io.ErrShortWrite}
		}
		return input{kind: cleared}
	case doWait:
		w.now = later(w.now, act.until)
		return input{kind: woke}
	case doStop:
		w.waited, w.inList, w.gaveUp = true, false, 0
		if d.roll(3) == 0 {
			return input{kind: resumed}
		}
		return input{kind: started}
	}
	panic("unknown action")
}

// someRV is near what was seen, on either side.
func (w *watcher) someRV(d *dice) string {
	n, _ := strconv.Atoi(w.m.rv)
	switch d.roll(12) {
	case 0:
		return ""
	case 1:
		return strconv.Itoa(max(n-d.roll(20), 1))
	}
	return strconv.Itoa(n + 1 + d.roll(5))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
