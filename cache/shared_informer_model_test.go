package cache

import (
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// replica is a handler that does what it is told to a map, and notices what cannot follow what it was told before.
type replica struct {
	mu     sync.Mutex // guards what follows
	pods   map[string]string
	errors []string
}

func newReplica() *replica { return &replica{pods: map[string]string{}} }

func (r *replica) tell(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

func (r *replica) OnAdd(obj any, _ bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pod := obj.(*corev1.Pod)
	if had, ok := r.pods[pod.Name]; ok {
		r.tell("add %s, of which %q was known", content(pod), had)
	}
	r.pods[pod.Name] = pod.Spec.NodeName
}

func (r *replica) OnUpdate(oldObj, newObj any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, after := oldObj.(*corev1.Pod), newObj.(*corev1.Pod)
	if had, ok := r.pods[before.Name]; !ok || had != before.Spec.NodeName {
		r.tell("update from %s, of which %q was known (%v)", content(before), had, ok)
	}
	r.pods[after.Name] = after.Spec.NodeName
}

func (r *replica) OnDelete(obj any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name, err := DeletionHandlingObjectToName(obj)
	if err != nil {
		r.tell("delete %v: %v", obj, err)
		return
	}
	if _, ok := r.pods[name.Name]; !ok {
		r.tell("delete %s, which was not known", content(obj))
	}
	delete(r.pods, name.Name)
}

func (r *replica) check(t *testing.T, what string, want map[string]string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, err := range r.errors {
		t.Errorf("%s: %s", what, err)
	}
	if !maps.Equal(r.pods, want) {
		t.Errorf("%s holds %v, the server %v", what, r.pods, want)
	}
}

// runInformersAgainstAModel does to a server what the script says, faults included, and checks that in the end a shared
// informer, a plain one and all their handlers, some of them late, hold what the server holds.
func runInformersAgainstAModel(t *testing.T, s *script) {
	synctest.Test(t, func(t *testing.T) {
		server := newPodServer(t)
		pods := map[string]string{}
		version := versions()
		write := func() {
			name := s.key()
			switch _, exists := pods[name]; {
			case exists && s.pick(3) == 0:
				server.delete(name)
				delete(pods, name)
			case exists:
				pods[name] = version()
				server.update(name, pods[name])
			default:
				pods[name] = version()
				server.create(name, pods[name])
			}
		}
		for range s.pick(4) {
			write()
		}
		shared := newPodInformer(server)
		handlers := []*replica{newReplica()}
		registrations := []ResourceEventHandlerRegistration{addHandler(t, shared, handlers[0])}
		start(t, shared.RunWithContext)
		plain := newReplica()
		store, controller := NewInformer(server.pagedListerWatcher(), &corev1.Pod{}, 0, plain)
		start(t, controller.RunWithContext)

		for !s.ended() {
			switch s.pick(9) {
			case 0:
				server.LoseEvents(func() {
					for range s.pick(4) {
						write()
					}
				})
			case 1:
				server.CloseWatches("pods", nil)
			case 2:
				server.Compact()
			case 3:
				handlers = append(handlers, newReplica())
				registrations = append(registrations, addHandler(t, shared, handlers[len(handlers)-1]))
			case 4:
				if n := len(registrations); n > 1 {
					succeed(t, ShutDownEventHandler(shared, registrations[n-1]))
					registrations, handlers = registrations[:n-1], handlers[:n-1]
				}
			case 5:
				time.Sleep(time.Duration(s.pick(5)) * time.Second)
			default:
				write()
			}
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		for what, stored := range map[string]Store{"the shared informer": shared.GetStore(), "the plain informer": store} {
			got := map[string]string{}
			for _, obj := range stored.List() {
				got[obj.(*corev1.Pod).Name] = obj.(*corev1.Pod).Spec.NodeName
			}
			if !maps.Equal(got, pods) {
				t.Errorf("%s holds %v, the server %v", what, got, pods)
			}
		}
		for i, h := range handlers {
			h.check(t, fmt.Sprint("handler ", i), pods)
			if !registrations[i].HasSynced() {
				t.Errorf("handler %d has not synced", i)
			}
		}
		plain.check(t, "the handler of the plain informer", pods)
	})
}

func TestInformersFollowAServerWhateverHappens(t *testing.T) {
	n := 0
	randomScripts(t, func(t *testing.T, s *script) {
		if n++; n <= 150 {
			runInformersAgainstAModel(t, s)
		}
	})
}

func FuzzInformers(f *testing.F) { fuzzScripts(f, runInformersAgainstAModel) }
