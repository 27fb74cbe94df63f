package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
)

// statusOf tells in a word or two how an object is, from the conventions that built-in and custom resources share, "" if it
// follows none of them. It needs nothing of the server.
func statusOf(u *unstructured.Unstructured) string {
	if u.GetDeletionTimestamp() != nil {
		return "Terminating"
	}
	if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase != "" {
		return phase
	}
	if want, ok, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); ok {
		ready, _, _ := unstructured.NestedInt64(u.Object, "status", "readyReplicas")
		return fmt.Sprintf("%d/%d", ready, want)
	}
	if want, ok, _ := unstructured.NestedInt64(u.Object, "status", "desiredNumberScheduled"); ok {
		ready, _, _ := unstructured.NestedInt64(u.Object, "status", "numberReady")
		return fmt.Sprintf("%d/%d", ready, want)
	}
	found, _, _ := unstructured.NestedFieldNoCopy(u.Object, "status", "conditions")
	conditions, _ := found.([]any)
	for _, wanted := range []string{"Failed", "Complete", "Ready", "Available", "Established"} {
		for _, c := range conditions {
			c, _ := c.(map[string]any)
			if c["type"] != wanted {
				continue
			}
			switch {
			case c["status"] == "True":
				return wanted
			case wanted != "Failed" && wanted != "Complete":
				return "Not" + wanted
			}
		}
	}
	return ""
}

func nodeOf(u *unstructured.Unstructured) string {
	node, _, _ := unstructured.NestedString(u.Object, "spec", "nodeName")
	return node
}

func labelsOf(u *unstructured.Unstructured) string {
	labels := u.GetLabels()
	var out []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, k+"="+labels[k])
	}
	return strings.Join(out, ",")
}

// ageOf is how old an object is, as kubectl says it; "" if nobody knows.
func ageOf(u *unstructured.Unstructured, now time.Time) string {
	created := u.GetCreationTimestamp()
	if created.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(now.Sub(created.Time), 0))
}
