package apitest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
)

// table shows objects as kubectl asks for them, by name and age; columns tells whether with the heading.
func table(objects []*object, lm metav1.ListMeta, columns bool) *metav1.Table {
	t := &metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"},
		ListMeta: lm,
		Rows:     make([]metav1.TableRow, len(objects)),
	}
	if columns {
		t.ColumnDefinitions = []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: "name of the object"},
			{Name: "Age", Type: "string", Description: "time since the object was created"},
		}
	}
	for i, o := range objects {
		age := duration.HumanDuration(time.Since(o.meta.GetCreationTimestamp().Time))
		t.Rows[i] = metav1.TableRow{
			Cells:  []any{o.meta.GetName(), age},
			Object: runtime.RawExtension{Object: partial(o)},
		}
	}
	return t
}

// bookmarkTable is the table of a Bookmark event: one row without cells, whose object is the bookmark.
func bookmarkTable(p *metav1.PartialObjectMetadata) *metav1.Table {
	return &metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: p.ResourceVersion},
		Rows:     []metav1.TableRow{{Object: runtime.RawExtension{Object: p}}},
	}
}
