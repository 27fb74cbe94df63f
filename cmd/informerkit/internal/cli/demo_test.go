package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/apitest/workload"
	"github.com/informerkit/informerkit/listwatch"
)

// inProcess is for demos in a synctest bubble.
func inProcess(server *apitest.Server) (sources, error) {
	return sources{
		nodes:       apitest.Source[*corev1.Node](server, workload.Nodes, ""),
		deployments: apitest.Source[*appsv1.Deployment](server, workload.Deployments, ""),
		pods:        apitest.Source[*corev1.Pod](server, workload.Pods, ""),
		where:       "memory",
	}, nil
}

func demoIn(out *strings.Builder, d time.Duration, world worldOptions) *demoOptions {
	return &demoOptions{
		Streams: Streams{Out: out, Getenv: func(string) string { return "" }}, duration: d, slow: 150 * time.Millisecond, world: world, connect: inProcess,
	}
}

func TestDemoEndsWithEqualCopies(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				if err := demoIn(&out, 20*time.Second, worldOptions{seed: seed, rate: 50, deployments: 6, faults: true}).run(t.Context()); err != nil {
					t.Fatalf("%v\n%s", err, &out)
				}
				text := out.String()
				for _, want := range []string{"  FAULT  ", "  PROBLEM  ", "  IN STEP  ", "  ADDED  ", "  UPDATED  ", "  DELETED  ", "KIND  ",
					"  END  ", "equal to the server's, object by object"} {
					if !strings.Contains(text, want) {
						t.Errorf("no %q in\n%s", want, text)
					}
				}
				var took float64
				var writes, told, faults, problems, lists int
				last := text[strings.LastIndex(text, "\n\n")+2:]
				if _, err := fmt.Sscanf(last, "%fs: %d writes by the workload, %d events told, %d faults, %d problems noticed, %d lists",
					&took, &writes, &told, &faults, &problems, &lists); err != nil {
					t.Fatalf("%v in %s", err, last)
				}
				// 50 a second for 20 s, the first objects, and those of gaps.
				if writes < 1000 || writes > 2000 || told < writes/2 || told > writes || faults < 5 || lists < 3 {
					t.Errorf("summary: %s", last)
				}
				if n := strings.Count(text, "  FAULT  "); n != faults {
					t.Errorf("%d faults shown, %d counted", n, faults)
				}
				if n := strings.Count(text, "  PROBLEM  "); n != problems {
					t.Errorf("%d problems shown, %d counted", n, problems)
				}
				checkOrder(t, text)
			})
		})
	}
}

