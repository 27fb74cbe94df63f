package apitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// call is one HTTP request being answered.
type call struct {
	s *Server
	w http.ResponseWriter
	r *http.Request

	route
	e    endpoint
	form form
}

// serve answers, or gives the error that is the answer.
func (c *call) serve() error {
	if done, err := c.serveDiscovery(); done {
		return err
	}
	rt, ok := parseRoute(c.r.URL.EscapedPath())
	if !ok {
		return errNotServed()
	}
	c.route = rt
	req, err := c.request()
	if err != nil {
		return err
	}
	if c.e, err = c.s.lookupRequest(c.r.Context(), req); err != nil {
		return err
	}
	if c.namespace != "" && c.e.ClusterScoped || c.subresource != "" && !(c.subresource == "status" && c.e.hasStatus) {
		return errNotServed()
	}
	if c.form, err = negotiate(c.r.Header.Get("Accept"), c.e.typ != nil); err != nil {
		return err
	}
	if c.namespace == "" && !c.e.ClusterScoped && (c.name != "" || req.Verb == "create") {
		return errNotServed()
	}
	switch req.Verb {
	case "list":
		l, err := c.s.list(c.r.Context(), c.e, c.namespace, req.Options)
		if err != nil {
			return err
		}
		return c.writeList(l)
	case "watch":
		w, err := c.s.watch(c.r.Context(), c.e, c.namespace, req.Options)
		if err != nil {
			return err
		}
		return c.writeWatch(w)
	case "get":
		return c.get(req)
	}
	return c.change(req)
}

// request is the request as it is recorded.
func (c *call) request() (Request, error) {
	req := Request{Resource: c.gvr, Subresource: c.subresource, Namespace: c.namespace, Name: c.name}
	switch c.r.Method {
	case http.MethodGet, http.MethodHead:
		req.Verb = "list"
		if c.name != "" {
			req.Verb = "get"
		}
	case http.MethodPost:
		req.Verb = "create"
	case http.MethodPut:
		req.Verb = "update"
	case http.MethodPatch:
		req.Verb = "patch"
	case http.MethodDelete:
		req.Verb = "deletecollection"
		if c.name != "" {
			req.Verb = "delete"
		}
	}
	query := c.r.URL.Query()
	switch req.Verb {
	case "list", "get", "deletecollection":
		if err := metav1.Convert_url_Values_To_v1_ListOptions(&query, &req.Options, nil); err != nil {
			return req, errBadRequest("%v", err)
		}
	}
	if req.Verb == "get" && req.Options.Watch { // of one object, as kubectl does it
		req.Verb = "list"
		byName := "metadata.name=" + c.name
		if req.Options.FieldSelector != "" {
			byName += "," + req.Options.FieldSelector
		}
		req.Options.FieldSelector = byName
	}
	if req.Verb == "list" && req.Options.Watch {
		req.Verb = "watch"
	}
	named := c.name != ""
	if req.Verb == "" || req.Verb == "create" && named || (req.Verb == "update" || req.Verb == "patch") && !named {
		return req, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
			Message: "the server does not allow this method on the requested resource",
		}}
	}
	return req, nil
}

// fail answers with an error: as a Status, or, for what is none, by breaking the connection.
func (c *call) fail(err error) {
	status, ok := statusOf(err)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
		c.w.Header().Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
	}
	f, err := negotiate(c.r.Header.Get("Accept"), true)
	if err != nil {
		f = form{mediaType: jsonType}
	}
	c.send(int(status.Code), f.mediaType, &status)
}

// send encodes obj, which has its kind.
func (c *call) send(code int, mediaType string, obj runtime.Object) {
	info, ok := serializerInfo(mediaType)
	if !ok {
		panic("BUG: no serializer for " + mediaType)
	}
	var body bytes.Buffer
	if err := info.Serializer.Encode(obj, &body); err != nil {
		panic(fmt.Sprintf("BUG: encode %T as %s: %v", obj, mediaType, err))
	}
	c.sendBytes(code, mediaType, body.Bytes())
}

func (c *call) sendBytes(code int, mediaType string, body []byte) {
	c.w.Header().Set("Content-Type", mediaType)
	c.w.WriteHeader(code)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(body) // an error means that the client went away
	}
}

// body reads the request's body as JSON if it is JSON or YAML, else as it is.
func (c *call) body() (data []byte, mediaType string, err error) {
	const limit = 3 << 20 // as etcd and real servers have it
	data, err = io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, "", apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	if err != nil {
		return nil, "", errBadRequest("read body: %v", err)
	}
	mediaType, _, err = mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil {
		mediaType = jsonType // what real servers assume
	}
	if mediaType == yamlType || mediaType == "application/apply-patch+yaml" {
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, "", errBadRequest("YAML body: %v", err)
		}
	}
	return data, mediaType, nil
}

// decode reads an object of the endpoint's kind, in stored form.
func (c *call) decode(data []byte, mediaType string) (runtime.Object, error) {
	if mediaType == yamlType {
		mediaType = jsonType
	}
	info, ok := serializerInfo(mediaType)
	if !ok {
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
			Message: "the body of the request was in an unknown format: " + mediaType,
		}}
	}
	var obj runtime.Object
	var gvk *schema.GroupVersionKind
	var err error
	if c.e.typ == nil && mediaType == jsonType {
		obj, gvk, err = unstructured.UnstructuredJSONScheme.Decode(data, &c.e.gvk, nil)
	} else {
		obj, gvk, err = info.Serializer.Decode(data, &c.e.gvk, c.e.newNative())
	}
	if err != nil {
		return nil, errBadRequest("the object in the body can't be decoded: %v", err)
	}
	if *gvk != c.e.gvk {
		return nil, errBadRequest("the object in the body is a %v, expected %v", gvk, c.e.gvk)
	}
	c.e.setNativeKind(obj)
	return obj, nil
}

// deleteOptions decodes the options of a delete from its body, or from the query if there is none.
func (c *call) deleteOptions() (metav1.DeleteOptions, error) {
	var opts metav1.DeleteOptions
	data, mediaType, err := c.body()
	if err != nil {
		return opts, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		query := c.r.URL.Query()
		if err := metav1.Convert_url_Values_To_v1_DeleteOptions(&query, &opts, nil); err != nil {
			return opts, errBadRequest("%v", err)
		}
		return opts, nil
	}
	// Clients send it as of v1, of meta.k8s.io/v1 or of the resource's group: it is the same in all.
	switch mediaType {
	case jsonType, yamlType:
		err = json.Unmarshal(data, &opts)
	case protobufType:
		var envelope runtime.Unknown
		if err = envelope.Unmarshal(bytes.TrimPrefix(data, protobufPrefix)); err == nil {
			err = opts.Unmarshal(envelope.Raw)
		}
	default:
		err = fmt.Errorf("unknown format %q", mediaType)
	}
	if err != nil {
		return opts, errBadRequest("DeleteOptions: %v", err)
	}
	if len(c.r.URL.Query()["dryRun"]) > 0 {
		opts.DryRun = c.r.URL.Query()["dryRun"]
	}
	return opts, nil
}

func (c *call) dryRun() bool { return c.r.URL.Query().Get("dryRun") == metav1.DryRunAll }
