package listwatch

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestNewItem(t *testing.T) {
	it := NewItem(pod("a", "3"))
	if it.Key != "ns/a" || it.UID != "uid-x" || it.ResourceVersion != "3" {
		t.Errorf("item = %+v", it)
	}
	if p, err := it.Object(); err != nil || p.Name != "a" {
		t.Errorf("Object = %v, %v", p, err)
	}
	node := NewItem(&corev1.Node{})
	node.Key = ""
	if n := NewItem(runtime.Object(&corev1.Node{})); n.Key != "" {
		t.Errorf("key of a nameless object = %q", n.Key)
	}
}

func TestItemsWithoutMetadataErr(t *testing.T) {
	var wrong *WrongTypeError
	plain := NewItem("text")
	if _, err := plain.Object(); !errors.As(err, &wrong) || wrong.Got != "string" {
		t.Errorf("a string: %v", err)
	}
	none := NewItem[any](nil)
	if _, err := none.Object(); !errors.As(err, &wrong) || wrong.Got != "<nil>" {
		t.Errorf("nil: %v", err)
	}
	typed := NewItem((*corev1.Pod)(nil))
	if _, err := typed.Object(); !errors.As(err, &wrong) {
		t.Errorf("typed nil: %v", err)
	}
	other := itemOf[runtime.Object]("text")
	if _, err := other.Object(); !errors.As(err, &wrong) || wrong.Want != "runtime.Object" {
		t.Errorf("of an interface type: %v", err)
	}
}

func TestLazyItemDecodesOnce(t *testing.T) {
	calls := 0
	it := LazyItem("k", "u", "1", func() (int, error) { calls++; return 7, nil })
	if calls != 0 {
		t.Error("decoded before it was asked for")
	}
	for range 2 {
		if v, err := it.Object(); v != 7 || err != nil {
			t.Errorf("Object = %d, %v", v, err)
		}
	}
	if calls != 1 {
		t.Errorf("decoded %d times", calls)
	}
}

func TestPanicWhileDecodingIsTheItemsError(t *testing.T) {
	it := LazyItem("k", "u", "1", func() (int, error) { panic("odd bytes") })
	var bad *DecodeError
	if _, err := it.Object(); !errors.As(err, &bad) || bad.Key != "k" {
		t.Errorf("Object = %v", err)
	}
}

func TestBadItem(t *testing.T) {
	boom := errors.New("boom")
	it := BadItem[int]("k", "u", "1", boom)
	if _, err := it.Object(); !errors.Is(err, boom) || it.Key != "k" || it.UID != "u" || it.ResourceVersion != "1" {
		t.Errorf("bad item = %+v, %v", it, err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a bad item without an error was accepted")
		}
	}()
	BadItem[int]("k", "", "", nil)
}

func TestObjectKey(t *testing.T) {
	if got := ObjectKey("ns", "a"); got != "ns/a" {
		t.Error(got)
	}
	if got := ObjectKey("", "a"); got != "a" {
		t.Error(got)
	}
}
