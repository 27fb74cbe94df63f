package store

// Batch gathers what one transaction does. The zero value is empty and ready; reuse it to save allocations.
// Not safe for concurrent use. A later operation on a key overrides an earlier one of the same batch.
type Batch[T any] struct {
	// Revision becomes the store's revision; "" keeps the one it has. Commit empties it.
	Revision string
	// Older reports that next is a state from before prev: Commit leaves out a put where the store holds such a prev. It must be
	// pure, and must not block or call the writer. Nil: every put counts. Commit and Reset leave it as it is.
	Older func(prev, next T) bool

	ops     []op[T]
	dead    int         // ops that a later one has overridden
	byHash  *hints      // into ops, once there are more than smallBatch
	changes []Change[T] // what the last commit returned
}

// smallBatch is how many operations are searched one by one.
const smallBatch = 8

type op[T any] struct {
	key  string
	obj  T
	hash uint32
	kind opKind

	// Where the key is in the newest version, filled in by Commit.
	slot  uint32
	found bool
}

// maxScratch is the most operations whose room is kept for the next transaction: the first list of a large collection
// must not cost memory for ever.
const maxScratch = 4096

type opKind uint8

const (
	opPut opKind = iota
	opDelete
	opDead // overridden by a later one
)

// Put stores obj under key.
func (b *Batch[T]) Put(key string, obj T) {
	b.add(op[T]{key: key, obj: obj, hash: hashOf(key), kind: opPut})
}

// Delete removes what is stored under key. Of an absent key: no change.
func (b *Batch[T]) Delete(key string) {
	b.add(op[T]{key: key, hash: hashOf(key), kind: opDelete})
}

// Len is the number of keys in the batch.
func (b *Batch[T]) Len() int { return len(b.ops) - b.dead }

// Reset empties the batch, and drops the changes of its last commit.
func (b *Batch[T]) Reset() {
	b.empty()
	b.forget()
}

func (b *Batch[T]) add(o op[T]) {
	b.forget()
	b.override(o.hash, o.key)
	b.ops = append(b.ops, o)
	if len(b.ops) <= smallBatch {
		return
	}
	if b.byHash == nil {
		b.byHash = newHints(2 * smallBatch)
	}
	if b.byHash.used == 0 {
		for i := range b.ops[:len(b.ops)-1] {
			b.byHash.add(b.ops[i].hash, uint32(i))
		}
	}
	if b.byHash.full() {
		b.byHash = b.byHash.renewed(2 * len(b.ops))
	}
	b.byHash.add(o.hash, uint32(len(b.ops)-1))
}

// override marks the operation on key, if there is one.
func (b *Batch[T]) override(hash uint32, key string) {
	if i := b.search(hash, key); i >= 0 {
		b.ops[i] = op[T]{hash: b.ops[i].hash, kind: opDead}
		b.dead++
	}
}

func (b *Batch[T]) search(hash uint32, key string) int {
	is := func(i int) bool { return b.ops[i].hash == hash && b.ops[i].kind != opDead && b.ops[i].key == key }
	if len(b.ops) <= smallBatch {
		for i := range b.ops {
			if is(i) {
				return i
			}
		}
		return -1
	}
	for i, pos, ok := b.byHash.first(hash); ok; i, pos, ok = b.byHash.next(hash, pos) {
		if is(int(i)) {
			return int(i)
		}
	}
	return -1
}

func (b *Batch[T]) empty() {
	b.Revision = ""
	b.dead = 0
	if cap(b.ops) > maxScratch {
		b.ops, b.byHash = nil, nil
		return
	}
	clear(b.ops)
	b.ops = b.ops[:0]
	if b.byHash != nil {
		b.byHash.reset()
	}
}

func (b *Batch[T]) forget() {
	if cap(b.changes) > maxScratch {
		b.changes = nil
	}
	clear(b.changes)
	b.changes = b.changes[:0]
}
