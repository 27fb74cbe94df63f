package cache

import (
	"errors"
	"fmt"
	"testing"
)

func TestFakeCustomStoreWithoutFunctionsDoesNothing(t *testing.T) {
	s := &FakeCustomStore{}
	succeed(t, s.Add(1), s.Update(1), s.Delete(1), s.Replace(nil, ""), s.Resync())
	s.Bookmark("1")
	obj, exists, err := s.Get(1)
	check(t, "get", "<nil> false <nil>", fmt.Sprint(obj, exists, err))
	obj, exists, err = s.GetByKey("a")
	check(t, "get by key", "<nil> false <nil>", fmt.Sprint(obj, exists, err))
	check(t, "lists", "0 0", fmt.Sprint(len(s.List()), len(s.ListKeys())))
	check(t, "resource version", "", s.LastStoreSyncResourceVersion())
}

func TestFakeCustomStoreCallsItsFunctions(t *testing.T) {
	fail := errors.New("as told")
	var bookmarked string
	s := &FakeCustomStore{
		AddFunc:                          func(any) error { return fail },
		UpdateFunc:                       func(any) error { return fail },
		DeleteFunc:                       func(any) error { return fail },
		ListFunc:                         func() []any { return []any{1} },
		ListKeysFunc:                     func() []string { return []string{"k"} },
		GetFunc:                          func(obj any) (any, bool, error) { return obj, true, fail },
		GetByKeyFunc:                     func(key string) (any, bool, error) { return key, true, fail },
		ReplaceFunc:                      func([]any, string) error { return fail },
		ResyncFunc:                       func() error { return fail },
		BookmarkFunc:                     func(rv string) { bookmarked = rv },
		LastStoreSyncResourceVersionFunc: func() string { return "9" },
	}
	for _, err := range []error{s.Add(1), s.Update(1), s.Delete(1), s.Replace(nil, ""), s.Resync()} {
		check(t, "its error", true, err == fail)
	}
	s.Bookmark("7")
	check(t, "bookmarked", "7", bookmarked)
	obj, exists, err := s.Get(5)
	check(t, "get", fmt.Sprint(5, true, fail), fmt.Sprint(obj, exists, err))
	obj, exists, err = s.GetByKey("k")
	check(t, "get by key", fmt.Sprint("k", true, fail), fmt.Sprint(obj, exists, err))
	check(t, "list", []any{1}, s.List())
	check(t, "keys", []string{"k"}, s.ListKeys())
	check(t, "resource version", "9", s.LastStoreSyncResourceVersion())
}
