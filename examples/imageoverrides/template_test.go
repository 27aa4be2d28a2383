// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cozystack/image-overrides/postrender"
)

// A fault before the first action is told as what it is, and so is text that Helm would not read.
func TestFaultsBeforeTemplates(t *testing.T) {
	fault := "kind: Pod\na: ]\n" + "x: y\nz: y\n" + "b: {{ .x }}-c\n"
	const says = "f:3:4: did not find expected node content\n"
	files := map[string]string{"t": one, "f": fault}
	calls(t, []call{
		{why: "check", files: files, args: "check f", status: 1, stdout: says},
		{why: "rewrite", files: files, args: "rewrite -t t f", status: 1, stderr: says},
		{why: "merge", files: files, args: "merge -t t f", status: 1, stderr: says},
		{why: "text behind the end", files: map[string]string{"f": "{}\nregistries: {}\n"}, args: "check f", status: 1,
			stdout: "f:2:1: text behind the first document, which is all that Helm reads; is a line above indented by more than this one, or a value complete?\n"},
	})
}

// A template that nobody rendered is called one, whether it parses or not.
func TestTemplates(t *testing.T) {
	const deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      containers:\n"
	for _, c := range []struct{ why, in, at string }{
		{"an image", deployment + "      - image: {{ .Values.image }}\n", "8:16"},
		{"an image of two parts", deployment + "      - image: {{ .Values.image }}:{{ .Values.tag }}\n", "8:16"},
		{"an item", deployment + "      - {{ .Values.container }}\n", "8:9"},
		{"an item of an item", "a:\n- - {{ .x }}\n", "2:5"},
		{"in brackets", "kind: Pod\nargs: [a, {{ .x }}]\n", "2:11"},
		{"in braces", "kind: Pod\nargs: {a: {{ .x }}}\n", "2:11"},
		{"in JSON", "{\"kind\": \"Pod\", \"a\": {{ .x }}}\n", "1:22"},
		{"in JSON, that does not parse", "{\n  \"kind\": {{ .x | quote }}-a,\n", "2:11"},
		{"a key", "kind: Pod\n{{ .x }}: a\n", "2:1"},
		{"a branch", "{{- if .Values.a }}\nkind: Pod\n{{- end }}\n", "1:1"},
		{"a branch among fields", "kind: Pod\nmetadata:\n  {{- if .Values.a }}\n  name: a\n  {{- end }}\n", "3:3"},
		{"an include", "kind: Pod\nmetadata:\n  labels:\n    {{- include \"a.labels\" . | nindent 4 }}\n", "4:5"},
		{"an include that parses", "kind: Pod\nmetadata: {{ include \"a.metadata\" . }}\n", "2:11"},
		{"a comment of the template", "{{- /* for all */ -}}\nkind: Pod\n", "1:1"},
		{"a part of a name", "kind: Pod\nmetadata:\n  name: {{ .Release.Name }}-a\n", "3:9"},
		{"behind a text with actions", "kind: ConfigMap\ndata:\n  a: |\n    {{ .x }}\n    b: {{ .y }}\n  c: {{ .z }}-d\n", "6:6"},
		{"behind a text in a list", "a:\n- b: |-\n    {{ .x }}\n  c: {{ .y }}-d\n", "4:6"},
		{"behind a text that is an item", "a:\n- >\n {{ .x }}\n- {{ .y }}-d\n", "4:3"},
		{"behind a text in a list in a list", "- - >\n   {{ .x }}\n  - {{ .y }}-d\n", "3:5"},
		{"CRLF", "kind: Pod\r\nmetadata:\r\n  {{- if .a }}\r\n  name: b\r\n", "3:3"},
		{"a second document", service + "---\nkind: Pod\nspec: {{ .x }}\n", "6:7"},
		{"a list of entries", "- name: a\n  newTag: {{ .Values.tag }}\n", "2:11"},
		{"values", "registries:\n  imageOverrides:\n  {{- range .x }}\n  - name: a\n", "3:3"},
		{"values that parse", "registries:\n  imageOverrides: {{ .x }}\n", "2:19"},
	} {
		says := "f:" + c.at + ": a template; render it first (helm template)\n"
		before := ""
		if strings.HasPrefix(c.in, service) {
			before = service
		}
		calls(t, []call{
			{why: c.why + ", check", files: map[string]string{"f": c.in}, args: "check f", status: 1, stdout: says},
			{why: c.why + ", rewrite", files: map[string]string{"t": one, "f": c.in}, args: "rewrite -t t f", status: 1, stdout: before, stderr: says},
			{why: c.why + ", rewrite -w", files: map[string]string{"t": one, "f": c.in}, args: "rewrite -t t -w f", status: 1, stderr: says},
			{why: c.why + ", merge", files: map[string]string{"t": one, "f": c.in}, args: "merge -t t f", status: 1, stdout: before, stderr: says},
		})
	}
	calls(t, []call{
		{why: "the chart of the Secret", files: map[string]string{"f": secretText("stringData", "|\n    _cluster:\n      image-overrides: {{ .x }}")}, args: "check f", status: 1,
			stdout: "f: values.yaml:2:20: a template; render it first (helm template)\n"},
		{why: "an empty table looks at nothing", files: map[string]string{"t": "[]", "f": "{{ x }}\n"}, args: "rewrite -t t f", stdout: "{{ x }}\n",
			stderr: "t: overrides: the table is empty, hash " + emptyHash + "\n1 document, 0 images changed\n"},
	})
}

