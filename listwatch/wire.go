package listwatch

import (
	"bytes"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// What Kubernetes sends as application/vnd.kubernetes.protobuf: four bytes of magic, then an envelope (runtime.Unknown) with
// the kind and the message. See https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding.
// The field numbers here are those of the generated.proto files of k8s.io/apimachinery; every object has its metadata, and
// every list its metadata and items, under the same ones.

var protobufMagic = []byte("k8s\x00")

// cborMagic is the tag that CBOR answers begin with.
var cborMagic = []byte{0xd9, 0xd9, 0xf7}

var errTruncated = errors.New("message is cut short")

// eachBytes calls f with every field of the message that is of bytes (strings and messages are), and number with every
// varint.
func eachBytes(b []byte, f func(field protowire.Number, value []byte), number func(field protowire.Number, value uint64)) error {
	for len(b) > 0 {
		field, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errTruncated
		}
		b = b[n:]
		switch typ {
		case protowire.BytesType:
			value, n := protowire.ConsumeBytes(b)
			if n < 0 {
				return errTruncated
			}
			f(field, value)
			b = b[n:]
		case protowire.VarintType:
			value, n := protowire.ConsumeVarint(b)
			if n < 0 {
				return errTruncated
			}
			if number != nil {
				number(field, value)
			}
			b = b[n:]
		default:
			n := protowire.ConsumeFieldValue(field, typ, b)
			if n < 0 {
				return errTruncated
			}
			b = b[n:]
		}
	}
	return nil
}

// openEnvelope returns the kind and the message of what begins with the magic.
func openEnvelope(b []byte) (id identity, message []byte, err error) {
	var encoding string
	var inner error
	err = eachBytes(bytes.TrimPrefix(b, protobufMagic), func(field protowire.Number, value []byte) {
		switch field {
		case 1: // typeMeta
			inner = eachBytes(value, func(field protowire.Number, value []byte) {
				switch field {
				case 1:
					id.apiVersion = string(value)
				case 2:
					id.kind = string(value)
				}
			}, nil)
		case 2: // raw
			message = value
		case 3: // contentEncoding
			encoding = string(value)
		}
	}, nil)
	if err = errors.Join(err, inner); err != nil {
		return id, nil, fmt.Errorf("protobuf envelope: %w", err)
	}
	if encoding != "" {
		return id, nil, fmt.Errorf("protobuf envelope: unknown content encoding %q", encoding)
	}
	return id, message, nil
}

// identifyMessage adds to id what the metadata of an object's message says.
func identifyMessage(message []byte, id *identity) error {
	var inner error
	err := eachBytes(message, func(field protowire.Number, value []byte) {
		if field != 1 { // metadata
			return
		}
		inner = eachBytes(value, func(field protowire.Number, value []byte) {
			switch field {
			case 1:
				id.name = string(value)
			case 3:
				id.namespace = string(value)
			case 5:
				id.uid = string(value)
			case 6:
				id.resourceVersion = string(value)
			}
		}, nil)
	}, nil)
	return errors.Join(err, inner)
}

// wireList is the message of a list, taken apart.
type wireList struct {
	resourceVersion, cont string
	remaining             int64 // -1 unknown
	items                 [][]byte
}

func openList(message []byte) (list wireList, err error) {
	list.remaining = -1
	var inner error
	err = eachBytes(message, func(field protowire.Number, value []byte) {
		switch field {
		case 1: // metadata
			inner = eachBytes(value, func(field protowire.Number, value []byte) {
				switch field {
				case 2:
					list.resourceVersion = string(value)
				case 3:
					list.cont = string(value)
				}
			}, func(field protowire.Number, value uint64) {
				if field == 4 {
					list.remaining = int64(value)
				}
			})
		case 2:
			list.items = append(list.items, value)
		}
	}, nil)
	return list, errors.Join(err, inner)
}

// metadataOf is the metadata of an object's message; nil if it has none.
func metadataOf(message []byte) (metadata []byte) {
	_ = eachBytes(message, func(field protowire.Number, value []byte) {
		if field == 1 {
			metadata = value
		}
	}, nil)
	return metadata
}
