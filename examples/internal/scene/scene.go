// Package scene is what the examples' controllers work on, and nothing that a controller of yours needs: an API server in memory, and a
// user of it who acts and waits for what the controller makes of that.
package scene

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/apitest"
	"github.com/informerkit/informerkit/informer"
)

// patience bounds a scene. It takes well below a second.
const patience = time.Minute

// User acts on the server, and returns when all that was wanted has happened.
type User func(ctx context.Context, server *apitest.Server) error

// Play runs a controller against a server of its own until the user is content, and ends the process if either fails.
func Play(controller func(context.Context, *rest.Config) error, user User, resources ...apitest.Resource) {
	if err := play(controller, user, resources); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func play(controller func(context.Context, *rest.Config) error, user User, resources []apitest.Resource) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server := apitest.NewServer(apitest.Options{Resources: resources})
	defer server.Close()
	if err := server.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		defer cancel() // the user waits in vain then
		ended <- controller(ctx, server.Config())
	}()
	acted := user(ctx, server)
	cancel()
	if err := <-ended; err != nil {
		return fmt.Errorf("the controller: %w", err)
	}
	if acted != nil {
		return fmt.Errorf("the user: %w", acted)
	}
	return nil
}

func say(format string, args ...any) { fmt.Printf("user: "+format+"\n", args...) }

// until waits until content is true of the objects of a resource.
func until[T runtime.Object](ctx context.Context, server *apitest.Server, resource schema.GroupVersionResource, content func([]T) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	objects, err := informer.New(apitest.Source[T](server, resource, ""), informer.Options[T]{Name: resource.Resource})
	if err != nil {
		cancel()
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- objects.Run(ctx) }()
	defer func() {
		cancel()
		<-ended
	}()
	if err := objects.WaitSynced(ctx); err != nil {
		return fmt.Errorf("waiting for %s: %w", resource.Resource, err)
	}
	for range objects.Events(ctx) {
		var all []T
		for _, obj := range objects.Snapshot().All() {
			all = append(all, obj)
		}
		if content(all) {
			return nil
		}
	}
	return fmt.Errorf("waiting for %s: %w", resource.Resource, context.Cause(ctx))
}

// steps makes one step after the other.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// wrote is for writes whose result does not matter.
func wrote[T any](_ T, err error) error { return err }
