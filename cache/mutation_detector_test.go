package cache

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// detecting runs a detector in a bubble. It stops with the returned function, which returns the reports.
func detecting() (d *mutationDetector, stop func() []string) {
	var reports []string
	d = newMutationDetector("pods", func(report string) { reports = append(reports, report) })
	stopCh, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		d.Run(stopCh)
	}()
	return d, func() []string {
		close(stopCh)
		<-done
		return reports
	}
}

// changeInPlace does what nobody may do, and lets the race detector believe that the others will see it.
func changeInPlace(d *mutationDetector, change func()) {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

func TestMutationDetectorReportsAChangeInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reports []string
		d := newMutationDetector("pods", func(report string) { reports = append(reports, report) })
		stop := make(chan struct{})
		go d.Run(stop)
		defer func() { close(stop); synctest.Wait() }()
		good, bad := newPod("ns/good", "1"), newPod("ns/bad", "1")
		d.AddObject(good)
		d.AddObject(bad)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		check(t, "reports while nothing changes", 0, len(reports))

		changeInPlace(d, func() { bad.Labels = map[string]string{"who": "did-it"} })
		time.Sleep(time.Second) // it compares each second
		synctest.Wait()
		check(t, "reports", 1, len(reports))
		for _, part := range []string{`"pods"`, "ns/bad", "Pod", "did-it"} {
			if !strings.Contains(reports[0], part) {
				t.Errorf("the report lacks %q:\n%s", part, reports[0])
			}
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		check(t, "reports of the same change", 1, len(reports))
	})
}

func TestMutationDetectorWatchesAnObjectForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := detecting()
		early, late := newPod("early", "1"), newPod("late", "1")
		d.AddObject(early)
		d.AddObject(late)
		time.Sleep(mutationWatchTime - 2*time.Second)
		changeInPlace(d, func() { early.Name = "changed in time" })
		time.Sleep(3 * time.Second)
		changeInPlace(d, func() { late.Name = "changed when nobody looks any more" })
		time.Sleep(time.Minute)
		reports := stop()
		check(t, "reports", 1, len(reports))
		check(t, "it is the right one", true, strings.Contains(strings.Join(reports, ""), "early"))
		check(t, "objects held", 0, len(d.watched))
	})
}

func TestMutationDetectorLooksALastTimeWhenItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := detecting()
		pod := newPod("a", "1")
		d.AddObject(pod)
		changeInPlace(d, func() { pod.Name = "b" })
		check(t, "reports", 1, len(stop()))
	})
}

func TestMutationDetectorIgnoresWhatIsNoRuntimeObject(t *testing.T) {
	d := newMutationDetector("pods", func(report string) { t.Error(report) })
	d.AddObject(DeletedFinalStateUnknown{Key: "a", Obj: newPod("a", "1")})
	d.AddObject("text")
	d.AddObject(nil)
	check(t, "objects held", 0, len(d.watched))
}

func TestMutationDetectorConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stop := detecting()
		for writer := range 3 {
			go func() {
				for i := range 100 {
					d.AddObject(newPod(fmt.Sprint(writer, "-", i), "1"))
					time.Sleep(100 * time.Millisecond)
				}
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		check(t, "objects held", 300, len(d.watched))
		check(t, "reports", 0, len(stop()))
	})
}

func TestMutationDetectorIsTurnedOnByTheEnvironment(t *testing.T) {
	for value, on := range map[string]bool{"true": true, "1": true, "false": false, "": false, "nonsense": false} {
		t.Setenv(mutationDetectorEnv, value)
		_, real := NewCacheMutationDetector("pods").(*mutationDetector)
		check(t, fmt.Sprintf("on if %q", value), on, real)
	}
}

func TestMutationDetectorPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv(mutationDetectorEnv, "true")
		d := NewCacheMutationDetector("pods")
		pod := newPod("ns/a", "1")
		d.AddObject(pod)
		pod.Name = "b"
		defer func() {
			if r := recover(); r == nil || !strings.Contains(fmt.Sprint(r), "ns/a") {
				t.Errorf("panic %v, want one that names the object", r)
			}
		}()
		d.Run(nil)
	})
}

func TestMutationDetectorCostsNothingWhenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		t.Setenv(mutationDetectorEnv, "")
		d := NewCacheMutationDetector("pods")
		pod := newPod("a", "1")
		check(t, "allocations", 0, testing.AllocsPerRun(100, func() { d.AddObject(pod) }))
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			d.Run(stop)
		}()
		start := time.Now()
		pod.Spec = corev1.PodSpec{NodeName: "changed"}
		time.Sleep(time.Hour)
		synctest.Wait()
		check(t, "returned before it was told", false, isClosed(done))
		close(stop)
		<-done
		check(t, "time", time.Hour, time.Since(start))
	})
}
