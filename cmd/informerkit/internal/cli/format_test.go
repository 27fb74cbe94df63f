package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

var noon = time.Date(2025, 3, 1, 12, 0, 0, 250e6, time.UTC)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return u
}

// records are a pod's life, and a node.
func records(t *testing.T) []record {
	pod := func(rv, rest string) *unstructured.Unstructured {
		return parse(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web-1","resourceVersion":"`+rv+`",
			"creationTimestamp":"2025-03-01T11:55:00Z","labels":{"tier":"gold","app":"web"},"managedFields":[{"manager":"`+rv+`"}]},`+rest+`}`)
	}
	pending := pod("101", `"spec":{"containers":[{"name":"web","image":"web:1"}]},"status":{"phase":"Pending"}`)
	running := pod("1234567", `"spec":{"nodeName":"node-1","containers":[{"name":"web","image":"web:2"}]},"status":{"phase":"Running"}`)
	node := parse(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"node-with-a-name-of-some-length.example.com","resourceVersion":"7"},
		"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	return []record{
		{at: noon, typ: typeAdded, key: "shop/web-1", object: pending, initial: true},
		{at: noon.Add(time.Second), typ: typeUpdated, key: "shop/web-1", old: pending, object: running},
		{at: noon.Add(2 * time.Second), typ: typeAdded, key: "node-with-a-name-of-some-length.example.com", object: node},
		{at: noon.Add(3 * time.Second), typ: typeDeleted, key: "shop/web-1", object: running},
		{at: noon.Add(3 * time.Second), typ: typeDeleted, key: "shop/web-1", object: running, lastKnown: true},
	}
}

func TestOutputs(t *testing.T) {
	for _, test := range []struct {
		output        string
		managedFields bool
		want          string
	}{
		{output: outputLines, want: `
TIME          EVENT    OBJECT                               RV  AGE
12:00:00.250  ADDED    shop/web-1                          101  5m
12:00:01.250  UPDATED  shop/web-1                        1234567  5m1s
12:00:02.250  ADDED    node-with-a-name-of-some-length.example.com        7  -
12:00:03.250  DELETED  shop/web-1                                   1234567  5m3s
12:00:03.250  DELETED  shop/web-1                                   1234567  5m3s  (last known)
`},
		{output: outputWide, want: `
TIME          EVENT    OBJECT                               RV  AGE   STATUS    NODE      LABELS
12:00:00.250  ADDED    shop/web-1                          101  5m    Pending   -         app=web,tier=gold
12:00:01.250  UPDATED  shop/web-1                        1234567  5m1s  Running   node-1    app=web,tier=gold
12:00:02.250  ADDED    node-with-a-name-of-some-length.example.com        7  -     NotReady  -         -
12:00:03.250  DELETED  shop/web-1                                   1234567  5m3s  Running   node-1    app=web,tier=gold
12:00:03.250  DELETED  shop/web-1                                   1234567  5m3s  Running   node-1    app=web,tier=gold  (last known)
`},
		{output: outputDiff, want: `
TIME          EVENT    OBJECT                               RV  AGE
12:00:00.250  ADDED    shop/web-1                          101  5m
12:00:01.250  UPDATED  shop/web-1                        1234567  5m1s
              spec.containers[name=web].image: "web:1" -> "web:2"
              spec.nodeName: <none> -> "node-1"
              status.phase: "Pending" -> "Running"
12:00:02.250  ADDED    node-with-a-name-of-some-length.example.com        7  -
12:00:03.250  DELETED  shop/web-1                                   1234567  5m3s
12:00:03.250  DELETED  shop/web-1                                   1234567  5m3s  (last known)
`},
		{output: outputDiff, managedFields: true, want: `
TIME          EVENT    OBJECT                               RV  AGE
12:00:00.250  ADDED    shop/web-1                          101  5m
12:00:01.250  UPDATED  shop/web-1                        1234567  5m1s
              metadata.managedFields[0].manager: "101" -> "1234567"
              spec.containers[name=web].image: "web:1" -> "web:2"
              spec.nodeName: <none> -> "node-1"
              status.phase: "Pending" -> "Running"
12:00:02.250  ADDED    node-with-a-name-of-some-length.example.com        7  -
12:00:03.250  DELETED  shop/web-1                                   1234567  5m3s
12:00:03.250  DELETED  shop/web-1                                   1234567  5m3s  (last known)
`},
	} {
		f, err := newFormatter(test.output, test.managedFields)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range f.header() {
			got = append(got, l.Text)
		}
		for _, r := range records(t) {
			for _, l := range f.lines(r) {
				got = append(got, l.Text)
			}
		}
		if text := "\n" + strings.Join(got, "\n") + "\n"; text != test.want {
			t.Errorf("output %q:\n%s\nwant\n%s", test.output, text, test.want)
		}
	}
	if _, err := newFormatter("yaml", false); exitCode(err) != ExitUsage {
		t.Errorf("unknown output: %v", err)
	}
}

func TestJSONOutputIsOneObjectPerLine(t *testing.T) {
	for _, managed := range []bool{false, true} {
		f, err := newFormatter(outputJSON, managed)
		if err != nil {
			t.Fatal(err)
		}
		if h := f.header(); h != nil {
			t.Errorf("header %v", h)
		}
		for i, r := range records(t) {
			before, _ := json.Marshal(r.object.Object)
			lines := f.lines(r)
			if len(lines) != 1 || strings.Contains(lines[0].Text, "\n") {
				t.Fatalf("record %d is %d lines", i, len(lines))
			}
			var got jsonRecord
			if err := json.Unmarshal([]byte(lines[0].Text), &got); err != nil {
				t.Fatal(err)
			}
			if at, err := time.Parse(time.RFC3339Nano, got.Time); err != nil || !at.Equal(r.at) {
				t.Errorf("time %s, %v", got.Time, err)
			}
			if got.Type != r.typ || got.Key != r.key || got.Initial != r.initial || got.LastKnown != r.lastKnown {
				t.Errorf("got %+v for %+v", got, r)
			}
			u := unstructured.Unstructured{Object: got.Object}
			if u.GetName() != r.object.GetName() || u.GetKind() != r.object.GetKind() || statusOf(&u) != statusOf(r.object) {
				t.Errorf("object %v", got.Object)
			}
			if has := len(u.GetManagedFields()) > 0; has != (managed && len(r.object.GetManagedFields()) > 0) {
				t.Errorf("managed fields: %v, asked for %v", has, managed)
			}
			if after, _ := json.Marshal(r.object.Object); string(after) != string(before) {
				t.Error("the object, which is the informer's, was changed")
			}
		}
	}
}

func TestJSONOutputSurvivesADisplay(t *testing.T) {
	f, err := newFormatter(outputJSON, false)
	if err != nil {
		t.Fatal(err)
	}
	odd := "tab\t del\u007f line\n <&> \u2028"
	r := record{at: noon, typ: typeAdded, key: "a", object: &unstructured.Unstructured{Object: map[string]any{"data": odd}}}
	text := f.lines(r)[0].Text
	if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
		t.Errorf("control character at %d of %q", i, text)
	}
	var got jsonRecord
	if err := json.Unmarshal([]byte(text), &got); err != nil || got.Object["data"] != odd {
		t.Errorf("got %q, %v", got.Object["data"], err)
	}
}

func TestStatusOf(t *testing.T) {
	for _, test := range []struct{ object, want string }{
		{`{}`, ""},
		{`{"status":{"phase":"Bound"}}`, "Bound"},
		{`{"metadata":{"deletionTimestamp":"2025-03-01T12:00:00Z"},"status":{"phase":"Running"}}`, "Terminating"},
		{`{"spec":{"replicas":3},"status":{"readyReplicas":2}}`, "2/3"},
		{`{"spec":{"replicas":3}}`, "0/3"},
		{`{"status":{"desiredNumberScheduled":5,"numberReady":4}}`, "4/5"},
		{`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`, "Ready"},
		{`{"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`, "NotReady"},
		{`{"status":{"conditions":[{"type":"Complete","status":"False"},{"type":"Failed","status":"True"}]}}`, "Failed"},
		{`{"status":{"conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}}`, "Complete"},
		{`{"status":{"conditions":[{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True"}]}}`, "Established"},
		{`{"status":"odd"}`, ""},
		{`{"status":{"conditions":["odd"]}}`, ""},
	} {
		u := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal([]byte(test.object), &u.Object); err != nil {
			t.Fatal(err)
		}
		if got := statusOf(u); got != test.want {
			t.Errorf("%s: got %q, want %q", test.object, got, test.want)
		}
	}
}
