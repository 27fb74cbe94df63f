package listwatch

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// REST is the source of a resource ("pods") in a namespace ("" for all, and for cluster-scoped ones) behind a REST
// client, such as clientset.CoreV1().RESTClient() or one made with rest.RESTClientFor. T is a pointer to a struct: a
// typed object, *unstructured.Unstructured, or *metav1.PartialObjectMetadata, for which only metadata is asked for.
//
// Answers are taken apart object by object: one that can't be decoded, or that is of another kind than T, is an item
// whose Object errs, and all others arrive. An object is decoded when it is first asked for, so those a reader already
// has cost no decoding. JSON and protobuf are read, the latter for types that can (the built-in ones); what is sent is up
// to the client's configuration. Typed objects carry no TypeMeta, as from client-go's typed clients. An object holds the
// bytes of its page until it is decoded.
func REST[T any](client rest.Interface, resource, namespace string) Source[T] {
	c, err := newCodec[T]()
	return &restSource[T]{client: client, resource: resource, namespace: namespace, codec: c, err: err}
}

type restSource[T any] struct {
	client              rest.Interface
	resource, namespace string
	codec               codec[T]
	err                 error // T can't be decoded
}

func (s *restSource[T]) List(ctx context.Context, opts metav1.ListOptions) (Page[T], error) {
	if s.err != nil {
		return Page[T]{}, s.err
	}
	opts.Watch = false
	result := s.request(&opts, "PartialObjectMetadataList").Do(ctx)
	if err := result.Error(); err != nil { // which reads the server's Status; Raw does not
		return Page[T]{}, err
	}
	body, err := result.Raw()
	if err != nil {
		return Page[T]{}, err
	}
	return s.codec.page(body)
}

func (s *restSource[T]) Watch(ctx context.Context, opts metav1.ListOptions) (Stream[T], error) {
	if s.err != nil {
		return nil, s.err
	}
	opts.Watch = true
	body, err := s.request(&opts, "PartialObjectMetadata").Stream(ctx)
	if err != nil {
		return nil, err
	}
	return newRESTStream(ctx, body, s.codec), nil
}

func (s *restSource[T]) request(opts *metav1.ListOptions, metadataAs string) *rest.Request {
	req := s.client.Get().
		NamespaceIfScoped(s.namespace, s.namespace != "").
		Resource(s.resource).
		MaxRetries(0). // who asks knows better when to ask again, and that a 429 was the answer
		SpecificallyVersionedParams(opts, parameterCodec, parameterVersion)
	switch any(*new(T)).(type) {
	case *metav1.PartialObjectMetadata:
		return req.SetHeader("Accept", "application/json;as="+metadataAs+";g=meta.k8s.io;v=v1,application/json")
	}
	if !s.codec.binary {
		return req.SetHeader("Accept", "application/json")
	}
	return req
}

// List options look the same for every group; as dynamic clients do, they are encoded in the version of none.
var (
	parameterVersion = schema.GroupVersion{Version: "v1"}
	parameterCodec   = func() runtime.ParameterCodec {
		s := runtime.NewScheme()
		metav1.AddToGroupVersion(s, parameterVersion)
		return runtime.NewParameterCodec(s)
	}()
)
