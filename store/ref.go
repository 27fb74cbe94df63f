package store

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// ref is a stored object as one word, so that an update is one atomic write beside readers that take no lock. Copying a page
// for each update instead costs 400 bytes of garbage (BenchmarkUpdate). The zero ref is no object.
//
// The word is the object itself if T is a pointer type, and the data of an interface where all objects of a version are of one
// type, which the version has ([content].of). Else it is a pointer to a copy that never changes: that costs another cache miss per
// object listed, and the copy (BenchmarkAll).
type ref struct{ p unsafe.Pointer }

func setRef(at *ref, r ref) { atomic.StorePointer(&at.p, r.p) }

func (r *ref) load() ref { return ref{atomic.LoadPointer(&r.p)} }

// refs turns objects into refs and back.
type refs[T any] struct {
	kind refKind
	none ref // nilObject
}

type refKind uint8

const (
	refBoxed     refKind = iota
	refPointer           // T is a pointer type
	refInterface         // T is an interface type
)

// iface is how an interface lies in memory: what tells its dynamic type, and the data, which is a pointer always.
type iface struct{ of, data unsafe.Pointer }

// nilObject stands for a stored nil.
var nilObject = ref{unsafe.Pointer(new(uint64))}

func newRefs[T any]() refs[T] {
	f := refs[T]{none: nilObject}
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Pointer:
		f.kind = refPointer
	case reflect.Interface:
		f.kind = refInterface
	}
	return f
}

// typeOf is what tells obj's dynamic type from others; nil if T is no interface, or obj is nil.
func (f refs[T]) typeOf(obj *T) unsafe.Pointer {
	if f.kind != refInterface {
		return nil
	}
	return (*iface)(unsafe.Pointer(obj)).of
}

// pack makes a ref for a version whose objects are all of a type (nil: of any).
func (f refs[T]) pack(of unsafe.Pointer, obj T) ref {
	var r ref
	switch {
	case f.kind == refPointer:
		r.p = *(*unsafe.Pointer)(unsafe.Pointer(&obj))
	case of != nil:
		r.p = (*iface)(unsafe.Pointer(&obj)).data
	default:
		r.p = unsafe.Pointer(box(obj))
	}
	if r.p == nil {
		return f.none
	}
	return r
}

func box[T any](obj T) *T { return &obj }

// unpack returns the object of a ref. Loops over many keep f and of in variables of their own: that takes a third off the time
// per object (BenchmarkAll).
func (f refs[T]) unpack(of unsafe.Pointer, r ref) (obj T) {
	switch {
	case f.kind == refPointer:
		if r != f.none {
			obj = *(*T)(unsafe.Pointer(&r.p))
		}
	case of != nil:
		i := iface{of, r.p}
		if r == f.none {
			i.data = nil
		}
		obj = *(*T)(unsafe.Pointer(&i))
	default:
		obj = *(*T)(r.p)
	}
	return obj
}

// copyPointers copies pointers that only the caller changes to where only the caller reads: 64 atomic writes, one by one,
// take as long as all the rest of an update after a snapshot.
func copyPointers[V any](to, from *[chunkLen]atomic.Pointer[page[V]]) {
	*(*[chunkLen]unsafe.Pointer)(unsafe.Pointer(to)) = *(*[chunkLen]unsafe.Pointer)(unsafe.Pointer(from))
}

// getRef returns the object under key in c, the newest version or a snapshot's, and its slot. It reads beside the writer.
// The zero ref: there is none.
func getRef(c *content[ref], hash uint32, key string) (uint32, ref) {
	h := c.hints
	for i := h.start(hash); ; {
		e := h.entries[i].Load()
		if e == 0 {
			return 0, ref{}
		}
		if uint32(e>>hintHash) == hash {
			slot := uint32(e) - 1
			if n := int(slot >> slotBits); n < len(c.chunks) {
				j, k := split(slot)
				// The value first: a key is there before its value is, and stays as long as anybody can find it there.
				if p := c.chunks[n].pages[j].Load(); p != nil {
					if r := p[k].val.load(); r.p != nil && p[k].key == key {
						return slot, r
					}
				}
			}
		}
		if i++; i == len(h.entries) {
			i = 0
		}
	}
}
