package listwatch

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/sharding"
)

// ShardField names the field of an object whose hash says to which shard the object belongs.
type ShardField string

const (
	// ShardByUID spreads objects evenly. What is made again under the same name may be in another shard.
	ShardByUID ShardField = "object.metadata.uid"
	// ShardByNamespace keeps the objects of a namespace together.
	ShardByNamespace ShardField = "object.metadata.namespace"
)

// HashRange is the hashes from Start, included, to End, left out. An End of 0 stands for the end of them all, 2^64: so {0, 0} is
// every hash.
type HashRange struct{ Start, End uint64 }

// Shard is a part of a collection: the objects of which one field hashes into certain ranges (64-bit FNV-1a, as
// metav1.ListOptions.ShardSelector has it, which servers with the feature gate ShardedListAndWatch apply). The zero Shard is
// everything. A Shard is a value: it does not change, and may be copied.
type Shard struct {
	field ShardField // "": everything
	spans []span     // in order, with hashes between them
}

// span is the hashes from first to last, both included: so every span has one, and 2^64 need not be written.
type span struct{ first, last uint64 }

const allHashes = math.MaxUint64

// NewShard is the shard of the objects whose field hashes into one of the ranges, which may overlap. Without a range it is
// empty: no object is in it. The error says that there is no such field, or which range does not begin before it ends.
func NewShard(field ShardField, ranges ...HashRange) (Shard, error) {
	if field != ShardByUID && field != ShardByNamespace {
		return Shard{}, fmt.Errorf("listwatch: shard by %q: must be %q or %q", field, ShardByUID, ShardByNamespace)
	}
	spans := make([]span, 0, len(ranges))
	for _, r := range ranges {
		if r.End != 0 && r.Start >= r.End {
			return Shard{}, fmt.Errorf("listwatch: shard range [%#x, %#x): must begin before it ends", r.Start, r.End)
		}
		spans = append(spans, span{r.Start, r.End - 1})
	}
	return shardOf(field, spans), nil
}

// EqualShard is part index, from 0, of count parts of equal size that together are everything. The error says which of the
// arguments can't be right.
func EqualShard(field ShardField, index, count int) (Shard, error) {
	if count < 1 || index < 0 || index >= count {
		return Shard{}, fmt.Errorf("listwatch: shard %d of %d: want an index from 0 and below a count of at least 1", index, count)
	}
	start, _ := bits.Div64(uint64(index), 0, uint64(count))
	if index == count-1 {
		return NewShard(field, HashRange{Start: start})
	}
	end, _ := bits.Div64(uint64(index+1), 0, uint64(count))
	return NewShard(field, HashRange{start, end})
}

// shardOf puts spans in order and joins those that meet.
func shardOf(field ShardField, spans []span) Shard {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	joined := spans[:0]
	for _, next := range spans {
		if n := len(joined); n > 0 && (joined[n-1].last == allHashes || next.first <= joined[n-1].last+1) {
			joined[n-1].last = max(joined[n-1].last, next.last)
			continue
		}
		joined = append(joined, next)
	}
	if len(joined) == 1 && joined[0] == (span{0, allHashes}) {
		return Shard{}
	}
	return Shard{field, joined}
}

// Everything reports that all objects are in the shard.
func (s Shard) Everything() bool { return s.field == "" }

// Empty reports that no object is in the shard.
func (s Shard) Empty() bool { return s.field != "" && len(s.spans) == 0 }

// Has reports whether an object of this UID and namespace is in the shard. An object without a UID counts by the hash of "".
func (s Shard) Has(uid, namespace string) bool {
	if s.Everything() {
		return true
	}
	value := uid
	if s.field == ShardByNamespace {
		value = namespace
	}
	hash, err := strconv.ParseUint(sharding.HashField(value), 16, 64)
	if err != nil {
		panic("BUG: listwatch: a hash is not a 64-bit number: " + err.Error())
	}
	n, _ := slices.BinarySearchFunc(s.spans, hash, func(at span, hash uint64) int { return cmp.Compare(at.last, hash) })
	return n < len(s.spans) && s.spans[n].first <= hash
}

