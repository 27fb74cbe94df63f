module github.com/informerkit/informerkit/conformance

go 1.26.0