// In the name of an object and in the image of a container no action is right, and quotes do not make it so.
func TestQuotedTemplates(t *testing.T) {
	for _, c := range []struct{ why, in, at string }{
		{"an image", "kind: Pod\nspec:\n  containers:\n  - image: \"{{ .Values.repository }}:{{ .Values.tag }}\"\n", "4:12"},
		{"an image, not from its start", "kind: Pod\nspec:\n  initContainers:\n  - image: docker.io/{{- $.Values.name }}\n", "4:12"},
		{"an image by a named template", "kind: Pod\nspec: {containers: [{image: '{{ include \"a.image\" . }}'}]}\n", "2:29"},
		{"a pipeline", "kind: Pod\nspec: {containers: [{image: '{{ default \"a\" .Values.image }}'}]}\n", "2:29"},
		{"a name", "kind: Service\nmetadata: {name: '{{ .Release.Name }}-a'}\n", "2:18"},
		{"any name", "kind: Service\nmetadata:\n  namespace: a-{{ name }}\n", "3:14"},
		{"an item of a List", "kind: List\nitems: [{kind: Service, metadata: {name: '{{ x }}'}}]\n", "2:42"},
		{"the first", "kind: Pod\nspec: {containers: [{image: '{{.Values.a}}'}]}\nmetadata: {name: '{{ x }}'}\n", "2:29"},
	} {
		for _, command := range []string{"rewrite", "merge"} {
			calls(t, []call{{why: c.why + ", " + command, files: map[string]string{"t": one, "f": c.in}, args: command + " -t t f", status: 1, stderr: "f:" + c.at + ": " + notRendered + "\n"}})
		}
	}
	for _, c := range []struct{ why, in string }{
		{"of Argo", "kind: WorkflowTemplate\nspec: {templates: [{initContainers: [{image: '{{inputs.parameters.image}}'}]}]}\n"},
		{"of an ApplicationSet", "kind: ApplicationSet\nspec: {template: {metadata: {name: '{{ .name }}'}}}\n"},
		{"elsewhere", "kind: ConfigMap\ndata: {image: '{{ .Values.image }}', containers: '{{ .Release.Name }}'}\n"},
		{"in a custom resource", "kind: A\nspec: {image: '{{ .Values.image }}'}\n"},
	} {
		calls(t, []call{
			{why: c.why + ", rewrite", files: map[string]string{"t": one, "f": c.in}, args: "rewrite -t t f", stdout: c.in, stderr: "1 document, 0 images changed\n"},
			{why: c.why + ", merge", files: map[string]string{"t": one, "f": c.in}, args: "merge -t t f", stdout: c.in, stderr: "1 document, 0 releases, 0 changed\n"},
		})
	}
	values := head + "spec:\n  chart: c\n  values: {initContainers: [{image: '{{ .Values.image }}'}]}\n"
	calls(t, []call{{why: "values are for Helm to render", files: map[string]string{"t": one, "f": values}, args: "merge -t t f", stdout: values + oneRenderer,
		stderr: "f:1:1: HelmRelease n/r: " + oneAdded + "1 document, 1 release, 1 changed\n"}})
}

