// Package got offers what package want does, but for what the tests name.
package got

import "io"

const (
	Same        = "same"
	Changed     = 2
	Typed   int = 2
)

type Number int

var (
	Reader  io.Reader
	Retyped int64
)

func Plain(title string, others ...Number) error     { return nil }
func Renamed(after string) (m Number, problem error) { return 0, nil }
func Variadic(all []string)                          {}
func Generic[E interface{ ~int | ~string }](t E) []E { return nil }
func Constrained[T any](t T)                         {}
func Callback(f func(x int, y int) bool)             {}
func Channels(in <-chan chan int, out chan<- int)    {}
func Extra()                                         {}

var KindChanged func()

type Alias = map[string]*Number

type Open struct {
	A int
	B string
}

type Grown struct {
	A int
	B int
}

type Hidden struct {
	A int
	Number
	c string
}

type NoKey struct {
	A      int
	hidden []int
}

func (h Hidden) Value()          {}
func (h *Hidden) Pointer()       {}
func (h *Hidden) BecamePointer() {}
func (h *Hidden) Retyped(n int)  {}

type Iface interface {
	Do(n Number) error
	io.Closer
}

type Widened interface {
	Do()
	More()
}

type Box[K comparable] struct{ V K }

func (b *Box[K]) Get() K { return b.V }
