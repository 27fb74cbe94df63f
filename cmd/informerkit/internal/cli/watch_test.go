package cli

import (
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/informerkit/informerkit/apitest"
)

func unreachable() error {
	return &url.Error{Op: "Get", URL: "http://localhost:8080/api", Err: &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}
}

func TestWatchTellsEveryChange(t *testing.T) {
	server, flags := startServer(t, apitest.Options{})
	pod := create(t, server, newPod("shop", "web-1"))
	create(t, server, newPod("blog", "web-2"))
	c := begin(t, watchArgs(flags, "po")...)
	c.see(c.out, "ADDED    shop/web-1")
	pod = update(t, server, pod, func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
	c.see(c.out, "UPDATED")
	remove(t, server, pod)
	c.see(c.out, "DELETED")
	create(t, server, newPod("blog", "web-3"))
	create(t, server, newPod("shop", "web-4"))
	c.see(c.out, "shop/web-4")
	c.cancel()
	c.end(ExitOK)
	want := []string{"ADDED shop/web-1", "UPDATED shop/web-1", "DELETED shop/web-1", "ADDED shop/web-4"}
	if got := events(c.out.String()); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if !strings.HasPrefix(c.out.String(), "TIME          EVENT    OBJECT") {
		t.Errorf("no header:\n%s", c.out)
	}
	if got := c.err.String(); got != "" {
		t.Errorf("stderr: %s", got)
	}
}

func TestWatchSelects(t *testing.T) {
	server, flags := startServer(t, apitest.Options{Resources: []apitest.Resource{{
		Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, ShortNames: []string{"wd"},
	}}})
	for _, name := range []string{"web-1", "web-2", "db-1"} {
		pod := newPod("shop", name)
		pod.Spec.NodeName = "node-" + name[len(name)-1:]
		create(t, server, pod)
	}
	create(t, server, newPod("blog", "web-1"))
	if _, err := apitest.Create(server, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}); err != nil {
		t.Fatal(err)
	}
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"namespace": "shop", "name": "w"},
	}}
	if _, err := apitest.Create(server, widget); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ args, want string }{
		{"pods", "shop/db-1 shop/web-1 shop/web-2"},
		{"pods -A", "blog/web-1 shop/db-1 shop/web-1 shop/web-2"},
		{"pods -n blog", "blog/web-1"},
		{"pods -l app=web", "shop/web-1 shop/web-2"},
		{"pods -A -l app!=db", "blog/web-1 shop/web-1 shop/web-2"},
		{"pods --field-selector spec.nodeName=node-1", "shop/db-1 shop/web-1"},
		{"pods -l app=web --field-selector spec.nodeName=node-1", "shop/web-1"},
		{"pods/web-2", "shop/web-2"},
		{"Pod.v1./web-1 -n blog", "blog/web-1"},
		{"no", "node-1"},
		{"nodes -n shop", "node-1"},
		{"wd", "shop/w"},
		{"Widget.example.com", "shop/w"},
		{"pods --metadata-only -l app=web", "shop/web-1 shop/web-2"},
		{"wd --metadata-only", "shop/w"},
	} {
		t.Run(test.args, func(t *testing.T) {
			out, err := run(t, ExitOK, watchArgs(flags, append(strings.Fields(test.args), "--once")...)...)
			var want []string
			for key := range strings.FieldsSeq(test.want) {
				want = append(want, "ADDED "+key)
			}
			if got := events(out); !slices.Equal(got, want) || err != "" {
				t.Errorf("got %q, err %q", got, err)
			}
		})
	}
}

func TestWatchShowsWhatAnUpdateChanged(t *testing.T) {
	server, flags := startServer(t, apitest.Options{})
	pod := newPod("shop", "web-1")
	pod.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}, {Name: "log", Image: "log:1"}}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "a", Operation: metav1.ManagedFieldsOperationUpdate}}
	pod = create(t, server, pod)
	c := begin(t, watchArgs(flags, "pods", "-o", "diff")...)
	c.see(c.out, "ADDED")
	pod = update(t, server, pod, func(p *corev1.Pod) {
		p.Labels["example.com/tier"] = "gold"
		p.Spec.Containers[1].Image = "log:2"
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "b", Operation: metav1.ManagedFieldsOperationUpdate}}
	})
	c.see(c.out, "log:2")
	remove(t, server, pod)
	c.see(c.out, "DELETED")
	c.cancel()
	c.end(ExitOK)
	_, changes, _ := strings.Cut(c.out.String(), "UPDATED")
	_, changes, _ = strings.Cut(changes, "\n")
	want := `              metadata.generation: 1 -> 2
              metadata.labels["example.com/tier"]: <none> -> "gold"
              spec.containers[name=log].image: "log:1" -> "log:2"
`
	if !strings.HasPrefix(changes, want) {
		t.Errorf("got\n%s\nwant\n%s", c.out, want)
	}
}

