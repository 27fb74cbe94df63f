package informer

import (
	"reflect"

	"github.com/informerkit/informerkit/store"
)

// SampleSize is how many objects of an informer [Group.Inventory] measures, evenly spread over all.
const SampleSize = 64

// estimate is what the objects of a snapshot take in memory, in bytes.
func estimate[T any](snapshot *store.Snapshot[T]) int64 {
	total := snapshot.Len()
	every := max(1, total/SampleSize)
	var n, measured, bytes int64
	for _, obj := range snapshot.All() {
		if n++; n%int64(every) == 0 {
			measured++
			bytes += sizeOf(obj)
		}
	}
	if measured == 0 {
		return 0
	}
	return bytes * int64(total) / measured
}

// sizeOf is what v takes in memory with everything it refers to, in bytes: what is referred to twice counts once, but parts of a
// string or slice that others share count for each. Functions and channels don't count.
func sizeOf(v any) int64 {
	m := measure{seen: map[seenAt]struct{}{}}
	return m.behind(reflect.ValueOf(v))
}

type measure struct{ seen map[seenAt]struct{} }

// seenAt is a place in memory. A struct and its first field share an address.
type seenAt struct {
	at  uintptr
	typ reflect.Type
}

func (m *measure) first(v reflect.Value) bool {
	k := seenAt{v.Pointer(), v.Type()}
	if _, ok := m.seen[k]; ok {
		return false
	}
	m.seen[k] = struct{}{}
	return true
}

// Roughly what the runtime's allocator and maps add: sizes are rounded up to classes; a map has a power of two of slots, a
// control byte for each, and keeps an eighth of them free once there are more than eight.
const (
	granule   = 16
	mapHeader = 48
	mapGroup  = 8
)

func rounded(size int64) int64 { return (size + granule - 1) / granule * granule }

// behind is the memory that v refers to, v itself not included.
func (m *measure) behind(v reflect.Value) int64 {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || !m.first(v) {
			return 0
		}
		return rounded(int64(v.Elem().Type().Size())) + m.behind(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		inner := v.Elem()
		if inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Map {
			return m.behind(inner) // pointers are not boxed
		}
		return rounded(int64(inner.Type().Size())) + m.behind(inner)
	case reflect.String:
		return rounded(int64(v.Len()))
	case reflect.Slice:
		if v.IsNil() || v.Cap() == 0 || !m.first(v) {
			return 0
		}
		size := rounded(int64(v.Cap()) * int64(v.Type().Elem().Size()))
		return size + m.elements(v)
	case reflect.Array:
		return m.elements(v)
	case reflect.Map:
		return m.mapped(v)
	case reflect.Struct:
		var size int64
		for n := range v.NumField() {
			size += m.behind(v.Field(n))
		}
		return size
	}
	return 0
}

func (m *measure) elements(v reflect.Value) int64 {
	if flat(v.Type().Elem().Kind()) {
		return 0
	}
	var size int64
	for n := range v.Len() {
		size += m.behind(v.Index(n))
	}
	return size
}

func (m *measure) mapped(v reflect.Value) int64 {
	if v.IsNil() || !m.first(v) {
		return 0
	}
	entry := int64(v.Type().Key().Size()+v.Type().Elem().Size()) + 1
	slots := int64(mapGroup)
	for v.Len() > mapGroup && int64(v.Len()) > slots*7/8 {
		slots *= 2
	}
	size := mapHeader + rounded(slots*entry)
	for it := v.MapRange(); it.Next(); {
		size += m.behind(it.Key()) + m.behind(it.Value())
	}
	return size
}

// flat reports that values of the kind refer to nothing.
func flat(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Complex128 && k != reflect.Uintptr
}
