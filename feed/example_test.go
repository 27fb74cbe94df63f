package feed_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/informerkit/informerkit/feed"
)

func print(changes []feed.Change[string]) {
	for _, c := range changes {
		fmt.Printf("%v %s: %q -> %q\n", c.Kind, c.Key, c.Old, c.New)
	}
}

// One log, one writer, and two readers of which one reads only after everything has happened.
func Example() {
	log, appender := feed.New[string]()
	every := log.Cursor(feed.EveryChange)
	defer every.Close()
	latest := log.Cursor(feed.LatestState)
	defer latest.Close()

	appender.Append(feed.Change[string]{Kind: feed.Added, Key: "a", New: "a1"})
	appender.Append(
		feed.Change[string]{Kind: feed.Updated, Key: "a", Old: "a1", New: "a2"},
		feed.Change[string]{Kind: feed.Added, Key: "b", New: "b1"},
	)
	appender.Append(feed.Change[string]{Kind: feed.Deleted, Key: "b", Old: "b1", New: "b1, deleted"})

	buf := make([]feed.Change[string], 16)
	fmt.Println("every change:")
	print(buf[:every.Next(buf)])
	fmt.Println("latest state:")
	print(buf[:latest.Next(buf)])
	fmt.Println("both at", every.Position(), latest.Position(), "of", log.End())
	// Output:
	// every change:
	// Added a: "" -> "a1"
	// Updated a: "a1" -> "a2"
	// Added b: "" -> "b1"
	// Deleted b: "b1" -> "b1, deleted"
	// latest state:
	// Added a: "" -> "a2"
	// both at 4 4 of 4
}

// A reader's loop. It ends with its context.
func ExampleCursor() {
	log, appender := feed.New[string]()
	ctx, cancel := context.WithCancel(context.Background())

	c := log.Cursor(feed.EveryChange)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer c.Close()
		buf := make([]feed.Change[string], 16)
		for {
			n := c.Next(buf)
			print(buf[:n])
			clear(buf[:n])
			if c.Position() >= 2 {
				cancel() // here: enough
			}
			if n == 0 {
				select {
				case <-c.Ready():
				case <-ctx.Done():
					return
				}
			}
		}
	})

	appender.Append(feed.Change[string]{Kind: feed.Added, Key: "a", New: "a1"})
	appender.Append(feed.Change[string]{Kind: feed.Added, Key: "b", New: "b1"})
	reader.Wait()
	// Output:
	// Added a: "" -> "a1"
	// Added b: "" -> "b1"
}

// A reader that must know when it has been given all that was there at some point, and no more than that.
func ExampleCursor_NextUntil() {
	log, appender := feed.New[string]()
	c := log.Cursor(feed.LatestState)
	defer c.Close()
	initial := appender.Append(
		feed.Change[string]{Kind: feed.Added, Key: "a", New: "a1", Initial: true},
		feed.Change[string]{Kind: feed.Added, Key: "b", New: "b1", Initial: true},
	)
	appender.Append(feed.Change[string]{Kind: feed.Deleted, Key: "a", Old: "a1"})
	appender.Append(feed.Change[string]{Kind: feed.Added, Key: "c", New: "c1"})

	buf := make([]feed.Change[string], 16)
	for c.Position() < initial {
		print(buf[:c.NextUntil(buf, initial)])
	}
	fmt.Println("synced")
	print(buf[:c.Next(buf)])
	// Output:
	// Added b: "" -> "b1"
	// synced
	// Added c: "" -> "c1"
}

func ExampleCursor_Backlog() {
	log, appender := feed.New[string]()
	every, latest := log.Cursor(feed.EveryChange), log.Cursor(feed.LatestState)
	defer every.Close()
	defer latest.Close()
	for range 10 {
		appender.Append(feed.Change[string]{Kind: feed.Updated, Key: "a"}, feed.Change[string]{Kind: feed.Updated, Key: "b"})
	}
	fmt.Println(every.Backlog().Changes, "changes,", latest.Backlog().Changes, "keys")
	// Output: 20 changes, 2 keys
}

func ExampleMerge() {
	gone := feed.Change[string]{Kind: feed.Deleted, Key: "a", Old: "first a"}
	back := feed.Change[string]{Kind: feed.Added, Key: "a", New: "another a"}
	merged, _ := feed.Merge(gone, back)
	fmt.Printf("%v %s: %q -> %q\n", merged.Kind, merged.Key, merged.Old, merged.New)

	_, ok := feed.Merge(back, feed.Change[string]{Kind: feed.Deleted, Key: "a", Old: "another a"})
	fmt.Println("an effect is left of an add and a delete:", ok)
	// Output:
	// Updated a: "first a" -> "another a"
	// an effect is left of an add and a delete: false
}
