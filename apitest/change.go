package apitest

import (
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// get answers with one object.
func (c *call) get(req Request) error {
	faults, err := c.s.admit(c.r.Context(), req)
	if err != nil {
		return err
	}
	rv, err := parseRV(req.Options.ResourceVersion)
	if err != nil {
		return err
	}
	c.s.mu.Lock()
	o, err := c.e.getLocked(c.namespace, c.name)
	if stale := faults.staleRV(); req.Options.ResourceVersion != "" && rv <= stale && stale >= c.e.history.floor && stale < c.s.rv {
		then := selection{namespace: c.namespace}.within(c.e.snapshotLocked(stale, c.s.rv).objects)
		o, err = nil, apierrors.NewNotFound(c.e.groupResource(), c.name)
		if i, ok := slices.BinarySearchFunc(then, key(c.namespace, c.name), func(o *object, k string) int { return byKey(o, &object{key: k}) }); ok {
			o, err = then[i], nil
		}
	} else if rv > c.s.rv {
		err = TooLargeResourceVersion(rv, c.s.rv)
	}
	var d damage
	if err == nil {
		d = faults.damageTo(o.key)
	}
	c.s.mu.Unlock()
	if err != nil {
		return err
	}
	return c.writeObject(http.StatusOK, o, d)
}

// change answers a request that writes.
func (c *call) change(req Request) error {
	if _, err := c.s.admit(c.r.Context(), req); err != nil {
		return err
	}
	opts := writeOptions{dryRun: c.dryRun()}
	if c.subresource == "status" {
		opts.part = statusPart
	}
	switch req.Verb {
	case "create":
		return c.create(opts)
	case "update":
		return c.update(opts)
	case "patch":
		return c.patch(opts)
	case "delete":
		return c.delete()
	case "deletecollection":
		return c.deleteCollection(req)
	}
	panic("BUG: verb " + req.Verb)
}

func (c *call) create(opts writeOptions) error {
	data, mediaType, err := c.body()
	if err != nil {
		return err
	}
	obj, err := c.decode(data, mediaType)
	if err != nil {
		return err
	}
	c.s.mu.Lock()
	o, err := c.s.createLocked(c.e, c.namespace, obj, opts)
	c.s.mu.Unlock()
	if err != nil {
		return err
	}
	return c.writeObject(http.StatusCreated, o, sound)
}

func (c *call) update(opts writeOptions) error {
	data, mediaType, err := c.body()
	if err != nil {
		return err
	}
	obj, err := c.decode(data, mediaType)
	if err != nil {
		return err
	}
	return c.replace(opts, func(*object) (runtime.Object, error) { return obj, nil })
}

// replace puts what with makes of the object in its place, in one step.
func (c *call) replace(opts writeOptions, with func(*object) (runtime.Object, error)) error {
	c.s.mu.Lock()
	o, err := c.e.getLocked(c.namespace, c.name)
	var obj runtime.Object
	if err == nil {
		obj, err = with(o)
	}
	if err == nil {
		o, err = c.s.updateLocked(c.e, o, obj, opts)
	}
	c.s.mu.Unlock()
	if err != nil {
		return err
	}
	return c.writeObject(http.StatusOK, o, sound)
}

func (c *call) delete() error {
	opts, err := c.deleteOptions()
	if err != nil {
		return err
	}
	c.s.mu.Lock()
	o, err := c.e.getLocked(c.namespace, c.name)
	pending := false
	if err == nil {
		o, pending, err = c.s.deleteLocked(c.e, o, opts, c.dryRun() || len(opts.DryRun) > 0)
	}
	c.s.mu.Unlock()
	if err != nil {
		return err
	}
	if pending {
		return c.writeObject(http.StatusOK, o, sound)
	}
	c.send(http.StatusOK, c.statusType(), &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Details:  &metav1.StatusDetails{Name: c.name, Group: c.gvr.Group, Kind: c.gvr.Resource, UID: o.meta.GetUID()},
	})
	return nil
}

// statusType is the media type of a Status: it is never a table, and can be protobuf for custom resources too.
func (c *call) statusType() string { return c.form.mediaType }

func (c *call) deleteCollection(req Request) error {
	opts, err := c.deleteOptions()
	if err != nil {
		return err
	}
	sel, err := c.s.selection(c.e, c.namespace, req.Options)
	if err != nil {
		return err
	}
	dryRun := c.dryRun() || len(opts.DryRun) > 0
	c.s.mu.Lock()
	l, err := c.s.listLocked(c.e, sel, req.Options, nil)
	for i := 0; err == nil && i < len(l.objects); i++ {
		_, _, err = c.s.deleteLocked(c.e, l.objects[i], metav1.DeleteOptions{}, dryRun)
	}
	c.s.mu.Unlock()
	if err != nil {
		return err
	}
	return c.writeList(l)
}
