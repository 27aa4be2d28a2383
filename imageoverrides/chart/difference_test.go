// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDifference: of several conditions that one is told without which the call is not there.
func TestDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "conditions")
		which := rapid.IntRange(0, n-1).Draw(t, "which")
		not := rapid.SampledFrom([]string{"", "not "}).Draw(t, "not")
		var b strings.Builder
		b.WriteString("kind: HelmRelease\nspec:\n")
		line := 0
		for i := range n {
			if i == which {
				line = strings.Count(b.String(), "\n") + 1
				fmt.Fprintf(&b, "  {{- if %s.Values.a%d }}\n  postRenderers: {{- include \"image-overrides.postRenderers\" . | nindent 4 }}\n  {{- end }}\n", not, i)
			} else {
				fmt.Fprintf(&b, "  {{- if .Values.a%d }}\n  a%[1]d: b # kind\n  {{- end }}\n", i)
			}
		}
		misses := check(t, b.String())
		want := fmt.Sprintf("this HelmRelease has what image-overrides.postRenderers returns under a condition only (line %d); where that is otherwise its images are not overridden", line)
		if len(misses) != 1 || misses[0].Message != want {
			t.Fatalf("%v, want %s\n%s", misses, want, b.String())
		}
	})
}
