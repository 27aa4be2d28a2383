// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// truths are the pairs of testdata/truths.txt.
func truths(t *testing.T) (pairs [][2]string) {
	for line := range strings.Lines(read(t, "truths.txt")) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			a, b, ok := strings.Cut(line, " == ")
			if !ok {
				t.Fatalf("no pair: %q", line)
			}
			pairs = append(pairs, [2]string{a, b})
		}
	}
	return pairs
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTruths: Check knows of two conditions that they hold together. With one around a release and the other around its call, it is
// served; with the one around the release and the call where the other does not hold, it is not. And a call under the
// condition alone is told, unless that always holds.
func TestTruths(t *testing.T) {
	helpers := read(t, "helpers.tpl")
	for _, pair := range truths(t) {
		for range 2 {
			a, b := pair[0], pair[1]
			served := "kind: {{ if " + a + " }}HelmRelease{{ else }}Pod{{ end }}\nspec:\n{{ if " + b + " }}" + called + "{{ end }}\n"
			if got := check(t, helpers+served); got != nil {
				t.Errorf("%s == %s: told %v", a, b, got)
			}
			lost := "kind: {{ if " + a + " }}HelmRelease{{ else }}Pod{{ end }}\nspec:\n{{ if " + b + " }}{{ else }}" + called + "{{ end }}\n"
			if got := check(t, helpers+lost); (got == nil) != (a == "false" || b == "false") || got != nil && got[0].Rule == RuleCondition {
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
		if got := check(t, helpers+release+"{{ if "+pair[0]+" }}\n"+called+"{{ end }}\n"); got != nil {
			rule = got[0].Rule
		}
		if rule != want {
			t.Errorf("%s == %s: a call under it is told by %q, want %q", pair[0], pair[1], rule, want)
		}
	}
}

// TestCases has the templates of testdata/cases.txt.
func TestCases(t *testing.T) {
	helpers, release := read(t, "helpers.tpl"), read(t, "release.tpl")
	_, all, _ := strings.Cut(read(t, "cases.txt"), "\n== ")
	for i, one := range strings.Split(all, "\n== ") {
		want, text, _ := strings.Cut(one, "\n")
		want = strings.TrimPrefix(want, "careful ")
		if text == "" || text[0] == ' ' || text[0] == '\n' {
			text = "kind: HelmRelease\nmetadata: {name: r}\nspec:\n" + text
		}
		text = strings.NewReplacer("CALL_", `(include "image-overrides.postRenderers" .)`, "CALL", `include "image-overrides.postRenderers" .`).Replace(text) + "\n"
		for _, text := range []string{text, strings.ReplaceAll(text, "\n", "\r\n"), "kind: Pod\n{{ \"---\\n\" }}" + text + "---\nkind: Pod\n"} {
			var rules []string
			fsys := fstest.MapFS{"Chart.yaml": {Data: []byte(withChart)}, "templates/_helpers.tpl": {Data: []byte(helpers)}, "templates/a.yaml": {Data: []byte(text)}}
			if strings.Contains(text, `"t.release"`) {
				fsys["templates/_release.tpl"] = &fstest.MapFile{Data: []byte(release)}
			}
			misses, err := Check(fsys)
			for _, m := range misses {
				rules = append(rules, string(m.Rule))
			}
			if got := cmp.Or(strings.Join(rules, " "), "served"); got != want || err != nil {
				t.Errorf("%d: told %q, %v, want %q:\n%s", i+1, got, err, want, text)
			}
		}
	}
}

// TestContexts has the contexts of testdata/contexts.txt, in a chart and in a subchart.
func TestContexts(t *testing.T) {
	// One that the values decide, so that Helm has no say without them.
	const byValues = "served served: (dict \"Values\" (dict \"_cluster\" (index .Values.global .Values.name)))\n"
	for line := range strings.Lines(read(t, "contexts.txt") + byValues) {
		want, context, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			t.Fatalf("no context: %q", line)
		}
		var rules []string
		for _, dir := range []string{"", "charts/sub/"} {
			misses, err := Check(fstest.MapFS{
				"Chart.yaml":                   {Data: []byte(withChart)},
				"charts/sub/Chart.yaml":        {Data: []byte("name: sub\n")},
				dir + "templates/release.yaml": {Data: []byte("kind: HelmRelease\nmetadata:\n  name: r\nspec:\n  postRenderers: {{- include \"image-overrides.postRenderers\" " + context + " | nindent 4 }}\n")},
			})
			if err != nil || len(misses) > 1 {
				t.Fatalf("%s: %v, %v", context, misses, err)
			}
			rule := "served"
			if len(misses) == 1 {
				rule = string(misses[0].Rule)
			}
			rules = append(rules, rule)
		}
		if got := strings.Join(rules, " "); got != want {
			t.Errorf("%s: %s, want %s", context, got, want)
		}
	}
}

// TestVariables: a variable that is set to what it is stays what it is, in however many branches, whatever value it has.
func TestVariables(t *testing.T) {
	for value, holds := range map[string]string{
		`"x"`: "$x", `""`: "not $x", "1": "$x", "true": "$x", "(list nil | first)": "not $x", ".Values.a": "$x", "(not .Values.a)": "not $x", `(dict "k" .Values.a)`: "$x.k",
		"(list .Values.a)": "first $x", "(dict).k": "not $x", `(include "t.a" .)`: "$x", `(include "t.map" . | fromYaml)`: "$x", `(include "t.list" . | fromYamlArray)`: "$x", "(ternary 1 0 .Values.a)": "$x",
	} {
		condition := strings.ReplaceAll(holds, "$x", value)
		text := read(t, "helpers.tpl") + "{{ $x := " + value + " }}" + numberedTo("{{ if .Values.c%d }}{{ $x = $x }}{{ end }}\n", 2*maxChoice) +
			"kind: {{ if " + condition + " }}HelmRelease{{ else }}Pod{{ end }}\nspec:\n  {{ if " + holds + " }}\n" + called + "  {{ end }}\n"
		if got := check(t, text); got != nil {
			t.Errorf("%s: told %v", value, got)
		}
	}
}

// TestManyValues: of a variable that may be one of so many values each is known, and of one more none.
func TestManyValues(t *testing.T) {
	for n, want := range map[int]int{maxChoice: 0, maxChoice + 1: 1} {
		text := release + "  {{ $x := include \"image-overrides.postRenderers\" . }}\n" + numberedTo("{{ if .Values.c%d }}{{ $x = include \"image-overrides.postRenderers\" . }}{{ end }}\n", n-1) + "  postRenderers: {{ $x | nindent 4 }}\n"
		if got := check(t, text); len(got) != want {
			t.Errorf("%d values: told %v", n, got)
		}
	}
}

// TestReached: a named template with a release is judged with what it is given, wherever in a template it is included.
func TestReached(t *testing.T) {
	const named = "{{ define \"r\" }}\n---\nkind: HelmRelease\nspec:\n  {{- with .r }}\n  postRenderers: {{- . | nindent 4 }}\n  {{- end }}\n{{ end }}"
	for _, text := range []string{
		`{{ R }}`, `{{ template "r" (dict) }}`, `{{ R | trim }}`, `{{ trim (R) }}`, `{{ (R) }}`, `{{ dict | include "r" }}`, `{{ $x := R }}{{ $x }}`, `{{ $x := "" }}{{ $x = R }}{{ $x }}`,
		`{{ if .a }}{{ R }}{{ end }}`, `{{ if .a }}{{ else }}{{ R }}{{ end }}`, `{{ if .a }}{{ else if .b }}{{ R }}{{ end }}`, `{{ if R }}{{ R }}{{ end }}`,
		`{{ with .a }}{{ R }}{{ end }}`, `{{ with .a }}{{ else }}{{ R }}{{ end }}`, `{{ with R }}{{ . }}{{ end }}`, `{{ with $x := R }}{{ $x }}{{ end }}`,
		`{{ range .a }}{{ R }}{{ end }}`, `{{ range .a }}{{ else }}{{ R }}{{ end }}`, `{{ range list (R) }}{{ . }}{{ end }}`, `{{ range $i, $x := list 1 (R) }}{{ $x }}{{ end }}`,
		`{{ block "b" . }}{{ R }}{{ end }}`, `{{ define "d" }}{{ R }}{{ end }}{{ include "d" . }}`, `{{ define "p" }}{{ . }}{{ end }}{{ template "p" (R) }}`, `{{ define "p" }}{{ . }}{{ end }}{{ include "p" (R) }}`,
		`{{ define "m" }}{{ template "r" . }}{{ end }}{{ template "m" (dict) }}`, `{{ define "n" }}{{ if .r }}{{ else }}{{ template "r" . }}{{ end }}{{ end }}{{ include "n" (dict) }}`,
		`{{ (dict "x" (R)).x }}`, `{{ toYaml (fromYaml (R)) }}`, `{{ (fromYaml (R)) | toJson }}`, `{{ include (print "r") (dict) }}`, `{{ .a | default (R) }}`, `{{ ternary (R) "" true }}`, `{{ first (list (R)) }}`,
	} {
		text = strings.ReplaceAll(text, "R", `include "r" (dict)`)
		misses, err := Check(fstest.MapFS{"Chart.yaml": {Data: []byte(withChart)}, "templates/_r.tpl": {Data: []byte(named)}, "templates/a.yaml": {Data: []byte(text)}})
		if len(misses) != 1 || misses[0].File != "templates/_r.tpl" || misses[0].Line != 3 || misses[0].Rule != RuleCall || err != nil {
			t.Errorf("%s: %v, %v", text, misses, err)
		}
	}
}
