package listwatch_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/apimachinery/pkg/types"

	"github.com/informerkit/informerkit/listwatch"
)

// eighths is the shard of UIDs from a/8 to b/8 of the hashes, for each pair of numbers.
func eighths(bounds ...uint64) listwatch.Shard {
	var ranges []listwatch.HashRange
	for n := 0; n < len(bounds); n += 2 {
		ranges = append(ranges, listwatch.HashRange{Start: bounds[n] << 61, End: bounds[n+1] << 61})
	}
	shard, err := listwatch.NewShard(listwatch.ShardByUID, ranges...)
	if err != nil {
		panic(err)
	}
	return shard
}

func TestShardSelectorIsKubernetesOwn(t *testing.T) {
	const (
		half  = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
		upper = "shardRange(object.metadata.uid, '0xc000000000000000', '0x10000000000000000')"
		least = "shardRange(object.metadata.uid, '0x0000000000000000', '0x0000000000000001')"
	)
	for _, tc := range []struct {
		name            string
		shard           listwatch.Shard
		selector, words string
	}{
		{"everything", listwatch.Shard{}, "", "everything"},
		{"everything, in ranges", eighths(0, 5, 5, 8), "", "everything"},
		{"a half", eighths(0, 4), half, half},
		{"two ranges, in any order", eighths(6, 8, 0, 4), half + " || " + upper, half + " || " + upper},
		{"ranges that meet", eighths(2, 4, 0, 2), half, half},
		{"ranges that overlap", eighths(0, 3, 1, 4, 2, 3), half, half},
		{"nothing", eighths(), least, "nothing"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.shard.Selector(); got != tc.selector {
				t.Errorf("selector %q, want %q", got, tc.selector)
			}
			if got := tc.shard.String(); got != tc.words {
				t.Errorf("in words %q, want %q", got, tc.words)
			}
			if read, err := listwatch.ParseShard(tc.selector); err != nil || !tc.shard.Empty() && !read.Equal(tc.shard) {
				t.Errorf("read back: %v, %v", read, err)
			}
		})
	}
}

func TestShardsThatCanNotBeSaid(t *testing.T) {
	for _, tc := range []struct {
		name, want string
		make       func() (listwatch.Shard, error)
	}{
		{"unknown field", `"metadata.name"`, func() (listwatch.Shard, error) { return listwatch.NewShard("metadata.name") }},
		{"backward range", "[0x8, 0x4)", func() (listwatch.Shard, error) {
			return listwatch.NewShard(listwatch.ShardByUID, listwatch.HashRange{Start: 8, End: 4})
		}},
		{"range of nothing", "[0x8, 0x8)", func() (listwatch.Shard, error) {
			return listwatch.NewShard(listwatch.ShardByUID, listwatch.HashRange{Start: 8, End: 8})
		}},
		{"index too high", "shard 2 of 2", func() (listwatch.Shard, error) { return listwatch.EqualShard(listwatch.ShardByUID, 2, 2) }},
		{"no parts", "shard 0 of 0", func() (listwatch.Shard, error) { return listwatch.EqualShard(listwatch.ShardByUID, 0, 0) }},
		{"part of an unknown field", `""`, func() (listwatch.Shard, error) { return listwatch.EqualShard("", 0, 2) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := tc.make(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want one with %s", err, tc.want)
			}
		})
	}
}

func TestParseShardRefuses(t *testing.T) {
	const low, high = "'0x0000000000000000'", "'0x8000000000000000'"
	for name, selector := range map[string]string{
		"another function": "hash(object.metadata.uid, " + low + ", " + high + ")",
		"short numbers":    "shardRange(object.metadata.uid, '0x0', '0x8')",
		"capitals":         "shardRange(object.metadata.uid, " + low + ", '0xABCDABCDABCDABCD')",
		"unknown field":    "shardRange(object.metadata.name, " + low + ", " + high + ")",
		"a range of none":  "shardRange(object.metadata.uid, " + low + ", " + low + ")",
		"backward":         "shardRange(object.metadata.uid, " + high + ", '0x4000000000000000')",
		"begins at 2^64":   "shardRange(object.metadata.uid, '0x10000000000000000', '0x10000000000000000')",
		"an open end":      "shardRange(object.metadata.uid, " + low + ", " + high + ") ||",
		"two fields":       "shardRange(object.metadata.uid, " + low + ", " + high + ") || shardRange(object.metadata.namespace, " + low + ", " + high + ")",
		"only space":       " ",
	} {
		t.Run(name, func(t *testing.T) {
			if shard, err := listwatch.ParseShard(selector); err == nil {
				t.Errorf("read as %v", shard)
			}
		})
	}
}

