package objdiff

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return m
}

func lines(changes []Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.String())
	}
	return out
}

func TestDiff(t *testing.T) {
	long := strings.Repeat("x", 100)
	tests := []struct {
		name     string
		old, new string
		ignore   []string
		want     []string
	}{
		{name: "equal", old: `{"a":{"b":[1,"x",null]}}`, new: `{"a":{"b":[1,"x",null]}}`},
		{name: "a number", old: `{"spec":{"replicas":1}}`, new: `{"spec":{"replicas":2}}`,
			want: []string{`spec.replicas: 1 -> 2`}},
		{name: "a number that became text", old: `{"n":1}`, new: `{"n":"1"}`,
			want: []string{`n: 1 -> "1"`}},
		{name: "fields in order of names", old: `{"z":1,"a":1,"m":{"z":1,"a":1}}`, new: `{"z":2,"a":2,"m":{"z":2,"a":2}}`,
			want: []string{`a: 1 -> 2`, `m.a: 1 -> 2`, `m.z: 1 -> 2`, `z: 1 -> 2`}},
		{name: "label added and removed",
			old:  `{"metadata":{"labels":{"app":"web","old":"1"}}}`,
			new:  `{"metadata":{"labels":{"app":"web","example.com/tier":"gold"}}}`,
			want: []string{`metadata.labels["example.com/tier"]: <none> -> "gold"`, `metadata.labels.old: "1" -> <none>`}},
		{name: "null is not absence", old: `{"a":null,"b":1}`, new: `{"b":null}`,
			want: []string{`a: null -> <none>`, `b: 1 -> null`}},
		{name: "type changes", old: `{"a":{"x":1},"b":[1],"c":1}`, new: `{"a":[1],"b":1,"c":{"x":1}}`,
			want: []string{`a: {"x":1} -> [1]`, `b: [1] -> 1`, `c: 1 -> {"x":1}`}},
		{name: "containers matched by name",
			old:  `{"c":[{"name":"a","image":"a:1"},{"name":"b","image":"b:1"}]}`,
			new:  `{"c":[{"name":"a","image":"a:1"},{"name":"b","image":"b:2"},{"name":"side car","image":"s:1"}]}`,
			want: []string{`c[name=b].image: "b:1" -> "b:2"`, `c[name="side car"]: <none> -> {"image":"s:1","name":"side car"}`}},
		{name: "the first of matched elements goes",
			old:  `{"c":[{"name":"a"},{"name":"b"}]}`,
			new:  `{"c":[{"name":"b"}]}`,
			want: []string{`c[name=a]: {"name":"a"} -> <none>`}},
		{name: "matched elements change places",
			old:  `{"c":[{"type":"A","status":"True"},{"type":"B"}]}`,
			new:  `{"c":[{"type":"B"},{"type":"A","status":"False"}]}`,
			want: []string{`c[type=A].status: "True" -> "False"`, `c: order ["A","B"] -> ["B","A"]`}},
		{name: "an element put first",
			old:  `{"c":[{"name":"a"}]}`,
			new:  `{"c":[{"name":"i"},{"name":"a"}]}`,
			want: []string{`c[name=i]: <none> -> {"name":"i"}`, `c: order ["a"] -> ["i","a"]`}},
		{name: "ports matched by number", old: `{"p":[{"containerPort":80},{"containerPort":81}]}`, new: `{"p":[{"containerPort":80,"protocol":"UDP"},{"containerPort":81}]}`,
			want: []string{`p[containerPort=80].protocol: <none> -> "UDP"`}},
		{name: "a name that is not unique matches nothing",
			old:  `{"c":[{"name":"a","v":1},{"name":"a","v":2}]}`,
			new:  `{"c":[{"name":"a","v":1},{"name":"a","v":3}]}`,
			want: []string{`c[1].v: 2 -> 3`}},
		{name: "element taken out of the middle", old: `{"args":["a","b","c"]}`, new: `{"args":["a","c"]}`,
			want: []string{`args[1]: "b" -> <none>`}},
		{name: "element put into the middle", old: `{"args":["a","c"]}`, new: `{"args":["a","b","c"]}`,
			want: []string{`args[1]: <none> -> "b"`}},
		{name: "elements by position", old: `{"args":["a","b","c",{"x":1}]}`, new: `{"args":["a","x","y"]}`,
			want: []string{`args[1]: "b" -> "x"`, `args[2]: "c" -> "y"`, `args[3]: {"x":1} -> <none>`}},
		{name: "list filled", old: `{"l":[]}`, new: `{"l":[{"name":"a"}]}`,
			want: []string{`l[name=a]: <none> -> {"name":"a"}`}},
		{name: "lists in lists", old: `{"l":[[1,2],[3]]}`, new: `{"l":[[1,2],[4]]}`,
			want: []string{`l[1][0]: 3 -> 4`}},
		{name: "ignored paths", ignore: []string{"metadata.managedFields", `metadata.annotations["a/b"]`},
			old:  `{"metadata":{"managedFields":[1],"annotations":{"a/b":"1","c":"1"}}}`,
			new:  `{"metadata":{"managedFields":[2],"annotations":{"a/b":"2","c":"2"}}}`,
			want: []string{`metadata.annotations.c: "1" -> "2"`}},
		{name: "long text is shortened to what differs",
			old:  `{"d":"` + long + `port=80` + long + `"}`,
			new:  `{"d":"` + long + `port=8080` + long + `"}`,
			want: []string{`d: …xxxxxxxxxxxxxxxxxport=80` + strings.Repeat("x", 24) + `… -> …xxxxxxxxxxxxxxxxxport=8080` + strings.Repeat("x", 24) + `…`}},
		{name: "long value is cut", old: `{}`, new: `{"d":"` + strings.Repeat("ä", 400) + `"}`,
			want: []string{`d: <none> -> "` + strings.Repeat("ä", 149) + `… (802 bytes)`}},
		{name: "no HTML escapes", old: `{"a":"x"}`, new: `{"a":"<&>"}`, want: []string{`a: "x" -> "<&>"`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			old, new := object(t, test.old), object(t, test.new)
			got := lines(Diff(old, new, test.ignore...))
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(test.want, "\n\t"))
			}
		})
	}
}

func TestDiffTakesNumbersOfDifferentGoTypesAsEqual(t *testing.T) {
	old := map[string]any{"n": int64(1), "m": int64(1)}
	new := map[string]any{"n": float64(1), "m": 1.5}
	if got := lines(Diff(old, new)); !slices.Equal(got, []string{"m: 1 -> 1.5"}) {
		t.Errorf("got %q", got)
	}
}
