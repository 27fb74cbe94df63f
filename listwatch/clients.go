package listwatch

import (
	"fmt"
	"net/http"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Clients makes sources of any resource of one API server, named at run time. They share connections. Safe for concurrent use.
type Clients struct {
	config    *rest.Config
	http      *http.Client
	scheme    *runtime.Scheme
	discovery *discovery.DiscoveryClient

	mu   sync.Mutex // guards rest
	rest map[schema.GroupVersion]rest.Interface
}

// NewClients makes clients for the server of a configuration, which is copied. scheme knows the Go types for [Clients.Typed];
// nil: client-go's, which has the built-in ones. A limit on the rate of requests in the configuration is, as with client-go's clientsets,
// one for all sources if it is a RateLimiter, else one for each group and version.
func NewClients(config *rest.Config, scheme *runtime.Scheme) (*Clients, error) {
	if scheme == nil {
		scheme = clientscheme.Scheme
	}
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("listwatch: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("listwatch: %w", err)
	}
	return &Clients{
		config:    config,
		http:      client,
		scheme:    scheme,
		discovery: d,
		rest:      map[schema.GroupVersion]rest.Interface{},
	}, nil
}

const protobufOrJSON = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON

// client is the one for a group and version.
func (c *Clients) client(gv schema.GroupVersion) (rest.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if client, ok := c.rest[gv]; ok {
		return client, nil
	}
	config := rest.CopyConfig(c.config)
	config.GroupVersion = &gv
	config.APIPath = "/apis"
	if gv.Group == "" {
		config.APIPath = "/api"
	}
	config.NegotiatedSerializer = clientscheme.Codecs.WithoutConversion() // decodes errors; objects are decoded here
	if config.AcceptContentTypes == "" {
		config.AcceptContentTypes = protobufOrJSON
	}
	client, err := rest.RESTClientForConfigAndClient(config, c.http)
	if err != nil {
		return nil, fmt.Errorf("listwatch: client for %s: %w", gv, err)
	}
	c.rest[gv] = client
	return client, nil
}

// Typed is the source of a resource's objects as the Go type that the scheme has for kind; by protobuf if the type can be had
// from it, which the built-in ones can. Namespace "" means all. The error says that the scheme does not know kind.
func (c *Clients) Typed(resource schema.GroupVersionResource, kind schema.GroupVersionKind, namespace string) (Source[runtime.Object], error) {
	obj, err := c.scheme.New(kind)
	if err != nil {
		return nil, fmt.Errorf("listwatch: source of %s: %w", resource, err)
	}
	client, err := c.client(resource.GroupVersion())
	if err != nil {
		return nil, err
	}
	_, binary := obj.(protobufMessage)
	return &restSource[runtime.Object]{
		client:    client,
		resource:  resource.Resource,
		namespace: namespace,
		codec: codec[runtime.Object]{
			elem:   reflect.TypeOf(obj).Elem(),
			kinds:  []schema.GroupVersionKind{kind},
			typed:  true,
			binary: binary,
		},
	}, nil
}

// Unstructured is the source of a resource's objects as *unstructured.Unstructured. Namespace "" means all.
func (c *Clients) Unstructured(resource schema.GroupVersionResource, namespace string) (Source[runtime.Object], error) {
	client, err := c.client(resource.GroupVersion())
	if err != nil {
		return nil, err
	}
	return Objects(REST[*unstructured.Unstructured](client, resource.Resource, namespace)), nil
}

// Metadata is the source of a resource's objects as *metav1.PartialObjectMetadata: nothing else is sent. Namespace "" means all.
func (c *Clients) Metadata(resource schema.GroupVersionResource, namespace string) (Source[runtime.Object], error) {
	client, err := c.client(resource.GroupVersion())
	if err != nil {
		return nil, err
	}
	return Objects(REST[*metav1.PartialObjectMetadata](client, resource.Resource, namespace)), nil
}
