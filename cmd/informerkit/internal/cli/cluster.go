package cli

import (
	"errors"
	"fmt"
	"io"
	"net/url"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// cluster is an API server to talk to.
type cluster struct {
	config    *rest.Config
	namespace string // where to look unless told otherwise
	discovery discovery.CachedDiscoveryInterface
	mapper    meta.RESTMapper // knows short names
	// unconfigured: no kubeconfig says where the server is.
	unconfigured bool
}

// explain adds to an error what may be done about it.
func (c *cluster) explain(err error) error {
	if u := (*url.Error)(nil); c.unconfigured && errors.As(err, &u) {
		return fmt.Errorf("no kubeconfig found (KUBECONFIG, --kubeconfig, --server; or try --embedded): %w", err)
	}
	return err
}

// configured is the cluster that the kubeconfig, the environment and the flags name, as with kubectl. Warnings that the server sends
// are written to stderr, each once.
func configured(flags *genericclioptions.ConfigFlags, stderr io.Writer) (*cluster, error) {
	namespace, _, err := flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NewWarningWriter(stderr, rest.WarningWriterOptions{Deduplicate: true})
	client, err := flags.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	mapper, err := flags.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	raw, err := flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &cluster{
		config: config, namespace: namespace, discovery: client, mapper: mapper,
		unconfigured: len(raw.Clusters) == 0 && *flags.APIServer == "",
	}, nil
}

// at is the cluster that config names. Nothing is kept on disk.
func at(config *rest.Config) (*cluster, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(client)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	return &cluster{config: config, namespace: "default", discovery: cached, mapper: mapper}, nil
}
