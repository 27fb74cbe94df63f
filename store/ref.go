package store

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// ref is a stored object as one word, so that an update is one atomic write beside readers that take no lock: the object
// itself if T is a pointer type, else a pointer to a copy that never changes. Copying a page for each update instead
// costs 400 bytes of garbage, and a pointer to every object another cache miss per object listed (BenchmarkUpdate,
// BenchmarkAll). The zero ref is no object.
type ref struct{ p unsafe.Pointer }

func setRef(at *ref, r ref) { atomic.StorePointer(&at.p, r.p) }

func (r *ref) load() ref { return ref{atomic.LoadPointer(&r.p)} }

// refs turns objects into refs and back.
type refs[T any] struct {
	direct bool // T is a pointer type
}

// nilObject stands for a stored nil.
var nilObject = ref{unsafe.Pointer(new(uint64))}

func newRefs[T any]() refs[T] { return refs[T]{reflect.TypeFor[T]().Kind() == reflect.Pointer} }

func (f refs[T]) pack(obj T) ref {
	if !f.direct {
		return ref{unsafe.Pointer(boxed(obj))}
	}
	if r := (ref{*(*unsafe.Pointer)(unsafe.Pointer(&obj))}); r.p != nil {
		return r
	}
	return nilObject
}

func boxed[T any](obj T) *T { return &obj }

func (f refs[T]) unpack(r ref) (obj T) {
	if !f.direct {
		return *(*T)(r.p)
	}
	if r == nilObject {
		return obj
	}
	return *(*T)(unsafe.Pointer(&r.p))
}

// copyPointers copies pointers that only the caller changes to where only the caller reads: 64 atomic writes, one by one,
// take as long as all the rest of an update after a snapshot.
func copyPointers[V any](to, from *[chunkLen]atomic.Pointer[page[V]]) {
	*(*[chunkLen]unsafe.Pointer)(unsafe.Pointer(to)) = *(*[chunkLen]unsafe.Pointer)(unsafe.Pointer(from))
}

// getRef returns the object under key in c, the newest version or a snapshot's, beside the writer. The zero ref: none.
func getRef(c *content[ref], key string) ref {
	hash, h := hashOf(key), c.hints
	for i := h.start(hash); ; {
		e := h.entries[i].Load()
		if e == 0 {
			return ref{}
		}
		if uint32(e>>hintHash) == hash {
			slot := uint32(e) - 1
			if n := int(slot >> slotBits); n < len(c.chunks) {
				j, k := split(slot)
				// The value first: a key is there before its value is, and stays as long as anybody can find it there.
				if p := c.chunks[n].pages[j].Load(); p != nil {
					if r := p[k].val.load(); r.p != nil && p[k].key == key {
						return r
					}
				}
			}
		}
		if i++; i == len(h.entries) {
			i = 0
		}
	}
}