var streamTime = regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d\.\d\d\d`)

// checkOrder: the stream is in the order of time, give or take what one refresh had not yet.
func checkOrder(t *testing.T, text string) {
	t.Helper()
	var last time.Time
	for _, s := range streamTime.FindAllString(text, -1) {
		at, err := time.Parse(timeOfDay, s)
		if err != nil {
			t.Fatal(err)
		}
		if !last.IsZero() && last.Sub(at) > refreshEvery {
			t.Errorf("%s after %s", s, last.Format(timeOfDay))
		}
		last = at
	}
}

func TestDemoWithoutFaultsTellsEveryWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		if err := demoIn(&out, 10*time.Second, worldOptions{seed: 1, rate: 20, deployments: 3}).run(t.Context()); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if strings.Contains(text, "FAULT") || strings.Contains(text, "PROBLEM") {
			t.Errorf("faults in\n%s", text)
		}
		events := strings.Count(text, "  ADDED  ") + strings.Count(text, "  UPDATED  ") + strings.Count(text, "  DELETED  ")
		if want := fmt.Sprintf("%d writes by the workload, %d events told, 0 faults, 0 problems noticed, 3 lists", events, events); !strings.Contains(text, want) {
			t.Errorf("%d events shown:\n%s", events, text)
		}
	})
}

func TestDemoEndsWhenInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		ctx, cancel := context.WithTimeoutCause(t.Context(), 3*time.Second, errors.New("interrupt"))
		defer cancel()
		start := time.Now()
		if err := demoIn(&out, 0, worldOptions{seed: 1, rate: 20, deployments: 3}).run(ctx); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("took %v", took)
		}
		if !strings.Contains(out.String(), "equal to the server's") {
			t.Errorf("no summary:\n%s", &out)
		}
	})
}

// blind never shows one object, under any of its states.
type blind struct {
	listwatch.Source[*corev1.Pod]
	key string
}

func (b blind) List(ctx context.Context, opts metav1.ListOptions) (listwatch.Page[*corev1.Pod], error) {
	page, err := b.Source.List(ctx, opts)
	var kept []listwatch.Item[*corev1.Pod]
	for _, item := range page.Items {
		if item.Key != b.key {
			kept = append(kept, item)
		}
	}
	page.Items = kept
	return page, err
}

func (b blind) Watch(ctx context.Context, opts metav1.ListOptions) (listwatch.Stream[*corev1.Pod], error) {
	if opts.SendInitialEvents != nil {
		return nil, listwatch.ErrStreamingUnsupported
	}
	return b.Source.Watch(ctx, opts)
}

func TestDemoFindsCopiesThatDiffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		o := demoIn(&out, time.Second, worldOptions{seed: 1, rate: 0, deployments: 1})
		var key string
		o.connect = func(server *apitest.Server) (sources, error) {
			src, err := inProcess(server)
			if err != nil {
				return src, err
			}
			pods, err := apitest.List[*corev1.Pod](server, workload.Pods, "")
			key = listwatch.ObjectKey(pods[0].Namespace, pods[0].Name)
			src.pods = blind{src.pods, key}
			return src, err
		}
		err := o.run(t.Context())
		if exitCode(err) != ExitFailed || !strings.Contains(fmt.Sprint(err), "copies differ from the server's objects: pods") {
			t.Errorf("error %v", err)
		}
		for _, what := range []string{"the store", "what the handler was told"} {
			if want := fmt.Sprintf("pods, %s: %s is missing\n", what, key); !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, &out)
			}
		}
		if !strings.Contains(out.String(), "told to the handler: 4 nodes, 1 deployments\n") {
			t.Errorf("those that are equal are not told:\n%s", &out)
		}
	})
}

func TestDifferences(t *testing.T) {
	pod := func(name, rv string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: rv}}
	}
	want := map[string]*corev1.Pod{"a": pod("a", "1"), "b": pod("b", "2"), "c": pod("c", "3")}
	got := map[string]*corev1.Pod{"a": pod("a", "1"), "b": pod("b", "1"), "d": pod("d", "3")}
	got["a"].Kind = "Pod" // some ways of decoding leave it there
	lines := strings.Join(differences(want, got), "\n")
	if lines != "b: metadata.resourceVersion: \"2\" -> \"1\"\nc is missing\nd does not exist any more" {
		t.Errorf("got\n%s", lines)
	}
}

func TestDemoOverHTTP(t *testing.T) {
	out, err := run(t, ExitOK, "demo", "--for", "2s", "--rate", "200", "--slow", "10ms")
	if !strings.Contains(out, "deployments and pods of http://127.0.0.1:") || !strings.Contains(out, "equal to the server's") || err != "" {
		t.Errorf("out %s\nerr %s", out, err)
	}
}

func TestDemoEndsWhenNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := demoIn(nil, 0, worldOptions{seed: 1, rate: 20, deployments: 1})
		o.Out = closedPipe{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := o.run(ctx); !errors.Is(err, errClosedPipe) {
			t.Errorf("error %v", err)
		}
		if ctx.Err() != nil {
			t.Error("went on writing for nobody")
		}
	})
}

var errClosedPipe = errors.New("closed pipe")

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, errClosedPipe }