// Equal reports that both are the same part. Empty shards are, whatever the field.
func (s Shard) Equal(other Shard) bool {
	return slices.Equal(s.spans, other.spans) && (s.field == other.field || s.Empty() && other.Empty())
}

// Without is the part of s that is not in other. Where the two go by different fields, which of it is can't be said in
// ranges: then it is s.
func (s Shard) Without(other Shard) Shard {
	switch {
	case other.Empty():
		return s
	case other.Everything():
		return Shard{field: cmp.Or(s.field, ShardByUID)}
	case s.Everything():
		s = Shard{other.field, []span{{0, allHashes}}}
	case s.field != other.field:
		return s
	}
	var left []span
	for _, rest := range s.spans {
		gone := false
		for _, cut := range other.spans {
			if cut.last < rest.first || cut.first > rest.last {
				continue
			}
			if cut.first > rest.first {
				left = append(left, span{rest.first, cut.first - 1})
			}
			if gone = cut.last >= rest.last; gone {
				break
			}
			rest.first = cut.last + 1
		}
		if !gone {
			left = append(left, rest)
		}
	}
	return shardOf(s.field, left)
}

// Selector is what asks a server for the shard, in metav1.ListOptions.ShardSelector; "" for everything. There is no way to ask
// for nothing: for an empty shard it is the smallest range there is.
func (s Shard) Selector() string {
	if s.Everything() {
		return ""
	}
	spans := s.spans
	if s.Empty() {
		spans = []span{{0, 0}}
	}
	ranges := make([]sharding.ShardRangeRequirement, len(spans))
	for n, at := range spans {
		ranges[n] = sharding.ShardRangeRequirement{Key: string(s.field), Start: bound(at.first), End: endOfHashes}
		if at.last != allHashes {
			ranges[n].End = bound(at.last + 1)
		}
	}
	return sharding.NewSelector(ranges...).String()
}

// endOfHashes is 2^64, which only the end of a range may be.
const endOfHashes = "0x10000000000000000"

func bound(hash uint64) string { return fmt.Sprintf("0x%016x", hash) }

// String is the selector, or "everything", or "nothing".
func (s Shard) String() string {
	switch {
	case s.Everything():
		return "everything"
	case s.Empty():
		return "nothing"
	}
	return s.Selector()
}

var shardRange = regexp.MustCompile(`^\s*shardRange\(\s*([a-zA-Z.]+)\s*,\s*'(0x[0-9a-f]{16})'\s*,\s*'(0x[0-9a-f]{16}|` + endOfHashes + `)'\s*\)\s*$`)

// ParseShard reads a selector in the form that Kubernetes documents for metav1.ListOptions.ShardSelector: calls of shardRange,
// joined by ||. "" is everything. The error names the part that can't be read.
func ParseShard(selector string) (Shard, error) {
	if selector == "" {
		return Shard{}, nil
	}
	var field ShardField
	var ranges []HashRange
	for part := range strings.SplitSeq(selector, "||") {
		words := shardRange.FindStringSubmatch(part)
		if words == nil {
			return Shard{}, fmt.Errorf("listwatch: shard selector: %q is not shardRange(field, '0x<16 hex digits>', '0x<16 hex digits>')", part)
		}
		if next := ShardField(words[1]); field == "" {
			field = next
		} else if next != field {
			return Shard{}, fmt.Errorf("listwatch: shard selector: all ranges must be of one field, not of %q and %q", field, next)
		}
		start, end := parseBound(words[2]), parseBound(words[3])
		if end == 0 && words[3] != endOfHashes {
			return Shard{}, fmt.Errorf("listwatch: shard selector: %q must begin before it ends", part)
		}
		ranges = append(ranges, HashRange{start, end})
	}
	return NewShard(field, ranges...)
}

// parseBound is the value of 0x and 16 hex digits; 0 for the end of all hashes.
func parseBound(s string) uint64 {
	if s == endOfHashes {
		return 0
	}
	hash, err := strconv.ParseUint(s[2:], 16, 64)
	if err != nil {
		panic("BUG: listwatch: 16 hex digits are not a 64-bit number: " + err.Error())
	}
	return hash
}
