package reflector

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/listwatch"
)

var update = flag.Bool("update", false, "write the traces in testdata anew from what the machine does")

// TestTraces replays the scenarios of testdata. Each line there that does not begin with white space or # is something that
// happens, "after D" says how long later; the indented lines are what the machine says to do then. The first line may
// set options. A place among the lists is free at once, unless "begun after D" says otherwise. -update writes the indented lines anew: read the difference before committing it.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, err := replay(want)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Equal(got, want) {
				return
			}
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("%s differs (-update writes it):\n%s", file, firstDifference(string(want), string(got)))
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			return fmt.Sprintf("line %d\nwant: %s\ngot:  %s", i+1, a, b)
		}
	}
	return ""
}

// replay feeds a machine the inputs of a trace and returns the trace with its answers.
func replay(trace []byte) ([]byte, error) {
	var out bytes.Buffer
	opts, err := Options{}.withDefaults()
	if err != nil {
		return nil, err
	}
	m := &machine{opts: opts}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	random := 0.0
	step := func(in input) action {
		act := m.step(now, random, in)
		for _, l := range describe(now, act) {
			fmt.Fprintln(&out, "    "+l)
		}
		return act
	}
	lines := strings.SplitAfter(string(trace), "\n")
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\n")
		if line == "" && i == len(lines)-1 {
			break
		}
		if strings.HasPrefix(line, " ") {
			continue // an answer: written anew
		}
		fmt.Fprintln(&out, line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		if words[0] == "options" {
			if err := setOptions(&m.opts, &random, words[1:]); err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			continue
		}
		in, after, err := parseInput(words)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		now = now.Add(after)
		act := step(in)
		if act.do == doBegin && !nextIs(lines[i+1:], "begun") {
			act = step(input{kind: begun})
		}
		if act.do == doWait {
			now = act.until
		}
	}
	return out.Bytes(), nil
}

// nextIs reports that the next thing that happens is called name.
func nextIs(lines []string, name string) bool {
	for _, l := range lines {
		if strings.TrimSpace(l) != "" && !strings.HasPrefix(l, "#") && !strings.HasPrefix(l, " ") {
			return strings.HasPrefix(l, name)
		}
	}
	return false
}

