package apitest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// stranger is an object of another kind with o's metadata.
func stranger(e endpoint, o *object) runtime.Object {
	m := *partial(o).ObjectMeta.DeepCopy()
	if e.gvk.Group == "" && e.gvk.Kind == "ConfigMap" {
		return &corev1.Secret{TypeMeta: metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}, ObjectMeta: m}
	}
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"}, ObjectMeta: m}
}

// spoil makes an encoded object undecodable into its type, but not unreadable: what identifies it is intact.
func spoil(data []byte, mediaType string) []byte {
	if mediaType == protobufType {
		return spoilProtobuf(data)
	}
	return spoilJSON(data) // JSON is YAML too
}

func spoilJSON(data []byte) []byte {
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		panic("BUG: own JSON: " + err.Error())
	}
	if m, ok := doc["metadata"].(map[string]any); ok {
		m["creationTimestamp"] = map[string]any{"not": "a time"}
	}
	return mustJSON(doc)
}

func mustJSON(v any) []byte {
	out, err := json.Marshal(v)
	if err != nil {
		panic("BUG: own JSON: " + err.Error())
	}
	return out
}

// truncatedField is the head of a protobuf field 2 of 127 bytes, of which none follow.
var truncatedField = []byte{0x12, 0x7f}

var protobufPrefix = []byte("k8s\x00")

// spoilProtobuf lets the message in the Kubernetes envelope end within a field.
func spoilProtobuf(data []byte) []byte {
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(bytes.TrimPrefix(data, protobufPrefix)); err != nil {
		panic("BUG: own protobuf: " + err.Error())
	}
	envelope.Raw = append(envelope.Raw, truncatedField...)
	return wrapProtobuf(envelope)
}

func wrapProtobuf(envelope runtime.Unknown) []byte {
	out, err := envelope.Marshal()
	if err != nil {
		panic("BUG: own protobuf: " + err.Error())
	}
	return append(bytes.Clone(protobufPrefix), out...)
}

// writeDamagedList sends a list of which some objects are damaged: item by item.
func (c *call) writeDamagedList(l *listing) error {
	empty := c.listObject(l.endpoint, nil, l.meta)
	if c.form.mediaType == protobufType {
		body, err := c.damagedProtobuf(l, empty)
		if err != nil {
			return err
		}
		c.sendBytes(http.StatusOK, c.form.mediaType, body)
		return nil
	}
	items := make([]json.RawMessage, len(l.objects))
	for i, o := range l.objects {
		switch l.damage[i] {
		case sound:
			items[i] = mustJSON(c.listItem(o))
		case undecodable:
			items[i] = spoilJSON(mustJSON(c.listItem(o)))
		case wrongType:
			items[i] = mustJSON(stranger(c.e, o))
		}
	}
	apiVersion, kind := empty.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	c.sendBytes(http.StatusOK, c.form.mediaType, mustJSON(struct {
		metav1.TypeMeta `json:",inline"`
		metav1.ListMeta `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
	}{metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}, l.meta, items}))
	return nil
}

// listItem is o as it stands in a list.
func (c *call) listItem(o *object) runtime.Object {
	switch {
	case c.form.as == asMetadata:
		return partial(o)
	case c.e.typ != nil:
		return o.obj
	}
	return c.e.encodable(o)
}

// damagedProtobuf encodes a list by hand: in the lists of all kinds field 1 is the metadata and field 2, repeated, the items.
func (c *call) damagedProtobuf(l *listing, empty runtime.Object) ([]byte, error) {
	type message interface{ Marshal() ([]byte, error) }
	head, ok := empty.(message)
	if !ok {
		return nil, fmt.Errorf("BUG: %T has no protobuf form", empty)
	}
	raw, err := head.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", empty, err)
	}
	for i, o := range l.objects {
		item, err := c.listItem(o).(message).Marshal()
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", o.key, err)
		}
		if l.damage[i] == undecodable {
			item = append(item, truncatedField...)
		}
		raw = append(raw, 0x12)
		raw = binary.AppendUvarint(raw, uint64(len(item)))
		raw = append(raw, item...)
	}
	apiVersion, kind := empty.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind()
	return wrapProtobuf(runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: raw}), nil
}
