package cache

// UndeltaStore is a [Store] that tells PushFunc its whole content after every change: one call for each Add, Update,
// Delete and Replace that succeeds. It is safe for concurrent use if PushFunc is. Changes made at the same time may push
// the same content, each its own call, and in any order.
type UndeltaStore struct {
	Store
	// PushFunc must be set. The list is its own, the objects are not. It is called before the method that made the change
	// returns, with no lock held.
	PushFunc func([]any)
}

var _ Store = (*UndeltaStore)(nil)

// NewUndeltaStore returns an empty store of objects with keys by keyFunc that pushes to pushFunc.
func NewUndeltaStore(pushFunc func([]any), keyFunc KeyFunc) *UndeltaStore {
	return &UndeltaStore{Store: NewStore(keyFunc), PushFunc: pushFunc}
}

// Add puts obj in and pushes.
func (u *UndeltaStore) Add(obj any) error { return u.push(u.Store.Add(obj)) }

// Update puts obj in and pushes.
func (u *UndeltaStore) Update(obj any) error { return u.push(u.Store.Update(obj)) }

// Delete removes what is under obj's key, if anything is, and pushes.
func (u *UndeltaStore) Delete(obj any) error { return u.push(u.Store.Delete(obj)) }

// Replace makes list the content and pushes. The list is the store's from then on.
func (u *UndeltaStore) Replace(list []any, resourceVersion string) error {
	return u.push(u.Store.Replace(list, resourceVersion))
}

// push pushes unless the change failed.
func (u *UndeltaStore) push(err error) error {
	if err == nil {
		u.PushFunc(u.List())
	}
	return err
}