func setOptions(o *Options, random *float64, words []string) error {
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		var err error
		switch name {
		case "streaming":
			o.Streaming = map[string]Streaming{"auto": StreamingAuto, "off": StreamingOff, "on": StreamingOn}[value]
		case "page-size":
			o.PageSize, err = strconv.ParseInt(value, 10, 64)
		case "not-found":
			o.OnNotFound = map[string]NotFoundPolicy{"retry": NotFoundRetry, "clear": NotFoundClear, "stop": NotFoundStop}[value]
		case "first-list":
			o.FirstList = map[string]ListPolicy{"any": ListAny, "most-recent": ListMostRecent}[value]
		case "random":
			*random, err = strconv.ParseFloat(value, 64)
		case "internal-error-retry":
			o.InternalErrorRetry, err = time.ParseDuration(value)
		case "watch-timeout":
			o.WatchTimeout, err = time.ParseDuration(value)
		default:
			err = errors.New("unknown option " + name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parseInput reads one thing that happened.
func parseInput(words []string) (in input, after time.Duration, err error) {
	kinds := map[string]inputKind{"start": started, "resume": resumed, "begun": begun, "page": page, "opened": opened, "events": batch, "ended": ended,
		"failed": failed, "timeout": timedOut, "committed": committed, "cleared": cleared, "sink-error": applyFailed,
		"woke": woke, "cancelled": cancelled}
	kind, ok := kinds[words[0]]
	if !ok {
		return in, 0, errors.New("unknown input")
	}
	in.kind = kind
	switch kind {
	case ended:
		in.err = io.EOF
	case applyFailed:
		in.err = errors.New("sink says no")
	case cancelled:
		in.err = errors.New("context canceled")
	}
	for i := 1; i < len(words) && err == nil; i++ {
		name, value, _ := strings.Cut(words[i], "=")
		switch name {
		case "after":
			i++
			after, err = time.ParseDuration(words[i])
		case "rv":
			in.rv = value
		case "continue":
			in.cont = value
		case "n":
			in.events, err = strconv.Atoi(value)
		case "bookmarks":
			in.marks, err = strconv.Atoi(value)
			in.events = max(in.events, in.marks)
		case "end":
			in.end, in.marks = true, 1
			in.events = max(in.events, 1)
		default:
			in.err, ok = errorsByName[words[i]]
			if !ok {
				err = errors.New("unknown word " + words[i])
			}
		}
	}
	return in, after, err
}

var pods = schema.GroupResource{Resource: "pods"}

func status(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

// errorsByName are the failures a trace may name.
var errorsByName = map[string]error{
	"410":            apierrors.NewResourceExpired("too old resource version"),
	"410-fresh":      &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "continue token expired", ListMeta: metav1.ListMeta{Continue: "fresh"}}},
	"too-large":      tooLargeError(),
	"429":            status(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slow down"),
	"429-after-7s":   apierrors.NewTooManyRequests("slow down", 7),
	"500":            apierrors.NewInternalError(errors.New("etcd fell over")),
	"503":            apierrors.NewServiceUnavailable("starting"),
	"504":            apierrors.NewTimeoutError("slow", 0),
	"403":            apierrors.NewForbidden(pods, "", errors.New("no access")),
	"401":            apierrors.NewUnauthorized("who are you"),
	"404":            apierrors.NewNotFound(pods, ""),
	"405":            apierrors.NewMethodNotSupported(pods, "watch"),
	"422":            apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil),
	"no-streaming":   listwatch.ErrStreamingUnsupported,
	"refused":        fmt.Errorf("dial: %w", syscall.ECONNREFUSED),
	"stream-reset":   errors.New("stream error: stream ID 7; INTERNAL_ERROR; received from peer"),
	"unexpected-eof": io.ErrUnexpectedEOF,
	"undecodable":    &listwatch.DecodeError{Err: errors.New("bad byte")},
	"wrong-type":     &listwatch.WrongTypeError{Want: "*v1.Pod", Got: "*v1.Service"},
	"table":          listwatch.ErrTable,
}

func tooLargeError() error {
	err := apierrors.NewTimeoutError("Too large resource version: 90, current: 12", 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	return err
}

// describe says an action in words.
func describe(now time.Time, a action) []string {
	var out []string
	if a.report != nil {
		out = append(out, "report: "+a.report.Error())
	}
	within := fmt.Sprintf("within %v", a.until.Sub(now))
	switch a.do {
	case doBegin: // what follows says it
	case doList:
		out = append(out, "list "+describeOptions(a.opts)+", "+within)
	case doStream:
		out = append(out, "streaming list "+describeOptions(a.opts)+", "+within)
	case doWatch:
		out = append(out, "watch "+describeOptions(a.opts)+", "+within)
	case doRead:
		out = append(out, "read on, "+within)
	case doCommit, doClear:
		word := "commit"
		if a.do == doClear {
			word = "commit nothing"
		}
		s := fmt.Sprintf("%s rv=%q", word, a.info.ResourceVersion)
		if a.info.Reset {
			s += " reset"
		}
		if a.info.Gone {
			s += " gone"
		}
		out = append(out, s)
	case doWait:
		out = append(out, fmt.Sprintf("wait %v", a.until.Sub(now)))
	case doStop:
		out = append(out, fmt.Sprintf("stop: %v", a.err))
	}
	return out
}

func describeOptions(o metav1.ListOptions) string {
	s := fmt.Sprintf("rv=%q", o.ResourceVersion)
	if o.ResourceVersionMatch != "" {
		s += " match=" + string(o.ResourceVersionMatch)
	}
	if o.SendInitialEvents != nil {
		s += fmt.Sprintf(" initial=%v", *o.SendInitialEvents)
	}
	if o.AllowWatchBookmarks {
		s += " bookmarks"
	}
	if o.Limit != 0 {
		s += fmt.Sprintf(" limit=%d", o.Limit)
	}
	if o.Continue != "" {
		s += " continue=" + o.Continue
	}
	if o.TimeoutSeconds != nil {
		s += fmt.Sprintf(" timeout=%ds", *o.TimeoutSeconds)
	}
	return s
}
