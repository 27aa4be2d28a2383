// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestCheckTruths holds the pairs of conditions with which chart.Check is tested against what Helm makes of them.
func TestCheckTruths(t *testing.T) {
	text, err := os.ReadFile("../../imageoverrides/chart/testdata/truths.txt")
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	b := strings.Builder{}
	b.WriteString(truthHelpers)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		left, right, ok := strings.Cut(line, " == ")
		if !ok || line[0] == '#' {
			continue
		}
		fmt.Fprintf(&b, "\n%d {{ if %s }}1{{ else }}0{{ end }}{{ if %s }}1{{ else }}0{{ end }}", len(pairs), left, right)
		pairs = append(pairs, line)
	}
	b.WriteString("\n{{/* include \"image-overrides.postRenderers\" */}}")
	p := try(t, library, b.String())
	for n := range 1 << 5 {
		values := map[string]any{
			"_cluster": map[string]any{"image-overrides": []any{map[string]any{"name": "i", "newTag": "1"}}},
			"a":        n&1 != 0, "b": n&2 != 0, "c": n&4 != 0, "s": "", "l": []any{},
		}
		if n&8 != 0 {
			values["s"] = "x"
		}
		if n&16 != 0 {
			values["l"] = []any{"x"}
		}
		for i, got := range p.run(each(values)) {
			if got.err != nil || got.message != "" {
				t.Fatalf("%s: %v%s", helms[i].name, got.err, got.message)
			}
			for k, pair := range pairs {
				if !strings.Contains(got.text, fmt.Sprintf("\n%d 00\n", k)) && !strings.Contains(got.text, fmt.Sprintf("\n%d 11\n", k)) {
					t.Errorf("%s: %s does not hold with a=%v b=%v c=%v s=%v l=%v", helms[i].name, pair, values["a"], values["b"], values["c"], values["s"], values["l"])
				}
			}
		}
	}
}

// truthHelpers are the named templates of the pairs, as the tests of chart have them.
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
