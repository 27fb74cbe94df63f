package goroutine_test

import (
	"testing"

	"github.com/informerkit/informerkit/internal/goroutine"
)

func TestIDTellsGoroutinesApart(t *testing.T) {
	mine := goroutine.ID()
	if again := goroutine.ID(); again != mine {
		t.Errorf("one goroutine has IDs %d and %d", mine, again)
	}
	other := make(chan int64)
	go func() { other <- goroutine.ID() }()
	if id := <-other; id == mine || id == 0 {
		t.Errorf("another goroutine has ID %d, this one %d", id, mine)
	}
}