// Actions in texts are text.
func TestNoTemplates(t *testing.T) {
	for _, c := range []struct{ why, in string }{
		{"in blocks of text", "kind: ConfigMap\ndata:\n  a: |\n    {{- if .x }}\n    b: {{ .y }}\n\n    {{- end }}\n  c: >-\n    {{ .z }}\n"},
		{"in an indented block with a tag", "kind: ConfigMap\ndata:\n  a: !!str |2\n     {{ .x }}\n"},
		{"in quotes", "kind: ConfigMap\ndata:\n  a: \"{{ .x }}\"\n  'b': '{{ .y }}'\n  \"{{ .z }}\": a\n"},
		{"in quotes of many lines", "kind: ConfigMap\ndata:\n  a: \"b\n    {{ .x }}\n    c: {{ .y }}\"\n"},
		{"in the middle of a plain text", "kind: PrometheusRule\nspec:\n  summary: Instance {{ $labels.instance }} is down\n  b: a{{ .x }}\n"},
		{"in a comment", "kind: Pod\n# {{- if .x }}\nspec: a # {{ .y }}\n"},
		{"in quotes in braces", "{kind: Pod, a: ['{{ .x }}', \"{{ .y }}\"]}\n"},
		{"in JSON", "{\"kind\": \"ConfigMap\", \"data\": {\"a\": \"{{ .x }}\", \"{{ .y }}\": \"\"}}\n"},
		{"two braces that are maps", "kind: Pod\na: [{b: {c: d}}]\ne: {f: {g: h}}\n"},
	} {
		calls(t, []call{
			{why: c.why + ", rewrite", files: map[string]string{"t": one, "f": c.in}, args: "rewrite -t t f", stdout: c.in, stderr: "1 document, 0 images changed\n"},
			{why: c.why + ", merge", files: map[string]string{"t": one, "f": c.in}, args: "merge -t t f", stdout: c.in, stderr: "1 document, 0 releases, 0 changed\n"},
		})
		// With a fault further down, the fault is told.
		broken := c.in + "]: [\n"
		var stdout, stderr bytes.Buffer
		t.Chdir(t.TempDir())
		write(t, "t", one)
		run([]string{"merge", "-t", "t"}, strings.NewReader(broken), &stdout, &stderr)
		if c.why != "in quotes of many lines" && strings.Contains(stderr.String(), "template") {
			t.Errorf("%s: %s", c.why, &stderr)
		}
	}
}

// An action where a value is expected is told in its place, whatever the texts before it hold; the same action in quotes is
// never told.
func TestTemplateLaw(t *testing.T) {
	texts := rapid.SampledFrom([]string{"|\n    {{ .x }}\n    a: {{ .y }}\n", "'{{ .x }}'\n", "\"{{ .x }}\"\n", ">-\n\n    {{- if a }}\n    - {{ b }}\n", "a {{ .x }}\n", "# {{ x }}\n", "[\"{{ .x }}\"]\n", "\n  - |\n   {{ x }}\n"})
	action := rapid.SampledFrom([]string{"{{ .Values.image }}", "{{.x}}", "{{- .x }}", "{{ include \"a\" . | nindent 4 }}", "{{ .a }}:{{ .b }}", "{{ .a }}-b"})
	rapid.Check(t, func(t *rapid.T) {
		in := "kind: ConfigMap\ndata:\n"
		for i := range rapid.IntRange(0, 4).Draw(t, "texts") {
			in += fmt.Sprintf("  k%d: %s", i, texts.Draw(t, "text"))
		}
		line := strings.Count(in, "\n") + 1
		a := action.Draw(t, "action")
		_, err := postrender.Rewrite(io.Discard, strings.NewReader(in+"  z: "+a+"\n"), must(one))
		if want := fmt.Sprintf("line %d, column 6: %s", line, notRendered); err == nil || err.Error() != want {
			t.Fatalf("%v, want %s\n%s", err, want, in)
		}
		quoted := in + "  z: '" + a + "'\n"
		var out strings.Builder
		if _, err := postrender.Rewrite(&out, strings.NewReader(quoted), must(one)); err != nil || out.String() != quoted {
			t.Fatalf("%v\n%s", err, quoted)
		}
	})
}