func TestWatchJSON(t *testing.T) {
	server, flags := startServer(t, apitest.Options{})
	pod := create(t, server, newPod("shop", "web-1"))
	c := begin(t, watchArgs(flags, "pods", "-o", "json")...)
	c.see(c.out, "ADDED")
	pod = update(t, server, pod, func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
	remove(t, server, pod)
	c.see(c.out, "DELETED")
	c.cancel()
	c.end(ExitOK)
	var types []string
	for line := range strings.Lines(c.out.String()) {
		var r jsonRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		types = append(types, r.Type)
		u := unstructured.Unstructured{Object: r.Object}
		if r.Key != "shop/web-1" || u.GetUID() != pod.UID || u.GetKind() != "Pod" || r.Initial != (r.Type == typeAdded) || r.LastKnown {
			t.Errorf("got %s", line)
		}
	}
	if want := []string{typeAdded, typeUpdated, typeDeleted}; !slices.Equal(types, want) {
		t.Errorf("got %q", types)
	}
}

func TestMetadataOnlyShowsTheKindOfTheResource(t *testing.T) {
	server, flags := startServer(t, apitest.Options{})
	create(t, server, newPod("shop", "web-1"))
	out, _ := run(t, ExitOK, watchArgs(flags, "pods", "--once", "--metadata-only", "-o", "json")...)
	var r jsonRecord
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Object["kind"] != "Pod" || r.Object["apiVersion"] != "v1" || r.Object["status"] != nil || r.Object["spec"] != nil {
		t.Errorf("got %s", out)
	}
	for _, request := range server.Requests() {
		if request.Resource.Resource == "pods" && request.Verb != "list" && request.Verb != "watch" {
			t.Errorf("unexpected request %+v", request)
		}
	}
}

func TestUnseenDeletionIsMarkedLastKnown(t *testing.T) {
	server, flags := startServer(t, apitest.Options{})
	seen, unseen := create(t, server, newPod("shop", "seen-1")), create(t, server, newPod("shop", "unseen-1"))
	c := begin(t, watchArgs(flags, "pods")...)
	c.see(c.out, "unseen-1")
	c.see(c.out, "shop/seen-1")
	remove(t, server, seen)
	c.see(c.out, "DELETED")
	server.LoseEvents(func() { remove(t, server, unseen) })
	c.see(c.out, "(last known)")
	c.cancel()
	c.end(ExitOK)
	for line := range strings.Lines(c.out.String()) {
		if strings.Contains(line, "last known") != (strings.Contains(line, "DELETED") && strings.Contains(line, "unseen")) {
			t.Errorf("wrongly marked: %s", line)
		}
	}
}

func TestWatchCarriesOnAfterFaults(t *testing.T) {
	server, flags := startServer(t, apitest.Options{})
	create(t, server, newPod("shop", "web-1"))
	c := begin(t, watchArgs(flags, "pods")...)
	c.see(c.out, "shop/web-1")
	server.Inject(apitest.Fault{Verb: "watch", Resource: "pods", Times: 1, Error: apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("not now"))})
	server.CloseWatches("pods", errors.New("broken"))
	create(t, server, newPod("shop", "web-2"))
	c.see(c.out, "shop/web-2")
	c.cancel()
	c.end(ExitOK)
	if got := events(c.out.String()); !slices.Equal(got, []string{"ADDED shop/web-1", "ADDED shop/web-2"}) {
		t.Errorf("got %q", got)
	}
}

