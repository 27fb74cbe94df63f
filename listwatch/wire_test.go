package listwatch

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func envelope(t *testing.T, u runtime.Unknown) []byte {
	t.Helper()
	b, err := u.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte("k8s\x00"), b...)
}

func TestEnvelope(t *testing.T) {
	id, message, err := openEnvelope(envelope(t, runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: []byte("raw")}))
	if err != nil || id.kind != "Pod" || id.apiVersion != "v1" || string(message) != "raw" {
		t.Errorf("envelope = %+v, %q, %v", id, message, err)
	}
	if _, _, err := openEnvelope(envelope(t, runtime.Unknown{ContentEncoding: "zip", Raw: []byte("raw")})); err == nil {
		t.Error("an encoding that is not known was ignored")
	}
	if _, _, err := openEnvelope([]byte("k8s\x00\x0a\xff")); !errors.Is(err, errTruncated) {
		t.Errorf("cut short: %v", err)
	}
}

// What is read off the wire is what decoding gives.
func TestIdentifyMessage(t *testing.T) {
	for name, obj := range map[string]interface {
		metav1.Object
		Marshal() ([]byte, error)
	}{
		"pod":       bigPod("a", "1"),
		"node":      &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "5", Generation: 7}},
		"event":     &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "e"}, Reason: "r", Count: 3},
		"configmap": &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}, BinaryData: map[string][]byte{"k": {0, 255}}},
		"nothing":   &corev1.Secret{},
	} {
		b, err := obj.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		var id identity
		if err := identifyMessage(b, &id); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := identity{namespace: obj.GetNamespace(), name: obj.GetName(), uid: string(obj.GetUID()), resourceVersion: obj.GetResourceVersion()}
		if id != want {
			t.Errorf("%s: %+v, want %+v", name, id, want)
		}
	}
	var id identity
	if err := identifyMessage([]byte{0x0a, 0x05, 0x0a, 0x09}, &id); !errors.Is(err, errTruncated) {
		t.Errorf("cut short: %v", err)
	}
}

func TestEmptyListOnTheWire(t *testing.T) {
	list, err := openList(nil)
	if err != nil || list.remaining != -1 || len(list.items) != 0 {
		t.Errorf("list = %+v, %v", list, err)
	}
}
