package objdiff

import "encoding/json"

// elementKeys are the fields that tell the elements of Kubernetes' lists apart, the most telling first: containers, volumes and
// variables have a name, conditions a type, addresses an ip, ports a number.
var elementKeys = []string{"name", "type", "key", "uid", "id", "ip", "containerPort", "port", "mountPath"}

// elementKey is the field by which the elements of both lists can be matched, "" if there is none: each element must be an object
// that has it, as a scalar, and no two of one list may share its value.
func elementKey(old, new []any) string {
	if len(old)+len(new) == 0 {
		return ""
	}
	for _, key := range elementKeys {
		if tellsApart(old, key) && tellsApart(new, key) {
			return key
		}
	}
	return ""
}

func tellsApart(list []any, key string) bool {
	seen := make(map[string]bool, len(list))
	for _, e := range list {
		m, ok := e.(map[string]any)
		if !ok {
			return false
		}
		switch v := m[key].(type) {
		case nil, map[string]any, []any:
			return false
		case string:
			if v == "" {
				return false
			}
		}
		value := elementValue(e, key)
		if seen[value] {
			return false
		}
		seen[value] = true
	}
	return true
}

// elementValue is the value of an element's field key, as text.
func elementValue(element any, key string) string {
	v := element.(map[string]any)[key]
	if s, ok := v.(string); ok {
		return s
	}
	return encode(v)
}

// Equal reports whether a and b are the same JSON.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, v := range a {
			if w, ok := b[name]; !ok || !Equal(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !Equal(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return equalScalars(a, b)
}

// equalScalars reports whether two values, the first of which is neither map nor list, are the same JSON: the numbers int64(1) and
// float64(1) are.
func equalScalars(a, b any) bool {
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	if isNumber(a) && isNumber(b) {
		return encode(a) == encode(b)
	}
	return a == b
}

func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64, json.Number, int, int32, uint64:
		return true
	}
	return false
}
