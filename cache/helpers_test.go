package cache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newPod makes a pod of a key and resource version.
func newPod(key, rv string) *corev1.Pod {
	name, err := ParseObjectName(key)
	if err != nil {
		panic(err)
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, ResourceVersion: rv}}
}

// newPods makes pods of "KEY@RV".
func newPods(states ...string) []any {
	list := []any{}
	for _, state := range states {
		key, rv, _ := strings.Cut(state, "@")
		list = append(list, newPod(key, rv))
	}
	return list
}

// state writes what may be in a store or queue, for comparisons.
func state(obj any) string {
	switch obj := obj.(type) {
	case nil:
		return "nil"
	case *corev1.Pod:
		return MetaObjectToName(obj).String() + "@" + obj.ResourceVersion
	case DeletedFinalStateUnknown:
		return fmt.Sprintf("lost(%s, %s)", obj.Key, state(obj.Obj))
	case Delta:
		return fmt.Sprintf("%s %s", obj.Type, state(obj.Object))
	case Deltas:
		return strings.Join(states(obj), "; ")
	case ReplacedAllInfo:
		return fmt.Sprintf("%v as of %s", states(obj.Objects), obj.ResourceVersion)
	case BookmarkInfo:
		return obj.ResourceVersion
	}
	return fmt.Sprintf("%v", obj)
}

func states[T any](objs []T) []string {
	all := []string{}
	for _, obj := range objs {
		all = append(all, state(obj))
	}
	return all
}

func sortedStates[T any](objs []T) []string {
	return slices.Sorted(slices.Values(states(objs)))
}

// check compares; what names what is compared.
func check[T any](t testing.TB, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// succeed fails the test on an error.
func succeed(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// wantKeyError checks that the error is a KeyError about obj that wraps the key function's.
func wantKeyError(t testing.TB, err error, obj any) {
	t.Helper()
	var keyError KeyError
	if !errors.As(err, &keyError) {
		t.Errorf("got error %v, want a KeyError", err)
		return
	}
	if keyError.Obj != obj || keyError.Unwrap() == nil {
		t.Errorf("got %#v, want a KeyError about %v that wraps another", keyError, obj)
	}
}

// script is where random calls come from: the decisions are its bytes, one each, and end with them.
type script struct {
	bytes []byte
}

func (s *script) ended() bool { return len(s.bytes) == 0 }

// pick returns a number below n.
func (s *script) pick(n int) int {
	if s.ended() {
		return 0
	}
	b := s.bytes[0]
	s.bytes = s.bytes[1:]
	return int(b) % n
}

func (s *script) key() string { return string(rune('a' + s.pick(5))) }

// pods makes a list of pods with versions from next.
func (s *script) pods(next func() string) []any {
	list := []any{}
	for range s.pick(5) {
		list = append(list, newPod(s.key(), next()))
	}
	return list
}

// randomScripts runs f on scripts of a fixed seed.
func randomScripts(t *testing.T, f func(t *testing.T, s *script)) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 500 {
		bytes := make([]byte, 1+random.IntN(80))
		for j := range bytes {
			bytes[j] = byte(random.Uint32())
		}
		f(t, &script{bytes: slices.Clone(bytes)})
		if t.Failed() {
			t.Fatalf("script %d: %v", i, bytes)
		}
	}
}

// fuzzScripts fuzzes f.
func fuzzScripts(f *testing.F, run func(t *testing.T, s *script)) {
	f.Add([]byte("0123456789abcdefghijklmnop"))
	f.Fuzz(func(t *testing.T, bytes []byte) { run(t, &script{bytes: bytes}) })
}

// versions makes resource versions that grow.
func versions() func() string {
	n := 0
	return func() string {
		n++
		return fmt.Sprint(n)
	}
}
