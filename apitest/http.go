package apitest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"k8s.io/client-go/rest"
)

// Start serves HTTP on a free port of 127.0.0.1, until [Server.Close]. It may be called once. To serve in another way (with TLS and so HTTP/2, say),
// use the Server as an [http.Handler], for example with [net/http/httptest].
func (s *Server) Start() error {
	s.httpMu.Lock()
	defer s.httpMu.Unlock()
	if s.http != nil {
		return errors.New("apitest: the server is already started")
	}
	if s.isClosed() {
		return errServerClosed
	}
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("apitest: listen: %w", err)
	}
	s.url = "http://" + l.Addr().String()
	s.http = &http.Server{Handler: s}
	srv := s.http
	s.running.Go(func() { _ = srv.Serve(l) }) // ends with ErrServerClosed when closed
	return nil
}

// Config is for clients of a server that was started. It sets no limit to the rate of requests. Each call gives a new one.
// It panics if [Server.Start] was not called.
func (s *Server) Config() *rest.Config {
	s.httpMu.Lock()
	defer s.httpMu.Unlock()
	if s.url == "" {
		panic("apitest: Config needs Start")
	}
	return &rest.Config{Host: s.url, QPS: -1}
}

func (s *Server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *Server) stopHTTP() {
	s.httpMu.Lock()
	srv := s.http
	s.httpMu.Unlock()
	if srv != nil {
		_ = srv.Close() // closes the listener and all connections
	}
}

// ServeHTTP answers one request of the Kubernetes API. Watches and hanging requests end with the request's context, and with
// [Server.Close].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		panic(http.ErrAbortHandler)
	}
	defer s.running.Done()
	c := call{s: s, w: w, r: r}
	if err := c.serve(); err != nil {
		c.fail(err)
	}
}

// enter counts one more goroutine that Close waits for; false if it is too late.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.running.Add(1)
	return true
}
