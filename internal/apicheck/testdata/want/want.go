// Package want is the API that package got is compared with.
package want

import "io"

const (
	Same           = "same"
	Changed        = 1
	Typed   Number = 2
	Gone           = true
)

type Number int

var (
	Reader  io.Reader
	Retyped int
)

func Plain(name string, more ...Number) error        { return nil }
func Renamed(before string) (n Number, err error)    { return 0, nil }
func Variadic(all ...string)                         {}
func Generic[T interface{ ~int | ~string }](t T) []T { return nil }
func Constrained[T comparable](t T)                  {}
func Callback(f func(a int, b string) bool)          {}
func Channels(in <-chan chan int, out chan<- int)    {}
func Missing()                                       {}
func KindChanged()                                   {}
func unexported()                                    {}

type Alias = map[string]*Number

type Open struct {
	A int
	B string
}

type Grown struct{ A int }

type Hidden struct {
	A      int
	Lost   string
	Number // embedded
	b      int
}

type NoKey struct {
	A      int
	hidden int
}

func (h Hidden) Value()            {}
func (h *Hidden) Pointer()         {}
func (h Hidden) BecamePointer()    {}
func (h *Hidden) Gone()            {}
func (h *Hidden) Retyped(n Number) {}

type Iface interface {
	io.Closer
	Do(n Number) error
}

type Widened interface{ Do() }

type Box[T comparable] struct{ V T }

func (b *Box[T]) Get() T { return b.V }
