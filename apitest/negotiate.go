package apitest

import (
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	jsonType     = "application/json"
	protobufType = "application/vnd.kubernetes.protobuf"
	yamlType     = "application/yaml"
)

// codecs encode everything the server sends: built-in kinds, lists of metadata, Status, WatchEvent.
var codecs = func() serializer.CodecFactory {
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	utilruntime.Must(metav1.AddMetaToScheme(s))
	return serializer.NewCodecFactory(s)
}()

// form is how an answer is wanted.
type form struct {
	mediaType string // jsonType, protobufType or yamlType
	as        as
	streaming bool
}

type as uint8

const (
	asObject    as = iota
	asMetadata     // PartialObjectMetadata or PartialObjectMetadataList
	asTable        // Table
	asDiscovery    // APIGroupDiscoveryList
)

// negotiate picks the first form of an Accept header that can be had. Custom resources have no protobuf, but their metadata has.
func negotiate(accept string, protobuf bool) (form, error) {
	if strings.TrimSpace(accept) == "" {
		accept = jsonType
	}
	for _, clause := range strings.Split(accept, ",") {
		mediaType, params, err := mime.ParseMediaType(strings.TrimSpace(clause))
		if err != nil {
			continue
		}
		var f form
		switch mediaType {
		case "*/*", "application/*":
			f.mediaType = jsonType
		case jsonType, protobufType, yamlType:
			f.mediaType = mediaType
		default:
			continue
		}
		meta := params["g"] == metav1.GroupName && params["v"] == "v1"
		switch params["as"] {
		case "":
		case "PartialObjectMetadata", "PartialObjectMetadataList":
			if !meta {
				continue
			}
			f.as = asMetadata
		case "Table":
			if !meta || f.mediaType != jsonType {
				continue
			}
			f.as = asTable
		case "APIGroupDiscoveryList":
			if params["g"] != "apidiscovery.k8s.io" || params["v"] != "v2" || f.mediaType != jsonType {
				continue
			}
			f.as = asDiscovery
		default:
			continue
		}
		if f.mediaType == protobufType && f.as == asObject && !protobuf {
			continue
		}
		f.streaming = params["stream"] == "watch"
		return f, nil
	}
	return form{}, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: "only the following media types are accepted: " + strings.Join([]string{jsonType, yamlType, protobufType}, ", "),
	}}
}

// serializerInfo gives the serializers of a media type; false for an unknown one.
func serializerInfo(mediaType string) (runtime.SerializerInfo, bool) {
	return runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
}
