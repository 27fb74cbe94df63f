package apitest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
)

// sendable is an object in the form the client wants.
func (c *call) sendable(o *object) runtime.Object {
	switch c.form.as {
	case asMetadata:
		return partial(o)
	case asTable:
		return table([]*object{o}, metav1.ListMeta{ResourceVersion: formatRV(o.rv)}, true)
	}
	return c.e.encodable(o)
}

func (c *call) writeObject(code int, o *object, d damage) error {
	body, err := c.encodeObject(o, d)
	if err != nil {
		return err
	}
	c.sendBytes(code, c.form.mediaType, body)
	return nil
}

// encodeObject encodes one object by itself.
func (c *call) encodeObject(o *object, d damage) ([]byte, error) {
	obj := c.sendable(o)
	if d == wrongType {
		obj = stranger(c.e, o)
	}
	info, ok := serializerInfo(c.form.mediaType)
	if !ok {
		panic("BUG: no serializer for " + c.form.mediaType)
	}
	var body bytes.Buffer
	if err := info.Serializer.Encode(obj, &body); err != nil {
		return nil, fmt.Errorf("encode %s %s: %w", c.e.gvk.Kind, o.key, err)
	}
	if d == undecodable {
		return spoil(body.Bytes(), c.form.mediaType), nil
	}
	return body.Bytes(), nil
}

func (c *call) writeList(l *listing) error {
	if c.form.as == asTable {
		c.send(http.StatusOK, c.form.mediaType, table(l.objects, l.meta, true))
		return nil
	}
	for _, d := range l.damage {
		if d != sound {
			return c.writeDamagedList(l)
		}
	}
	c.send(http.StatusOK, c.form.mediaType, c.listObject(l.endpoint, l.objects, l.meta))
	return nil
}

// listObject is a list in the form the client wants, with its kind.
func (c *call) listObject(e endpoint, objects []*object, lm metav1.ListMeta) runtime.Object {
	if c.form.as == asMetadata {
		list := &metav1.PartialObjectMetadataList{
			TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
			ListMeta: lm, Items: make([]metav1.PartialObjectMetadata, len(objects)),
		}
		for i, o := range objects {
			list.Items[i] = *partial(o)
		}
		return list
	}
	items := make([]runtime.Object, len(objects))
	for i, o := range objects {
		items[i] = o.obj
		if e.typ == nil {
			items[i] = e.encodable(o)
		}
	}
	list := e.listOf(items, lm)
	list.GetObjectKind().SetGroupVersionKind(e.gvk.GroupVersion().WithKind(e.gvk.Kind + "List"))
	return list
}

// writeWatch sends a watch until it ends.
func (c *call) writeWatch(w *watcher) error {
	defer w.stop()
	info, ok := serializerInfo(c.form.mediaType)
	if !ok || info.StreamSerializer == nil {
		return errBadRequest("watches can't be sent as %s", c.form.mediaType)
	}
	contentType := c.form.mediaType
	if contentType == protobufType {
		contentType += ";stream=watch"
	}
	c.w.Header().Set("Content-Type", contentType)
	c.w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(c.w).Flush
	if err := flush(); err != nil {
		return nil // the client went away
	}
	out := &watchWriter{call: c, events: streaming.NewEncoder(info.StreamSerializer.NewFrameWriter(c.w), info.StreamSerializer.Serializer)}
	for {
		events, err := w.next(c.r.Context())
		if status, ok := statusOf(err); ok {
			_ = out.sendStatus(&status) // the stream ends anyway
			return nil
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			panic(http.ErrAbortHandler) // no end of the chunked body: the client sees a broken connection
		}
		for _, ev := range events {
			if err := out.send(ev); err != nil {
				return nil // the client went away
			}
		}
		if err := flush(); err != nil {
			return nil
		}
	}
}

// watchWriter frames and encodes the events of a watch.
type watchWriter struct {
	*call
	events     streaming.Encoder
	tableShown bool
}

func (w *watchWriter) send(ev event) error {
	raw, err := w.eventObject(ev)
	if err != nil {
		return err
	}
	return w.sendRaw(ev.typ, raw)
}

func (w *watchWriter) sendStatus(status *metav1.Status) error {
	raw, err := encode(w.form.mediaType, status)
	if err != nil {
		return err
	}
	return w.sendRaw(watch.Error, raw)
}

func (w *watchWriter) sendRaw(typ watch.EventType, raw []byte) error {
	return w.events.Encode(&metav1.WatchEvent{Type: string(typ), Object: runtime.RawExtension{Raw: raw}})
}

func (w *watchWriter) eventObject(ev event) ([]byte, error) {
	switch {
	case ev.obj == nil && w.form.as == asObject:
		obj := w.e.bookmark(ev)
		obj.GetObjectKind().SetGroupVersionKind(w.e.gvk)
		return encode(w.form.mediaType, obj)
	case ev.obj == nil:
		p := partial(newObject(w.e.bookmark(ev), ev.rv))
		if w.form.as == asTable {
			return encode(w.form.mediaType, bookmarkTable(p))
		}
		return encode(w.form.mediaType, p)
	case w.form.as == asTable && ev.damage == sound:
		t := table([]*object{ev.obj}, metav1.ListMeta{ResourceVersion: formatRV(ev.rv)}, !w.tableShown)
		w.tableShown = true
		return encode(w.form.mediaType, t)
	}
	return w.encodeObject(ev.obj, ev.damage)
}

func encode(mediaType string, obj runtime.Object) ([]byte, error) {
	info, ok := serializerInfo(mediaType)
	if !ok {
		return nil, fmt.Errorf("BUG: no serializer for %s", mediaType)
	}
	var b bytes.Buffer
	err := info.Serializer.Encode(obj, &b)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}
