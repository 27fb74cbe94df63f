// Package versions compares resource versions, for all packages by one rule.
package versions

import "k8s.io/apimachinery/pkg/util/resourceversion"

// Older reports that resource version a is certainly before b. Versions that are no numbers have no order here: then it is
// false and the order of arrival decides (resource versions compare as the API concepts page of Kubernetes says).
func Older(a, b string) bool {
	if len(a) == 0 || len(b) == 0 || a == b {
		return false
	}
	c, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && c < 0
}