func TestWhatCannotWorkEndsAtOnce(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, test := range []struct {
		name, args string
		err        error
		want       string
	}{
		{"forbidden", "pods", apierrors.NewForbidden(pods, "", errors.New(`User "jane" cannot list resource "pods"`)), `pods is forbidden: User "jane" cannot list resource "pods" (Forbidden)`},
		{"unauthorized", "pods", apierrors.NewUnauthorized("Unauthorized"), "Unauthorized (Unauthorized)"},
		{"gone meanwhile", "pods", apierrors.NewNotFound(pods, ""), "not found (NotFound)"},
		{"forbidden metadata", "pods --metadata-only", apierrors.NewForbidden(pods, "", errors.New("no")), "pods is forbidden: no (Forbidden)"},
		{"forbidden once", "pods --once", apierrors.NewForbidden(pods, "", errors.New("no")), "pods is forbidden: no (Forbidden)"},
		{"unknown resource", "flowers", nil, `unknown resource "flowers": the server has no resource or kind of this name (kubectl api-resources lists them)`},
		{"unknown field", "pods --field-selector spec.flavour=x", nil, "field label not supported: spec.flavour (BadRequest)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server, flags := startServer(t, apitest.Options{})
			if test.err != nil {
				server.Inject(apitest.Fault{Resource: "pods", Error: test.err})
			}
			out, err := run(t, ExitFailed, watchArgs(flags, strings.Fields(test.args)...)...)
			if !strings.HasPrefix(err, "informerkit: ") || !strings.HasSuffix(err, test.want+"\n") || strings.Count(err, "\n") != 1 || out != "" {
				t.Errorf("out %q\nerr %q\nwant %q", out, err, test.want)
			}
		})
	}
}

func TestUnreachableServerEndsAtOnce(t *testing.T) {
	server, flags := startServer(t, apitest.Options{})
	if _, err := run(t, ExitOK, watchArgs(flags, "pods", "--once")...); err != "pods: no objects\n" {
		t.Errorf("stderr: %q", err)
	}
	server.Close()
	for _, cached := range []bool{true, false} { // with and without knowing the resources from before
		if !cached {
			flags[3] = t.TempDir()
		}
		out, err := run(t, ExitFailed, watchArgs(flags, "pods")...)
		if !strings.Contains(err, "cannot talk to the server http://127.0.0.1:") || !strings.HasSuffix(err, "connection refused\n") || strings.Count(err, "\n") != 1 || out != "" {
			t.Errorf("cached %v: out %q err %q", cached, out, err)
		}
	}
}

func TestNotSyncedInTimeSaysWhy(t *testing.T) {
	server, flags := startServer(t, apitest.Options{})
	server.Inject(apitest.Fault{Resource: "pods", Error: apierrors.NewServiceUnavailable("etcd is away")})
	out, err := run(t, ExitFailed, watchArgs(flags, "pods", "--for", "500ms")...)
	if !strings.HasPrefix(err, "informerkit: pods: not synced after 500ms: ") || !strings.HasSuffix(err, "etcd is away (ServiceUnavailable)\n") || strings.Count(err, "\n") != 1 || out != "" {
		t.Errorf("out %q err %q", out, err)
	}
}

func TestInterruptedBeforeTheFirstListIsNoFailure(t *testing.T) {
	server, flags := startServer(t, apitest.Options{})
	server.Inject(apitest.Fault{Resource: "pods", Error: apierrors.NewServiceUnavailable("etcd is away")})
	c := begin(t, watchArgs(flags, "pods", "-v", "1")...)
	c.see(c.err, "etcd is away") // logged with -v
	c.cancel()
	c.end(ExitOK)
	if c.out.String() != "" {
		t.Errorf("out: %s", c.out)
	}
}

func TestEmptyCollectionSaysSo(t *testing.T) {
	_, flags := startServer(t, apitest.Options{})
	out, err := run(t, ExitOK, watchArgs(flags, "secrets", "--for", "200ms")...)
	if out != "" || err != "secrets: no objects yet; waiting for changes\n" {
		t.Errorf("out %q err %q", out, err)
	}
}

func TestWatchEmbedded(t *testing.T) {
	c := begin(t, "watch", "pods", "-A", "--embedded", "--rate", "500", "-o", "diff", "--faults", "--for", "2500ms")
	c.see(c.out, "ADDED")
	c.see(c.out, "UPDATED")
	c.see(c.out, `spec.nodeName: <none> -> "node-`)
	c.see(c.out, "DELETED")
	c.see(c.err, "fault: ")
	c.end(ExitOK)
	for line := range strings.Lines(c.err.String()) {
		if !strings.HasPrefix(line, "fault: ") {
			t.Errorf("stderr: %s", line)
		}
	}
}

func TestResourceNamesComplete(t *testing.T) {
	_, flags := startServer(t, apitest.Options{})
	out, _ := run(t, ExitOK, append([]string{"__complete"}, append(watchArgs(flags), "po")...)...)
	names := strings.Split(out, "\n")
	for _, name := range []string{"pods", "deployments", "poddisruptionbudgets"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not offered: %q", name, names)
		}
	}
	out, _ = run(t, ExitOK, "__complete", "watch", "pods", "-o", "")
	if !strings.HasPrefix(out, "wide\njson\ndiff\n") {
		t.Errorf("outputs: %q", out)
	}
}
