package cluster

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Gate is a TLS reverse proxy in front of the API server that breaks what it is told to break. Safe for concurrent use.
type Gate struct {
	server *httptest.Server
	proxy  *httputil.ReverseProxy

	mu        sync.Mutex // guards what follows
	backend   *url.URL   // nil: the API server is down
	transport http.RoundTripper
	accepts   func(token string) bool // nil: every caller
	held      bool                    // lists and watches are refused
	expire    int                     // so many of the next watches are answered 410
	watches   map[*context.CancelFunc]struct{}
	requests  []Request
}

// Request is what a client asked of the gate, whatever came of it.
type Request struct {
	Method string
	Path   string
	Query  url.Values
	Token  string // bearer token, if any
}

// Watch reports whether the request opens a watch.
func (r Request) Watch() bool {
	on, _ := strconv.ParseBool(r.Query.Get("watch"))
	return r.Method == http.MethodGet && on
}

// Streams reports whether the request opens a watch that starts with a streaming list.
func (r Request) Streams() bool { return r.Watch() && r.Query.Get("sendInitialEvents") == "true" }

// Lists reports whether the request lists widgets the old way, whole or by the page.
func (r Request) Lists() bool {
	return r.Method == http.MethodGet && !r.Watch() && strings.HasSuffix(r.Path, "/"+Widgets.Resource)
}

func newGate() *Gate {
	g := &Gate{watches: map[*context.CancelFunc]struct{}{}}
	g.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			g.mu.Lock()
			backend := g.backend
			g.mu.Unlock()
			if backend != nil { // else RoundTrip says so
				r.SetURL(backend)
			}
			r.Out.Header.Del("Authorization") // the gate's own credential goes on from here
		},
		Transport:     g,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				panic(http.ErrAbortHandler)
			}
			answer(w, apierrors.NewServiceUnavailable(err.Error()))
		},
	}
	g.server = httptest.NewUnstartedServer(g)
	g.server.EnableHTTP2 = true
	g.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	g.server.StartTLS()
	return g
}

func (g *Gate) close() {
	g.CutWatches()
	g.server.CloseClientConnections()
	g.server.Close()
}

func (g *Gate) setBackend(backend *url.URL, transport http.RoundTripper) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.backend, g.transport = backend, transport
}

func (g *Gate) config() *rest.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.server.Certificate().Raw})
	return &rest.Config{Host: g.server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: ca}, QPS: -1}
}

// RoundTrip sends r to the API server that is up now.
func (g *Gate) RoundTrip(r *http.Request) (*http.Response, error) {
	g.mu.Lock()
	transport := g.transport
	g.mu.Unlock()
	if transport == nil {
		return nil, errDown
	}
	return transport.RoundTrip(r)
}

var errDown = apierrors.NewServiceUnavailable("the API server is down")

// ServeHTTP implements [http.Handler].
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	req := Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Token: token}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if refusal := g.admit(req, &cancel); refusal != nil {
		answer(w, refusal)
		return
	}
	defer g.forget(&cancel)
	if root, ok := discoveryRoots[r.URL.Path]; ok {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, root)
		return
	}
	g.proxy.ServeHTTP(w, r.WithContext(ctx))
}

// discoveryRoots is what discovery starts with. The API server for custom resources leaves it to the servers it is a part of, so
// the gate speaks for them: there is the core group, without resources, and that of [Widgets], whose resources the server
// itself tells.
var discoveryRoots = map[string]string{
	"/api":    `{"kind":"APIVersions","versions":["v1"]}`,
	"/api/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[]}`,
	"/apis": fmt.Sprintf(`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":%[1]q,
		"versions":[{"groupVersion":"%[1]s/%[2]s","version":%[2]q}],
		"preferredVersion":{"groupVersion":"%[1]s/%[2]s","version":%[2]q}}]}`, Widgets.Group, Widgets.Version),
}

// admit notes the request, and says why it is refused, if it is.
func (g *Gate) admit(req Request, cancel *context.CancelFunc) *apierrors.StatusError {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requests = append(g.requests, req)
	if g.accepts != nil && !g.accepts(req.Token) {
		return apierrors.NewUnauthorized("the gate does not accept this token")
	}
	if g.held && (req.Watch() || req.Lists()) {
		return apierrors.NewServiceUnavailable("the gate holds lists and watches")
	}
	if !req.Watch() {
		return nil
	}
	if g.expire > 0 && !req.Streams() {
		g.expire--
		return apierrors.NewResourceExpired("the gate says that history has gone")
	}
	g.watches[cancel] = struct{}{}
	return nil
}

func (g *Gate) forget(cancel *context.CancelFunc) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.watches, cancel)
}

// CutWatches resets every open watch and returns how many there were.
func (g *Gate) CutWatches() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	for cancel := range g.watches {
		(*cancel)()
	}
	return len(g.watches)
}

// Hold makes the gate refuse lists of widgets and new watches with 503, or take them again.
func (g *Gate) Hold(hold bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = hold
}

// Expire answers the next n watches that ask for history with 410 Expired. Streaming lists ask for none.
func (g *Gate) Expire(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expire = n
}

// Authenticate makes the gate answer 401 to every request whose bearer token accepts refuses. Nil takes everybody. The
// function is called under a lock of the gate: it must not call the gate.
func (g *Gate) Authenticate(accepts func(token string) bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.accepts = accepts
}

// Requests returns what was asked since the last call, in order of arrival.
func (g *Gate) Requests() []Request {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := g.requests
	g.requests = nil
	return out
}

func answer(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // the client may have gone
}
