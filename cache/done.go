package cache

// DoneChecker is something that gets done at some time, and can be waited for without polling.
type DoneChecker interface {
	// Name says what is waited for. It may be put together on each call.
	Name() string
	// Done returns the channel that closes when it is done.
	Done() <-chan struct{}
}

// IsDone reports whether it is done, without waiting.
func IsDone(checker DoneChecker) bool {
	select {
	case <-checker.Done():
		return true
	default:
		return false
	}
}
