// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

func nameOf(t *testing.T, namespace, name, selector string) string {
	t.Helper()
	chosen, err := labels.Parse(selector)
	if err != nil {
		t.Fatal(err)
	}
	return Name(types.NamespacedName{Namespace: namespace, Name: name}, chosen)
}

// TestName: operators with other flags have other names, all of them DNS labels, and the same flags
// the same.
func TestName(t *testing.T) {
	if got := nameOf(t, "cozy-system", "cozystack-values", ""); got != "image-overrides" {
		t.Errorf("the default flags: %s", got)
	}
	// Leases outlive a version: this does not change.
	if got := nameOf(t, "cozy-system", "cozystack-values", "operator=a"); got != "image-overrides-79747d3d" {
		t.Errorf("a selector: %s", got)
	}
	long := strings.Repeat("n", 253)
	seen := map[string]string{}
	for _, flags := range [][3]string{
		{"cozy-system", "cozystack-values", ""},
		{"cozy-system", "cozystack-values", "a=b"},
		{"cozy-system", "cozystack-values", "a!=b"},
		{"cozy-system", "cozystack-values", "a"},
		{"cozy-system", "cozystack-values", "a=b,c=d"},
		{"cozy-system", "other", ""},
		{"other", "cozystack-values", ""},
		{"other", "cozystack-values", "a=b"},
		{"a", "b-c", ""},
		{"a-b", "c", ""},
		{long, long, "a in (" + strings.Repeat("b, ", 1000) + "c)"},
	} {
		name := nameOf(t, flags[0], flags[1], flags[2])
		if faults := validation.IsDNS1123Label(name); faults != nil {
			t.Errorf("%v: %s: %v", flags, name, faults)
		}
		if before, ok := seen[name]; ok {
			t.Errorf("%v and %s are both %s", flags, before, name)
		}
		seen[name] = strings.Join(flags[:], " ")
	}
	// One selector in two spellings.
	if a, b := nameOf(t, "a", "b", "x=y,c in (d,e)"), nameOf(t, "a", "b", " c in (e, d) , x=y"); a != b {
		t.Errorf("%s and %s", a, b)
	}
}
