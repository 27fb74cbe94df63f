package apitest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// patch answers a patch of any of the four types.
func (c *call) patch(opts writeOptions) error {
	data, mediaType, err := c.body()
	if err != nil {
		return err
	}
	patchType := types.PatchType(mediaType)
	if patchType == types.ApplyPatchType {
		return c.apply(opts, data)
	}
	return c.replace(opts, func(o *object) (runtime.Object, error) { return c.patched(o, data, patchType) })
}

// apply merges an applied configuration into the object, or creates it.
func (c *call) apply(opts writeOptions, data []byte) error {
	c.s.mu.Lock()
	_, err := c.e.getLocked(c.namespace, c.name)
	c.s.mu.Unlock()
	if apierrors.IsNotFound(err) && opts.part == mainPart {
		obj, err := c.decode(data, jsonType)
		if err != nil {
			return err
		}
		m := mustMeta(obj)
		m.SetName(c.name)
		c.s.mu.Lock()
		o, err := c.s.createLocked(c.e, c.namespace, obj, opts)
		c.s.mu.Unlock()
		if err == nil {
			return c.writeObject(http.StatusCreated, o, sound)
		}
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	patchType := types.MergePatchType
	if c.e.typ != nil {
		patchType = types.StrategicMergePatchType
	}
	return c.replace(opts, func(o *object) (runtime.Object, error) { return c.patched(o, data, patchType) })
}

// patched is o with a patch, in stored form.
func (c *call) patched(o *object, patch []byte, patchType types.PatchType) (runtime.Object, error) {
	info, _ := serializerInfo(jsonType)
	var doc bytes.Buffer
	if err := info.Serializer.Encode(c.e.encodable(o), &doc); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	var out []byte
	var err error
	switch patchType {
	case types.JSONPatchType:
		var p jsonpatch.Patch
		if p, err = jsonpatch.DecodePatch(patch); err == nil {
			if out, err = p.Apply(doc.Bytes()); err != nil {
				return nil, c.e.invalid(c.name, err.Error())
			}
		}
	case types.MergePatchType:
		if !json.Valid(patch) {
			return nil, errBadRequest("the patch is not valid JSON")
		}
		out, err = jsonpatch.MergePatch(doc.Bytes(), patch)
	case types.StrategicMergePatchType:
		if c.e.typ == nil {
			return nil, unsupportedPatch(patchType)
		}
		out, err = strategicpatch.StrategicMergePatch(doc.Bytes(), patch, reflect.New(c.e.typ).Elem().Interface())
	default:
		return nil, unsupportedPatch(patchType)
	}
	if err != nil {
		return nil, errBadRequest("patch: %v", err)
	}
	return c.decode(out, jsonType)
}

func unsupportedPatch(t types.PatchType) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnsupportedMediaType, Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: "patches of this type are not supported for this resource: " + string(t),
	}}
}
