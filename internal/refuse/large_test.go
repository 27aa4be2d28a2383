// SPDX-License-Identifier: Apache-2.0

package refuse

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/internal/manifest/document"
)

// values counts the nodes of trees.
func values(list []*yaml.Node) (n int) {
	for _, c := range list {
		n += 1 + values(c.Content)
	}
	return n
}

// A text that is not large has no more values than a document may have, in any notation.
func TestLarge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.StringOfN(rapid.SampledFrom([]rune("a:- ,[]{}\n\"'?")), 1, 12, -1).Draw(t, "unit")
		text := strings.Repeat(unit, 40)
		parsed, err := document.Parse([]byte(text))
		if err != nil || len(parsed.Roots) != 1 {
			return // JSON values in a row are documents of their own
		}
		if n, most := values(parsed.Roots), marks([]byte(text)); n > most {
			t.Fatalf("%q has %d values, and %d are counted", unit, n, most)
		}
	})
	for text, want := range map[string]bool{
		strings.Repeat("a", 2*MaxValues):              false,
		strings.Repeat("ab:cd ", MaxValues):           false,
		strings.Repeat("a,", MaxValues/2-1):           false,
		strings.Repeat("a,", MaxValues/2):             true,
		strings.Repeat(`"a":1,`, MaxValues/2-1):       false,
		strings.Repeat(`"a":1,`, MaxValues/2):         true,
		strings.Repeat("a: b\n", MaxValues/2):         true,
		strings.Repeat("- a\n", MaxValues-2):          false,
		strings.Repeat("- a\n", MaxValues-1):          true,
		strings.Repeat(`{"a":{"b":[]}}`, MaxValues/7): false,
		strings.Repeat(`{"a":{"b":[]}}`, MaxValues/6): true,
	} {
		if got := Large([]byte(text)); got != want {
			t.Errorf("%.20q: %t", text, got)
		}
	}
}
