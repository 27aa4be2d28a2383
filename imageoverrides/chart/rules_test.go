// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// files makes a file system out of a text: lines of the form "-- name --" begin a file.
func files(text string) fstest.MapFS {
	fsys := fstest.MapFS{}
	parts := strings.Split("\n"+text, "\n-- ")
	for _, part := range parts[1:] {
		name, body, _ := strings.Cut(part, " --\n")
		fsys[name] = &fstest.MapFile{Data: []byte(body + "\n")}
	}
	return fsys
}

// TestRules has a miss of every rule, as a whole.
func TestRules(t *testing.T) {
	got, err := Check(files(`
-- Chart.yaml --
name: platform
type: application
-- templates/a.yaml --
kind: HelmRelease
spec: {}
---
kind: HelmRelease
metadata:
  name: a
  postRenderers: {{- include "image-overrides.postRenderers" . | nindent 4 }}
---
kind: HelmRelease
spec: {}
{{- include "image-overrides.postRenderers" . | nindent 0 }}
---
kind: HelmRelease
spec:
  {{- $_ := include "image-overrides.postRenderers" . }}
---
kind: HelmRelease
spec:
  {{- if .Values.a }}
  postRenderers: {{- include "image-overrides.postRenderers" . | nindent 4 }}
  {{- end }}
---
kind: HelmRelease
spec:
  {{- with .Values.a }}{{ end }}
  postRenderers: {{- include "image-overrides.postRenderers" .Values.a | nindent 4 }}
---
kind: HelmRelease
spec:
  postRenderers: {{- include "my.call" . | nindent 4 }}
---
kind: HelmRelease
spec:
  values: {{- include "my.place" . | nindent 4 }}
-- templates/_a.tpl --
{{ define "my.call" }}{{ include "image-overrides.postRenderers" . }}{{ end }}
{{ define "my.place" }}x: {{ include "image-overrides.postRenderers" . | nindent 2 }}{{ end }}
-- templates/_b.tpl --
{{ define "my.call" }}[]{{ end }}
-- charts/sub/Chart.yaml --
name: sub
-- charts/sub/templates/a.yaml --
kind: HelmRelease
spec:
  postRenderers: {{- include "image-overrides.postRenderers" . | nindent 4 }}
`))
	if err != nil {
		t.Error(err)
	}
	const a, lost = "templates/a.yaml", "; its images are not overridden"
	want := []Miss{
		{"Chart.yaml", 1, RuleLibrary, "the chart has HelmReleases and does not depend on the library chart image-overrides"},
		{"charts/sub/Chart.yaml", 1, RuleLibrary, "the chart has HelmReleases and does not depend on the library chart image-overrides"},
		{"charts/sub/" + a, 1, RuleSubchart, "this HelmRelease is in a subchart, to which Helm hands no .Values._cluster (line 3); render it in the parent chart, or pass image-overrides.postRenderers a context with the table out of .Values.global"},
		{a, 1, RuleCall, "this HelmRelease does not call image-overrides.postRenderers" + lost},
		{a, 4, RulePlace, "this HelmRelease calls image-overrides.postRenderers in metadata.postRenderers (line 7), not as the items of its spec.postRenderers" + lost},
		{a, 9, RulePlace, "this HelmRelease calls image-overrides.postRenderers beside its fields (line 11), not as the items of its spec.postRenderers" + lost},
		{a, 13, RuleUnprinted, "this HelmRelease calls image-overrides.postRenderers (line 15) and prints nothing of it" + lost},
		{a, 17, RuleCondition, "this HelmRelease has what image-overrides.postRenderers returns under a condition only (line 19); where that is otherwise its images are not overridden"},
		{a, 23, RuleContext, "this HelmRelease calls image-overrides.postRenderers with .Values.a (line 26), in which there is no .Values._cluster; pass the root context, $"},
		{a, 28, RuleCondition, "this HelmRelease includes \"my.call\" (line 30), of which there are several, and not each calls image-overrides.postRenderers; give them names of their own"},
		{a, 32, RulePlace, "this HelmRelease calls image-overrides.postRenderers in spec.values.x (templates/_a.tpl:2), not as the items of its spec.postRenderers" + lost},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestLibrary has the library chart where Helm finds it, and where it does not.
func TestLibrary(t *testing.T) {
	const served = "-- a/templates/a.yaml --\n" + release + called + "-- a/Chart.yaml --\nname: a\n"
	for _, test := range []struct{ why, files, want string }{
		{"in a chart in charts", "-- a/charts/lib/Chart.yaml --\nname: lib\n-- a/charts/lib/charts/io/Chart.yaml --\nname: image-overrides\n", ""},
		{"three deep", "-- a/charts/b/Chart.yaml --\nname: b\n-- a/charts/b/charts/c/Chart.yaml --\nname: c\n-- a/charts/b/charts/c/charts/d/Chart.yaml --\nname: image-overrides\n", ""},
		{"as an archive in a chart in charts", "-- a/charts/b/Chart.yaml --\nname: b\n-- a/charts/b/charts/image-overrides-0.1.0.tgz --\n", ""},
		{"as an archive with a v", "-- a/charts/image-overrides-v1.2.3-rc.1.tgz --\n", ""},
		{"in the Chart.yaml of a chart in charts", "-- a/charts/b/Chart.yaml --\nname: b\ndependencies: [{name: image-overrides}]\n", ""},
		{"in the requirements.yaml of a chart in charts", "-- a/charts/b/Chart.yaml --\nname: b\n-- a/charts/b/requirements.yaml --\ndependencies: [{name: image-overrides}]\n", ""},
		{"beside it", "dependencies: [{name: lib, repository: 'file://../lib'}]\n-- lib/Chart.yaml --\nname: lib\n-- lib/charts/io/Chart.yaml --\nname: image-overrides\n", ""},
		{"beside what is beside it", "dependencies: [{name: b, repository: 'file://../b'}]\n-- b/Chart.yaml --\nname: b\ndependencies: [{name: c, repository: 'file://../x/c/'}]\n-- x/c/Chart.yaml --\nname: c\ndependencies: [{name: image-overrides}]\n", ""},
		{"nowhere", "", "a/Chart.yaml:1: library"},
		{"another archive", "-- a/charts/image-overrides-extra-1.0.tgz --\n", "a/Chart.yaml:1: library"},
		{"beside it, where nobody says so", "-- io/Chart.yaml --\nname: image-overrides\n", "a/Chart.yaml:1: library"},
		{"outside", "dependencies: [{name: b, repository: 'file://../../b'}]\n", "a/Chart.yaml:2: library"},
		{"in folders that Helm passes over", "-- a/charts/_io/Chart.yaml --\nname: image-overrides\n-- a/charts/.io/Chart.yaml --\nname: image-overrides\n", "a/Chart.yaml:1: library"},
	} {
		t.Run(test.why, func(t *testing.T) {
			misses, err := Check(files(served + test.files))
			var got []string
			for _, m := range misses {
				got = append(got, m.File+":"+number(m.Line)+": "+string(m.Rule))
			}
			if strings.Join(got, "\n") != test.want || err != nil {
				t.Errorf("got %v, %v, want %q", got, err, test.want)
			}
		})
	}
}

// TestTemplates has what templates may do besides.
func TestTemplates(t *testing.T) {
	const helper = `include "image-overrides.postRenderers"`
	for _, test := range []struct{ why, text, want string }{
		{"a release that is decoded, and gets its renderers", "{{ define \"r\" }}\nkind: HelmRelease\nspec:\n  a: b\n{{ end }}{{ $r := include \"r\" . | fromYaml }}{{ $_ := set $r.spec \"postRenderers\" (" + helper + " . | fromYamlArray) }}{{ toYaml $r }}\n", ""},
		{"one that gets them under values", "{{ define \"r\" }}\nkind: HelmRelease\nspec:\n  values: {}\n{{ end }}{{ $r := include \"r\" . | fromYaml }}{{ $_ := set $r.spec.values \"postRenderers\" (" + helper + " . | fromYamlArray) }}{{ toYaml $r }}\n", "2 place"},
		{"dicts that are merged", "{{ $a := dict \"kind\" \"HelmRelease\" \"spec\" (dict \"a\" 1) }}{{ toYaml (merge $a (dict \"spec\" (dict \"postRenderers\" (" + helper + " . | fromYamlArray)))) }}\n", ""},
		{"dicts that are merged the other way", "{{ $a := dict \"kind\" \"HelmRelease\" \"spec\" (dict \"postRenderers\" list) }}{{ toYaml (merge $a (dict \"spec\" (dict \"postRenderers\" (" + helper + " . | fromYamlArray)))) }}\n", ""},
		{"a dict as JSON", "{{ dict \"kind\" \"HelmRelease\" \"spec\" (dict \"postRenderers\" (" + helper + " . | fromYamlArray)) | toPrettyJson }}\n", ""},
		{"a dict with the text", "{{ dict \"kind\" \"HelmRelease\" \"spec\" (dict \"postRenderers\" (" + helper + " .)) | toJson }}\n", "1 place"},
		{"a dict that is not printed", "kind: Pod\n{{ $a := dict \"kind\" \"HelmRelease\" \"spec\" (dict \"a\" 1) }}\n", ""},
		{"a kind out of a range over a dict", "{{ range $k, $v := dict \"HelmRelease\" 1 }}\nkind: {{ $k }}\nspec: {}\n{{ end }}\n", "2 call"},
		{"a kind in pieces", "kind: Helm{{ \"Release\" }}\nspec: {}\n", "1 call"},
		{"a range over kinds", "{{ range list \"Pod\" \"HelmRelease\" }}\n---\nkind: {{ . }}\nspec: {}\n{{ end }}\n", "1 call"},
		{"what a helper is given", "{{ define \"r\" }}\n---\nkind: HelmRelease\nspec:\n  {{- with .r }}\n  postRenderers:\n    {{- . | nindent 4 }}\n  {{- end }}\n{{ end }}{{ include \"r\" (dict \"r\" (" + helper + " .)) }}\n", ""},
		{"what a helper is not given", "{{ define \"r\" }}\n---\nkind: HelmRelease\nspec:\n  {{- with .r }}\n  postRenderers:\n    {{- . | nindent 4 }}\n  {{- end }}\n{{ end }}{{ include \"r\" (dict \"r\" (" + helper + " .)) }}{{ include \"r\" (dict) }}\n", "3 call"},
		{"what a helper is given once, and then not", "{{ define \"r\" }}\n---\nkind: HelmRelease\nspec:\n  postRenderers: {{ .r }}\n{{ end }}{{ include \"r\" (dict \"r\" (" + helper + " . | fromYamlArray | toJson)) }}{{ $x := list 1 }}{{ include \"r\" (dict \"r\" \"a\") }}\n", "3 call"},
		{"a helper that nobody includes", "{{ define \"r\" }}\nkind: HelmRelease\nspec:\n  postRenderers: {{ .r }}\n{{ end }}\n", ""},
		{"a helper that nobody includes, without", "{{ define \"r\" }}\nkind: HelmRelease\nspec: {}\n{{ end }}\n", "2 call"},
		{"a reference in a helper", "{{ define \"r\" }}\nkind: HelmRelease\nname: a\n{{ end }}\n", ""},
		{"a fail in the other arm", "{{ if not .Values.a }}{{ fail \"a\" }}{{ end }}\nkind: HelmRelease\nspec:\n  {{- if .Values.a }}\n  postRenderers: {{- " + helper + " . | nindent 4 }}\n  {{- end }}\n", ""},
		{"a loop that goes on", "{{ range .Values.a }}{{ if .b }}{{ continue }}{{ end }}\nkind: HelmRelease\nspec:\n  {{- if not .b }}\n  postRenderers: {{- " + helper + " $ | nindent 4 }}\n  {{- end }}\n{{ end }}\n", ""},
		{"two kinds of one value", "{{ if eq .Values.a \"x\" }}\nkind: HelmRelease\n{{ end }}{{ if eq .Values.a \"y\" }}\nkind: Pod\n{{ end }}\nspec:\n  {{- if ne .Values.a \"y\" }}\n  postRenderers: {{- " + helper + " . | nindent 4 }}\n  {{- end }}\n", ""},
		{"the table as the condition", "kind: HelmRelease\nspec:\n  {{- if and (hasKey .Values \"_cluster\") (dig \"image-overrides\" list .Values._cluster) }}\n  postRenderers: {{- " + helper + " . | nindent 4 }}\n  {{- end }}\n", ""},
		{"nine conditions", "kind: HelmRelease\nspec:\n" + numberedTo("  {{ if .Values.a%d }}spec%[1]d: 1{{ end }}\n", 9) + "  {{- if .Values.a3 }}\n  postRenderers: {{- " + helper + " . | nindent 4 }}\n  {{- end }}\n", "1 condition"},
		{"nine conditions, and a call", "kind: HelmRelease\nspec:\n" + numberedTo("  {{ if .Values.a%d }}spec%[1]d: 1{{ end }}\n", 9) + "  postRenderers: {{- " + helper + " . | nindent 4 }}\n", ""},
		{"a release in nine else arms", numberedTo("{{ if .Values.a%d }}kind: Pod\n{{ else }}\n", 9) + "kind: HelmRelease\nspec: {}\n" + strings.Repeat("{{ end }}", 9), "19 call"},
		{"a release in ten arms, one and the other", strings.Repeat("{{ if .Values.a }}{{ if .Values.b }}\nkind: Pod\n{{ else }}{{ with .Values.c }}{{ with $.Values.d }}\nkind: Pod\n{{ else }}{{ if and $.Values.e (not $.Values.f) }}{{ if or $.Values.g $.Values.h }}\nkind: Pod\n{{ else }}{{ if not (or $.Values.i (not $.Values.j)) }}\n", 1) + "kind: HelmRelease\nspec: {}\n" + strings.Repeat("{{ end }}", 7), "8 call"},
		{"a merge key", "x:\n  spec: &s\n    postRenderers: {{- " + helper + " . | nindent 6 }}\n  r:\n    kind: HelmRelease\n    metadata: {}\n    spec: {<<: *s}\n", ""},
		{"a byte order mark", "\uFEFFkind: HelmRelease\nspec: {}\n", "1 call"},
		{"a directive and an end", "%YAML 1.2\n---\nkind: HelmRelease\nspec: {}\n...\nkind: Pod\n", "3 call"},
		{"a brace that is not closed in the text", "a: {kind: HelmRelease, metadata: {name: a}{{ \"}\" }}\n", "1 call"},
		{"a brace that is not closed at all", "a: {kind: HelmRelease, metadata: {name: a}\n---\nkind: Pod\n", "1 call"},
		{"braces that are closed before", "{metadata: {name: a}, kind: HelmRelease}\n", "1 call"},
		{"a comment in the place of the kind", "kind: # {{ \"HelmRelease\" }}\nmetadata: {}\n", ""},
		{"a comment behind a tab", "a: b\t# {kind: HelmRelease, metadata: {name: a}}\n", ""},
		{"a kind behind a line break that is trimmed", "{{- define \"x\" -}}\nkind: HelmRelease\nmetadata: {}\n{{ end }}\n", "2 call"},
		{"another string in front", "apiVersion: {{ \"v2\" }}\nkind: {{ \"HelmRelease\" }}\nspec: {}\n", "2 call"},
		{"a range with an else", "{{ range .a }}\nkind: HelmRelease\nspec: {}\n{{ else }}\nkind: HelmRelease\nspec: {}\n{{ end }}\n", "2 call, 5 call"},
		{"quotes without an end in front of a separator", "a: \"b\n---\nkind: HelmRelease\nspec: {}\nx: \"c\"\n", "3 call"},
		{"quotes without an end in front of an empty line and a separator", "a: \"b\n\n---\n{\"kind\": \"HelmRelease\", \"spec\": {}}\n", "4 call"},
		{"quotes without an end in braces in front of a separator", "a: {b: \"c\n---\nkind: \"HelmRelease\"\nspec: {}\n", "3 call"},
		{"quotes without an end, and a separator of documents in them that is none", "a: \"b\n ---\n  c\"\nkind: HelmRelease\nspec: {}\n", "4 call"},
		{"three dashes that are no separator", "a: |\n  ---\nb: ---\nkind: HelmRelease\nc: a---\n---x: b\nspec: {}\n", "4 call"},
		{"a kind at the beginning of a line", "{kind:\nHelmRelease, spec: {}}\n", "2 call"},
		{"a dict in itself", "{{ $d := dict \"kind\" \"HelmRelease\" \"spec\" dict }}{{ $_ := set $d \"x\" $d }}{{ toYaml $d }}\n", "1 call"},
		{"conditions that go together, in three documents", numberedTo("---\nkind: HelmRelease\nspec:\n  {{ if and .Values.a%d (not .Values.b%[1]d) .Values.c%[1]d (not .Values.d%[1]d) }}{{ else }}\n  postRenderers: {{- "+helper+" . | nindent 4 }}\n  {{ end }}\n", 3), "2 condition, 8 condition, 14 condition"},
		{"what is never chosen", "kind: HelmRelease\nspec:\n  {{ $x := " + helper + " . }}\n" + numberedTo("{{ $x = ternary \"%d\" $x false }}\n", 2*maxChoice) + "  postRenderers: {{ $x | nindent 4 }}\n", ""},
		{"an action alone in its line, further out than what is around it", "kind: List\nitems:\n- kind: HelmRelease\n  spec:\n{{ .Values.a }}\n    postRenderers: {{- " + helper + " . | nindent 6 }}\n", ""},
		{"the same in front of the kind", "kind: List\nitems:\n- spec: {}\n{{ .Values.a }}\n  kind: HelmRelease\n", "5 call"},
		{"a directive in front of a kind", "%YAML 1.2\nkind: HelmRelease\nspec: {}\n", "2 call"},
		{"a call in a directive", "%X [{{ " + helper + " . | fromYamlArray | toJson }}]\nkind: HelmRelease\nspec: {}\n", "2 call"},
		{"a row without a colon", "kind: HelmRelease\nmetadata\nname: a\n", ""},
		{"a fail that another function gets", "{{ if not .Values.a }}{{ fail \"a\" | quote | print \"b\" }}{{ end }}\nkind: HelmRelease\nspec:\n  {{- if .Values.a }}\n  postRenderers: {{- " + helper + " . | nindent 4 }}\n  {{- end }}\n", ""},
		{"values that are decoded", "{{ define \"v\" }}\na: b\n{{ end }}\nkind: HelmRelease\nspec:\n  postRenderers: {{- " + helper + " (dict \"Values\" (include \"v\" . | fromYaml)) | nindent 4 }}\n", ""},
		{"a context that is decoded", "{{ define \"v\" }}\na: b\n{{ end }}\nkind: HelmRelease\nspec:\n  postRenderers: {{- " + helper + " (include \"v\" . | fromYaml) | nindent 4 }}\n", ""},
		{"a _cluster that is decoded", "{{ define \"v\" }}\na: b\n{{ end }}\nkind: HelmRelease\nspec:\n  postRenderers: {{- " + helper + " (dict \"Values\" (dict \"_cluster\" (include \"v\" . | fromYaml))) | nindent 4 }}\n", ""},
		{"what looks like a call's mark in a string", "kind: HelmRelease\nspec:\n  postRenderers: [{{ \"\\x010\\x01\" }}]\n", "1 call"},
		{"what looks like the mark of a place in a string", "a: b\n---\nkind: {{ \"\\x020\\x02HelmRelease\" }}\nspec: {}\n", ""},
		{"what looks like the mark of what is not known in a string", "kind: HelmRelease\nspec: {{ \"\\x00\" }}\n", "1 call"},
		{"the same marks in the text", "kind: HelmRelease\nspec:\n  postRenderers: [\x010\x01]\n---\nkind: \x020\x02HelmRelease\nspec: \x00\n", "1 call"},
		{"the last turn of a range", "{{ range list " + strings.Repeat("1 ", maxTurns-1) + "\"HelmRelease\" }}\n---\nkind: {{ . }}\nspec: {}\n{{ end }}\n", "1 call"},
	} {
		t.Run(test.why, func(t *testing.T) {
			var got []string
			for _, m := range check(t, test.text) {
				got = append(got, number(m.Line)+" "+string(m.Rule))
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("got %v, want %q", got, test.want)
			}
		})
	}
}

// TestIndented: as many lines are indented as make the text so large, and one more leaves all as they are.
func TestIndented(t *testing.T) {
	for _, n := range []int{1023, 1 << 20} {
		margin := strings.Repeat(" ", min(n, maxIndent))
		most := maxIndented / (len(margin) + 1)
		text := strings.Repeat("\n", most)
		if got := indented(n)(text); got != strings.Repeat("\n"+margin, most) {
			t.Errorf("%d lines, %d further in, are %d bytes", most, n, len(got))
		}
		if got := indented(n)(text + "\n"); got != text+"\n" {
			t.Errorf("%d lines, %d further in, are %d bytes", most+1, n, len(got))
		}
	}
	for n, want := range map[int]string{-1: "a\nb", 0: "a\nb", 2: "a\n  b"} {
		if got := indented(n)("a\nb"); got != want {
			t.Errorf("%d further in: %q, want %q", n, got, want)
		}
	}
}

func numberedTo(format string, n int) string {
	text := numbered(format, 1<<12)
	lines := strings.SplitAfter(text, "\n")
	per := strings.Count(format, "\n")
	return strings.Join(lines[:per*n], "")
}

// TestSource has texts in which braces, quotes and parentheses are no nesting.
func TestSource(t *testing.T) {
	const n = maxNesting + 1
	for _, test := range []struct {
		text string
		deep bool
	}{
		{strings.Repeat("{{ if .a }}{{ end }}", n), false},
		{strings.Repeat("{{/* {{ if .a }} */}}", n), false},
		{strings.Repeat("{{- /* ( */ -}}", n), false},
		{strings.Repeat("{{ `if ( }}` }}", n), false},
		{strings.Repeat(`{{ "\"((\\" }}`, n), false},
		{strings.Repeat(`{{ '(' }}`, n), false},
		{"{{ " + strings.Repeat(`("a" ) `, n) + "}}", false},
		{strings.Repeat("{{ if .a }}{{ else if .b }}{{ else }}{{ end }}", n), false},
		{strings.Repeat("{{ iffy }}", n), false},
		{"{{ " + strings.Repeat(`(print "\"" `, n), true},
		{"{{ `a` }}" + strings.Repeat("{{- range .a }}", n), true},
		{"{{ \"\\\"\" }}" + strings.Repeat("{{with .a}}", n), true},
		{strings.Repeat("{{\n- 1 }}", n) + strings.Repeat("{{- \nif .a }}", n), true},
		{strings.Repeat("{{ block \"a\" . }}", n), true},
		{"{{ if .a }}" + strings.Repeat("{{ else with .b }}", n), true},
	} {
		if at := tooDeep(test.text); at >= 0 != test.deep {
			t.Errorf("%.80s: %d", test.text, at)
		}
	}
	for _, test := range []struct{ before, nest string }{
		{"", "{{ if .a }}"}, {"", "{{with .a}}"}, {"", "{{- range .a }}"}, {"", `{{ block "a" . }}`}, {"", `{{ define "a" }}`}, {"{{ if .a }}", "{{ else if .b }}"}, {"{{ with .a }}", "{{else with .b}}"},
		{"{{", "("}, {"{{ if .a }}{{ end }}{{ end }}{{", "(print "},
	} {
		most := maxNesting
		if strings.Contains(test.nest, "else") {
			most-- // the one before is a level too
		}
		if at := tooDeep(test.before + strings.Repeat(test.nest, most)); at >= 0 {
			t.Errorf("%d times %s is too deep, at %d", most, test.nest, at)
		}
		if text := test.before + strings.Repeat(test.nest, most+1); tooDeep(text) < len(text)-len(test.nest) {
			t.Errorf("%d times %s is not too deep, or at %d", most+1, test.nest, tooDeep(text))
		}
	}
}
