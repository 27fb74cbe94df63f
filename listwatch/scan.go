package listwatch

import (
	"encoding/json"
	"errors"
)

// The functions here walk JSON that is known to be valid, and copy nothing. That makes reading an object's identity, or
// splitting a list, cheaper than decoding it: BenchmarkPage, decode=none.

// skipSpace returns the index of the first byte from i that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at b[i].
func skipString(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipValue returns the index after the value that begins at b[i].
func skipValue(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		for depth := 0; ; {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	return i
}

// eachField calls f with the fields of a JSON object, and with none of any other value.
func eachField(b []byte, f func(name, value []byte)) {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '{' {
		return
	}
	i = skipSpace(b, i+1)
	for b[i] != '}' {
		end := skipString(b, i)
		name := characters(b[i:end])
		i = skipSpace(b, end) + 1 // the colon
		i = skipSpace(b, i)
		end = skipValue(b, i)
		f(name, b[i:end])
		if i = skipSpace(b, end); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
}

// eachElement calls f with the elements of a JSON array, and with none of any other value.
func eachElement(b []byte, f func(value []byte)) {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != '[' {
		return
	}
	i = skipSpace(b, i+1)
	for b[i] != ']' {
		end := skipValue(b, i)
		f(b[i:end])
		if i = skipSpace(b, end); b[i] == ',' {
			i = skipSpace(b, i+1)
		}
	}
}

// text is the value of a JSON string; "" for any other value.
func text(b []byte) string {
	if b[0] != '"' {
		return ""
	}
	return string(characters(b))
}

// characters are those of a JSON string, in place where they are written as themselves.
func characters(b []byte) []byte {
	for _, c := range b {
		if c == '\\' || c >= 0x80 {
			var s string
			_ = json.Unmarshal(b, &s) // valid, as said
			return []byte(s)
		}
	}
	return b[1 : len(b)-1]
}

// identity is what can be told of an object without decoding it.
type identity struct {
	apiVersion, kind     string
	namespace, name, uid string
	resourceVersion      string
}

func (id identity) key() string { return ObjectKey(id.namespace, id.name) }

var errNotObject = errors.New("not a JSON object")

// identifyJSON reads the identity of an object from its JSON, which is valid.
func identifyJSON(b []byte) (id identity, err error) {
	if i := skipSpace(b, 0); i == len(b) || b[i] != '{' {
		return id, errNotObject
	}
	eachField(b, func(name, value []byte) {
		switch string(name) {
		case "apiVersion":
			id.apiVersion = text(value)
		case "kind":
			id.kind = text(value)
		case "metadata":
			eachField(value, func(name, value []byte) {
				switch string(name) {
				case "name":
					id.name = text(value)
				case "namespace":
					id.namespace = text(value)
				case "uid":
					id.uid = text(value)
				case "resourceVersion":
					id.resourceVersion = text(value)
				}
			})
		}
	})
	return id, nil
}
