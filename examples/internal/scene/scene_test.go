package scene

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/informerkit/informerkit/apitest"
)

// idle is a controller that does nothing.
func idle(ctx context.Context, _ *rest.Config) error {
	<-ctx.Done()
	return nil
}

func TestASceneEndsWhenTheUserIsContent(t *testing.T) {
	user := func(ctx context.Context, server *apitest.Server) error {
		return until(ctx, server, configMaps, func(all []*corev1.ConfigMap) bool { return len(all) == 2 })
	}
	controller := func(ctx context.Context, config *rest.Config) error {
		// What the user waits for is there before the answer is.
		maps := kubernetes.NewForConfigOrDie(config).CoreV1().ConfigMaps("default")
		for _, name := range []string{"a", "b"} {
			if _, err := maps.Create(context.WithoutCancel(ctx), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		return idle(ctx, config)
	}
	if err := play(controller, user, nil); err != nil {
		t.Error(err)
	}
}

func TestASceneTellsWhoFailed(t *testing.T) {
	waiting := func(ctx context.Context, server *apitest.Server) error {
		return until(ctx, server, configMaps, func([]*corev1.ConfigMap) bool { return false })
	}
	failing := func(context.Context, *rest.Config) error { return errors.New("no permission") }
	if err := play(failing, waiting, nil); err == nil || err.Error() != "the controller: no permission" {
		t.Errorf("error is %v", err)
	}
	leaving := func(context.Context, *rest.Config) error { return nil }
	if err := play(leaving, waiting, nil); err == nil || !strings.HasPrefix(err.Error(), "the user: waiting for configmaps: ") {
		t.Errorf("error is %v", err)
	}
	unhappy := func(context.Context, *apitest.Server) error { return errors.New("not what I wanted") }
	if err := play(idle, unhappy, nil); err == nil || err.Error() != "the user: not what I wanted" {
		t.Errorf("error is %v", err)
	}
}

func TestStepsEndAtTheFirstError(t *testing.T) {
	var done int
	step := func() error { done++; return nil }
	failed := errors.New("failed")
	if err := steps(step, step, func() error { return failed }, step); err != failed || done != 2 {
		t.Errorf("error is %v after %d steps", err, done)
	}
}
