package bench

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newControllerRuntime is controller-runtime's cache reader over a client-go informer. It has no writers: its pods come from a
// source.
func newControllerRuntime(p *population, deepCopies bool) (*holder, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	src := newSource(p.pods)
	var informer toolscache.SharedIndexInformer
	share := !deepCopies
	reader, err := cache.New(&rest.Config{Host: "127.0.0.1:0"}, cache.Options{
		HTTPClient: http.DefaultClient, Scheme: scheme, Mapper: mapper, DefaultUnsafeDisableDeepCopy: &share,
		NewInformer: func(_ toolscache.ListerWatcher, obj runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			informer = toolscache.NewSharedIndexInformer(src, obj, resync, indexers)
			return informer
		},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	close := func() {
		cancel()
		must(<-ended)
	}
	go func() { ended <- reader.Start(ctx) }()
	err = reader.IndexField(ctx, &corev1.Pod{}, "spec.nodeName", func(obj client.Object) []string {
		return []string{obj.(*corev1.Pod).Spec.NodeName}
	})
	if err == nil && !reader.WaitForCacheSync(ctx) {
		err = errors.New("controller-runtime's cache did not sync")
	}
	if err != nil {
		close()
		return nil, err
	}
	p.age(&holder{
		put:    func(pod *corev1.Pod) { must(informer.GetIndexer().Update(pod)) },
		remove: func(pod *corev1.Pod) { must(informer.GetIndexer().Delete(pod)) },
	})
	list := func(opts ...client.ListOption) int {
		var pods corev1.PodList
		must(reader.List(ctx, &pods, opts...))
		return len(pods.Items)
	}
	return &holder{
		get: func(key string) *corev1.Pod {
			namespace, name, _ := strings.Cut(key, "/")
			var pod corev1.Pod
			err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod)
			if apierrors.IsNotFound(err) {
				return nil
			}
			must(err)
			return &pod
		},
		slice:     func() int { return list() },
		namespace: func(namespace string) int { return list(client.InNamespace(namespace)) },
		matching: func(namespace string, selector labels.Selector) int {
			return list(client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector})
		},
		node:  func(node string) int { return list(client.MatchingFields{"spec.nodeName": node}) },
		close: close,
	}, nil
}
