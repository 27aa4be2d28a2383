// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// truths are the pairs of testdata/truths.txt.
func truths(t *testing.T) (pairs [][2]string) {
	text, err := os.ReadFile("testdata/truths.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		if line := lines.Text(); line != "" && line[0] != '#' {
			a, b, ok := strings.Cut(line, " == ")
			if !ok {
				t.Fatalf("no pair: %q", line)
			}
			pairs = append(pairs, [2]string{a, b})
		}
	}
	return pairs
}

// truthHelpers are the named templates of testdata/truths.txt.
const truthHelpers = `
{{- define "t.empty" }}{{ end }}
{{- define "t.x" }}x{{ end }}
{{- define "t.a" }}{{ if .Values.a }}x{{ end }}{{ end }}
{{- define "t.blank" }} {{ if .Values.a }}x{{ end }}
{{ end }}
{{- define "t.loop" }}
{{ range .Values.l }}x{{ end }}{{ end }}
{{- define "t.map" }}k: v{{ end }}
{{- define "t.list" }}- v{{ end }}
`

// TestTruths: Check knows of two conditions that they hold together. With one around a release and the other around its call, it is
// served; with the one around the release and the call where the other does not hold, it is not. And a call under the
// condition alone is told, unless that always holds.
func TestTruths(t *testing.T) {
	for _, pair := range truths(t) {
		for range 2 {
			a, b := pair[0], pair[1]
			served := "kind: {{ if " + a + " }}HelmRelease{{ else }}Pod{{ end }}\nspec:\n{{ if " + b + " }}" + called + "{{ end }}\n"
			if got := check(t, truthHelpers+served); got != nil {
				t.Errorf("%s == %s: told %v", a, b, got)
			}
			lost := "kind: {{ if " + a + " }}HelmRelease{{ else }}Pod{{ end }}\nspec:\n{{ if " + b + " }}{{ else }}" + called + "{{ end }}\n"
			if got := check(t, truthHelpers+lost); (got == nil) != (a == "false" || b == "false") || got != nil && got[0].Rule == RuleCondition {
				t.Errorf("%s == %s: not of the other: told %v", a, b, got)
			}
			pair[0], pair[1] = b, a
		}
		want := RuleCondition
		switch pair[1] {
		case "true":
			want = ""
		case "false":
			want = RuleUnprinted
		}
		rule := Rule("")
		if got := check(t, truthHelpers+release+"{{ if "+pair[0]+" }}\n"+called+"{{ end }}\n"); got != nil {
			rule = got[0].Rule
		}
		if rule != want {
			t.Errorf("%s == %s: a call under it is told by %q, want %q", pair[0], pair[1], rule, want)
		}
	}
}
