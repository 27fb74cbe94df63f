# What can be done here. Each target says what it is for; `make help` lists them.

GO ?= go
# The nested modules, each with dependencies that users of the library need not download.
NESTED = bench cmd/informerkit conformance e2e examples

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: ## unit tests of the library and of the command
	$(GO) test ./... ./cmd/informerkit/... ./examples/... ./conformance/...

.PHONY: race
race: ## the library's tests under the race detector
	$(GO) test -race ./...

.PHONY: e2e
e2e: ## against a real API server and etcd, run in the test's own process
	$(GO) test ./e2e/...

.PHONY: soak
soak: ## faults at random times: 2 minutes in memory, 5 minutes on the real server (SOAK=… for another time)
	$(GO) test ./informer -run 'TestConvergence' -soak 2m -timeout 20m -v
	$(GO) test ./e2e -run 'TestSoak' -duration $(SOAK) -timeout 30m -v

SOAK ?= 5m

.PHONY: conformance
conformance: ## the tests of client-go's, controller-runtime's and Kubernetes' own code on our cache (long: hours on a small machine)
	$(GO) run ./conformance

.PHONY: conformance-ci
conformance-ci: ## the part of it that takes minutes
	$(GO) run ./conformance -suites client-go,controller-runtime

.PHONY: bench
bench: ## measure beside client-go and other peers and write bench/RESULTS.md (on a machine that does nothing else)
	$(GO) run ./bench/cmd/bench

.PHONY: bench-smoke
bench-smoke: ## everything bench does, once and small: checks that it runs, measures nothing
	$(GO) run ./bench/cmd/bench -short

.PHONY: lint
lint: ## gofmt, go vet, and golangci-lint where it is installed
	@test -z "$$(gofmt -l .)" || { gofmt -d . | head -50; exit 1; }
	$(GO) vet ./... $(NESTED:%=./%/...)
	@if command -v golangci-lint >/dev/null; then golangci-lint run ./...; else echo "golangci-lint is not installed: only gofmt and go vet ran"; fi

.PHONY: demo
demo: ## informers following an embedded API server under churn and faults
	$(GO) run ./cmd/informerkit demo --for 10s

.PHONY: api
api: ## compare package cache with client-go's tools/cache, name by name
	$(GO) run ./internal/apicheck

.PHONY: fuzz
fuzz: ## every fuzz target for 20 seconds
	@for f in $$(grep -rlE '^func Fuzz' --include='*_test.go' . ); do \
		for name in $$(grep -oE '^func Fuzz[A-Za-z0-9_]+' $$f | cut -c6-); do \
			$(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime 20s ./$$(dirname $$f) || exit 1; done; done
