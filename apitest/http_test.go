package apitest_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/apitest"
)

func TestHandlerServesHTTP2AndBreaksItsStreams(t *testing.T) {
	s := newServer(t, apitest.Options{})
	front := httptest.NewUnstartedServer(s)
	front.EnableHTTP2 = true
	front.StartTLS()
	defer front.Close()
	cfg := &rest.Config{Host: front.URL, TLSClientConfig: rest.TLSClientConfig{CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw})}}
	client := must(kubernetes.NewForConfig(cfg))(t).CoreV1().Pods("ns")
	must(client.Create(ctx, pod("", "a"), metav1.CreateOptions{}))(t)
	w := must(client.Watch(ctx, metav1.ListOptions{}))(t)
	diff(t, "events", []string{"ADDED ns/a@2"}, take(t, w, 1))
	s.CloseWatches("pods", http.ErrAbortHandler)
	if got := take(t, w, -1); len(got) > 1 {
		t.Errorf("after the stream was reset: %v", got)
	}
	must(client.Get(ctx, "a", metav1.GetOptions{}))(t) // the connection lives
}

func TestTableForKubectl(t *testing.T) {
	s := startServer(t, apitest.Options{})
	create(t, s, pod("ns", "a"))
	get := func(path string) metav1.Table {
		t.Helper()
		req := must(http.NewRequestWithContext(ctx, "GET", s.Config().Host+path, nil))(t)
		req.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json")
		resp := must(http.DefaultClient.Do(req))(t)
		defer resp.Body.Close()
		var table metav1.Table
		if err := json.NewDecoder(resp.Body).Decode(&table); err != nil {
			t.Fatal(err)
		}
		return table
	}
	for _, path := range []string{"/api/v1/namespaces/ns/pods", "/api/v1/namespaces/ns/pods/a"} {
		table := get(path)
		if table.Kind != "Table" || len(table.ColumnDefinitions) != 2 || len(table.Rows) != 1 || table.Rows[0].Cells[0] != "a" {
			t.Errorf("%s: %+v", path, table)
		}
		if !bytes.Contains(table.Rows[0].Object.Raw, []byte(`"PartialObjectMetadata"`)) {
			t.Errorf("%s: row with object %s", path, table.Rows[0].Object.Raw)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestListsInJSONAreAsRealServersSendThem(t *testing.T) {
	s := startServer(t, apitest.Options{Resources: []apitest.Resource{widgets}})
	get := func(path string) string {
		t.Helper()
		body := must(must(kubernetes.NewForConfig(s.Config()))(t).CoreV1().RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").DoRaw(ctx))(t)
		return strings.TrimSpace(string(body))
	}
	diff(t, "empty list", `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`, get("/api/v1/pods"))
	create(t, s, pod("ns", "a"))
	create(t, s, newWidget("w", "red"))
	if body := get("/api/v1/pods"); strings.Count(body, `"kind":`) != 1 {
		t.Errorf("items of a built-in list say their kind: %s", body)
	}
	if body := get("/apis/example.com/v1/widgets"); strings.Count(body, `"kind":`) != 2 {
		t.Errorf("items of a custom list don't say their kind: %s", body)
	}
}

func TestStartTwiceIsAnError(t *testing.T) {
	s := startServer(t, apitest.Options{})
	if err := s.Start(); err == nil {
		t.Error("no error")
	}
}

func TestConfigNeedsStart(t *testing.T) {
	s := newServer(t, apitest.Options{})
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	s.Config()
}

func TestPackageDoesNotDependOnClientGosCache(t *testing.T) {
	out, err := exec.CommandContext(ctx, "go", "list", "-deps", ".", "./workload").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 100 {
		t.Fatalf("only %d dependencies: %v", len(deps), deps)
	}
	for _, dep := range deps {
		if strings.HasSuffix(dep, "client-go/tools/cache") || dep == "testing" {
			t.Errorf("depends on %s", dep)
		}
	}
}

var _ http.Handler = (*apitest.Server)(nil)
