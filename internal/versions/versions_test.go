package versions

import "testing"

func TestOlder(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{"9", "10", true}, {"10", "9", false}, {"10", "10", false},
		{"", "1", false}, {"1", "", false}, {"", "", false},
		{"a", "b", false}, {"a", "1", false}, {"1", "a", false},
		{"18446744073709551616", "18446744073709551617", true},
	} {
		if got := Older(tc.a, tc.b); got != tc.want {
			t.Errorf("Older(%q, %q) is %t", tc.a, tc.b, got)
		}
	}
}