func TestEqualShardsAreEverythingAndDisjoint(t *testing.T) {
	for _, count := range []int{1, 2, 3, 7, 64, 1000} {
		left := listwatch.Shard{}
		for index := range count {
			part, err := listwatch.EqualShard(listwatch.ShardByUID, index, count)
			if err != nil {
				t.Fatal(err)
			}
			if !part.Without(left).Empty() {
				t.Errorf("part %d of %d meets another one", index, count)
			}
			left = left.Without(part)
		}
		if !left.Empty() {
			t.Errorf("%d parts leave %v", count, left)
		}
	}
}

func TestShardOfNamespaceGoesByNamespace(t *testing.T) {
	half, err := listwatch.EqualShard(listwatch.ShardByNamespace, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	other := listwatch.Shard{}.Without(half)
	for n := range 100 {
		namespace := fmt.Sprint("ns", n)
		if half.Has("a", namespace) != half.Has("b", namespace) || half.Has("a", namespace) == other.Has("a", namespace) {
			t.Fatalf("%s is in both or in neither", namespace)
		}
	}
}

func TestShardsByDifferentFieldsCanNotBeSubtracted(t *testing.T) {
	byUID, byNamespace := eighths(0, 4), listwatch.Shard{}
	byNamespace, err := listwatch.EqualShard(listwatch.ShardByNamespace, 0, 2)
	if err != nil {
		t.Fatal(err)
	}
	if got := byUID.Without(byNamespace); !got.Equal(byUID) {
		t.Errorf("got %v", got)
	}
	if byUID.Equal(byNamespace) {
		t.Error("equal")
	}
	if nothing := byNamespace.Without(byNamespace); !nothing.Equal(eighths()) || !byUID.Without(nothing).Equal(byUID) {
		t.Error("an empty shard is like another one, and takes nothing away")
	}
}

// A shard is compared with Kubernetes' own selector, and its difference with what each of the two has.
func runShards(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	random := func() listwatch.Shard {
		var ranges []listwatch.HashRange
		for range r.IntN(4) {
			next := listwatch.HashRange{Start: r.Uint64N(16) << 60, End: r.Uint64N(16) << 60}
			if r.IntN(4) == 0 {
				next.Start = r.Uint64()
			}
			if next.End == 0 || next.Start < next.End {
				ranges = append(ranges, next)
			}
		}
		shard, err := listwatch.NewShard(listwatch.ShardByUID, ranges...)
		if err != nil {
			t.Fatal(err)
		}
		return shard
	}
	a, b := random(), random()
	if r.IntN(20) == 0 {
		a = listwatch.Shard{}
	}
	both, rest := a.Without(a.Without(b)), a.Without(b)
	read, err := listwatch.ParseShard(a.Selector())
	if err != nil || !a.Empty() && !read.Equal(a) {
		t.Fatalf("%v read back is %v, %v", a, read, err)
	}
	for range 100 {
		uid := fmt.Sprint(r.Uint64())
		if want := a.Has(uid, "") && !b.Has(uid, ""); rest.Has(uid, "") != want {
			t.Fatalf("%s: in %v without %v: %t, want %t", uid, a, b, !want, want)
		}
		if want := a.Has(uid, "") && b.Has(uid, ""); both.Has(uid, "") != want {
			t.Fatalf("%s: in both %v and %v: %t, want %t", uid, a, b, !want, want)
		}
		if a.Empty() {
			continue // has no selector
		}
		obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}
		want, err := kubernetesOwn(t, a).Matches(obj)
		if err != nil || a.Has(uid, "") != want {
			t.Fatalf("%s in %v: %t, want %t (%v)", uid, a, !want, want, err)
		}
	}
}

// kubernetesOwn is the selector of shard as Kubernetes has it.
func kubernetesOwn(t *testing.T, shard listwatch.Shard) sharding.Selector {
	t.Helper()
	var ranges []sharding.ShardRangeRequirement
	if shard.Everything() {
		return sharding.Everything()
	}
	for part := range strings.SplitSeq(shard.Selector(), " || ") {
		words := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune("(,') ", r) })
		if len(words) != 4 || words[0] != "shardRange" {
			t.Fatalf("selector %q", part)
		}
		ranges = append(ranges, sharding.ShardRangeRequirement{Key: words[1], Start: words[2], End: words[3]})
	}
	return sharding.NewSelector(ranges...)
}

func TestRandomShards(t *testing.T) {
	for seed := range uint64(2000) {
		runShards(t, seed)
	}
}

func FuzzShards(f *testing.F) {
	f.Add(uint64(math.MaxUint64))
	f.Fuzz(runShards)
}

func FuzzParseShard(f *testing.F) {
	f.Add(eighths(0, 4, 6, 8).Selector())
	f.Add("shardRange( object.metadata.namespace ,'0x0000000000000007', '0x10000000000000000' )")
	f.Fuzz(func(t *testing.T, selector string) {
		shard, err := listwatch.ParseShard(selector)
		if err != nil {
			return
		}
		again, err := listwatch.ParseShard(shard.Selector())
		if err != nil || !again.Equal(shard) {
			t.Errorf("%q is %v, which read back is %v, %v", selector, shard, again, err)
		}
	})
}
