// Command informerkit follows Kubernetes resources and shows informers at work. See informerkit --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/informerkit/informerkit/cmd/informerkit/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(cli.Run(ctx, cli.Streams{Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}, os.Args[1:]))
}
