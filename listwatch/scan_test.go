package listwatch

import (
	"bytes"
	stdjson "encoding/json"
	"io"
	"reflect"
	"testing"
	"testing/iotest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
)

// identity as encoding/json sees it.
func decodedIdentity(b []byte) (id identity, ok bool) {
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil || m == nil {
		return id, false
	}
	id.apiVersion, _ = m["apiVersion"].(string)
	id.kind, _ = m["kind"].(string)
	md, _ := m["metadata"].(map[string]any)
	id.name, _ = md["name"].(string)
	id.namespace, _ = md["namespace"].(string)
	id.uid, _ = md["uid"].(string)
	id.resourceVersion, _ = md["resourceVersion"].(string)
	return id, true
}

var documents = []string{
	`{}`, ` { } `, `[]`, `null`, `7`, `"x"`, `true`, `{"metadata":null}`, `{"metadata":[1,2]}`, `{"metadata":"m"}`,
	`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"3"}}`,
	"{\n \"spec\" : { \"x\" : [ 1 , -2.5e3 , \"]}\\\"\" , { } ] } ,\n \"metadata\" : { \"name\" : \"a\\u0062\\\"c\" , \"uid\" : \"ü\" } }",
	`{"metadata":{"name":5,"labels":{"name":"no"},"resourceVersion":"1"},"kind":false}`,
	`{"a":{"b":{"c":[[[["\\"]]]]}},"k\u0069nd":"Pod"}`,
	`{"kind":"\ud83d\ude00"}`,
}

func FuzzIdentify(f *testing.F) {
	for _, d := range documents {
		f.Add([]byte(d))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if !stdjson.Valid(b) || !uniqueNames(b) {
			return
		}
		want, isObject := decodedIdentity(b)
		got, err := identifyJSON(b)
		if (err == nil) != isObject || got != want {
			t.Errorf("%s: %+v, %v; want %+v", b, got, err, want)
		}
	})
}

// uniqueNames reports that no object of b has a name twice: of such objects decoders merge or drop what they like.
func uniqueNames(b []byte) bool {
	ok := true
	seen := map[string]bool{}
	eachField(b, func(name, value []byte) {
		ok = ok && !seen[string(name)] && uniqueNames(value)
		seen[string(name)] = true
	})
	eachElement(b, func(value []byte) { ok = ok && uniqueNames(value) })
	return ok
}

func TestEachElementAgreesWithEncodingJSON(t *testing.T) {
	for _, d := range append(documents, `[1]`, `[ 1 , "a,]" , {"b":[2]} , null ]`, `[[],[ ]]`) {
		var want []stdjson.RawMessage
		if stdjson.Unmarshal([]byte(d), &want) != nil {
			want = nil
		}
		var got []stdjson.RawMessage
		eachElement([]byte(d), func(v []byte) { got = append(got, v) })
		if len(got) != len(want) {
			t.Errorf("%s: %q, want %q", d, got, want)
			continue
		}
		for i := range got {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("%s: %q, want %q", d, got, want)
			}
		}
	}
}

// FuzzFrames splits a stream of JSON values at any places and expects the values.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(`{"a":"}{\\\""} {"b":[{}]}`+"\n\n"+`{}`), uint8(1))
	f.Add([]byte("{\n  \"pretty\": true\n}\n{\"x\":1}"), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, chunk uint8) {
		var want []string
		dec := stdjson.NewDecoder(bytes.NewReader(b))
		for {
			var v stdjson.RawMessage
			err := dec.Decode(&v)
			if err == io.EOF {
				break
			}
			if err != nil || v[0] != '{' {
				return // only streams of JSON objects are of interest
			}
			want = append(want, string(v))
		}
		fr := frames{body: &chunks{b, int(chunk)%7 + 1}}
		var got []string
		for {
			frame, ok, err := fr.next(true)
			if err == io.EOF {
				break
			}
			if err != nil || !ok {
				t.Fatalf("after %q: %v, %v", got, ok, err)
			}
			got = append(got, string(frame))
		}
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("frames %q, want %q", got, want)
		}
	})
}

type chunks struct {
	b []byte
	n int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:min(c.n, len(c.b))])
	c.b = c.b[n:]
	return n, nil
}

func TestFramesOfMessagesByTheByte(t *testing.T) {
	messages := []string{"first", "", "\n{\"third\"}"}
	var stream []byte
	for _, m := range messages {
		stream = append(stream, 0, 0, 0, byte(len(m)))
		stream = append(stream, m...)
	}
	fr := frames{body: iotest.OneByteReader(bytes.NewReader(stream))}
	for _, want := range messages {
		if got, ok, err := fr.next(true); err != nil || !ok || string(got) != want {
			t.Errorf("frame %q, %v, %v; want %q", got, ok, err, want)
		}
	}
	if _, _, err := fr.next(true); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestFramesThatAreTooLarge(t *testing.T) {
	fr := frames{body: bytes.NewReader([]byte{0x7f, 0xff, 0xff, 0xff, 0})}
	if _, _, err := fr.next(true); err == nil || err == io.EOF {
		t.Errorf("a message of 2 GB: %v", err)
	}
}

func TestFramesNeverWaitForNothing(t *testing.T) {
	fr := frames{body: iotest.ErrReader(io.ErrClosedPipe)}
	if _, ok, err := fr.next(false); ok || err != nil {
		t.Errorf("without blocking: %v, %v", ok, err)
	}
	if _, _, err := fr.next(true); err != io.ErrClosedPipe {
		t.Errorf("blocking: %v", err)
	}
}

// FuzzCodec feeds what no server should send: it may be refused, and must not panic.
func FuzzCodec(f *testing.F) {
	f.Add([]byte(threePods))
	f.Add([]byte("k8s\x00\n\x0d\n\x02v1\x12\x07PodList\x12\x02\n\x00"))
	f.Add([]byte(event("ADDED", podJSON("a", "1", `"n"`))))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := newCodec[*metav1.Status]()
		if err != nil {
			t.Fatal(err)
		}
		if page, err := c.page(b); err == nil {
			for i := range page.Items {
				_, _ = page.Items[i].Object()
			}
		}
		if ev, err := c.event(b); err == nil && ev.Type != Bookmark {
			_, _ = ev.Item.Object()
		}
	})
}
