package cache

import "fmt"

// TransactionType says what a [Transaction] does with its object.
type TransactionType string

const (
	TransactionTypeAdd    TransactionType = "Add"
	TransactionTypeUpdate TransactionType = "Update"
	TransactionTypeDelete TransactionType = "Delete"
)

// Transaction is one write of several that are done at once.
type Transaction struct {
	Object any
	Type   TransactionType
}

func (t Transaction) unknownType() error {
	return fmt.Errorf("unknown transaction type %q", t.Type)
}

// ThreadSafeStoreTransaction is a [Transaction] on the object under Key.
type ThreadSafeStoreTransaction struct {
	Transaction
	Key string
}

// ThreadSafeStoreWithTransaction is a [ThreadSafeStore] that can do several writes at once. All that this package
// makes are.
type ThreadSafeStoreWithTransaction interface {
	ThreadSafeStore
	// Transaction does all writes, in their order, as one: no reader sees some of them without the others.
	Transaction(fns ...ThreadSafeStoreTransaction)
}

// TransactionStore is a [Store] that can do several writes at once. All that [NewStore] and [NewIndexer] make are.
type TransactionStore interface {
	// Transaction does, in their order and as one, all writes that can be done: no reader sees some of them without
	// the others. It returns nil if that was all of them.
	Transaction(txns ...Transaction) *TransactionError
}

// TransactionError says that some of the writes of a transaction could not be done: their key could not be made, their
// object not be transformed, or their type is unknown. The others have been done.
type TransactionError struct {
	// SuccessfulIndices are the writes that were done, by their place among the TotalTransactions.
	SuccessfulIndices []int
	TotalTransactions int
	// Errors are those of the other writes, in their order.
	Errors []error
}

// Error counts the writes that failed and says why.
func (t *TransactionError) Error() string {
	return fmt.Sprintf("%d of %d writes of a transaction failed: %v",
		t.TotalTransactions-len(t.SuccessfulIndices), t.TotalTransactions, t.Errors)
}

// Unwrap returns Errors.
func (t *TransactionError) Unwrap() []error { return t.Errors }
