package apitest

import (
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/informerkit/informerkit/listwatch"
)

// selection says which objects of a resource a request is about.
type selection struct {
	namespace string // "": all
	labels    labels.Selector
	fields    fields.Selector
	fieldsOf  func(*object) fields.Set
	shard     listwatch.Shard
}

// selection reads the selectors of a request. The one for a shard counts if the server knows shards.
func (s *Server) selection(e endpoint, namespace string, opts metav1.ListOptions) (selection, error) {
	labelSelector, fieldSelector := opts.LabelSelector, opts.FieldSelector
	sel := selection{namespace: namespace, fieldsOf: e.fieldsOf}
	var err error
	if s.opts.Sharding {
		if sel.shard, err = listwatch.ParseShard(opts.ShardSelector); err != nil {
			return sel, errBadRequest("unable to parse shard selector %q: %v", opts.ShardSelector, err)
		}
	}
	if sel.labels, err = labels.Parse(labelSelector); err != nil {
		return sel, errBadRequest("unable to parse label selector %q: %v", labelSelector, err)
	}
	if sel.fields, err = fields.ParseSelector(fieldSelector); err != nil {
		return sel, errBadRequest("unable to parse field selector %q: %v", fieldSelector, err)
	}
	known := e.fieldsOf(&object{obj: e.newNative(), meta: mustMeta(e.newNative())})
	for _, req := range sel.fields.Requirements() {
		if _, ok := known[req.Field]; !ok {
			return sel, errBadRequest("field label not supported: %s", req.Field)
		}
	}
	return sel, nil
}

// all reports whether nothing but the namespace selects.
func (s selection) all() bool { return s.labels.Empty() && s.fields.Empty() && s.shard.Everything() }

func (s selection) matches(o *object) bool {
	if s.namespace != "" && o.meta.GetNamespace() != s.namespace {
		return false
	}
	if !s.shard.Has(string(o.meta.GetUID()), o.meta.GetNamespace()) {
		return false
	}
	if !s.labels.Empty() && !s.labels.Matches(labels.Set(o.meta.GetLabels())) {
		return false
	}
	return s.fields.Empty() || s.fields.Matches(s.fieldsOf(o))
}

// within gives the objects of s.namespace, of objects sorted by key.
func (s selection) within(objects []*object) []*object {
	if s.namespace == "" {
		return objects
	}
	prefix := s.namespace + "/"
	from := sort.Search(len(objects), func(i int) bool { return objects[i].key >= prefix })
	n := sort.Search(len(objects)-from, func(i int) bool { return !strings.HasPrefix(objects[from+i].key, prefix) })
	return objects[from : from+n]
}
