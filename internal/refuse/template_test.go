// SPDX-License-Identifier: Apache-2.0

package refuse

import (
	"strings"
	"testing"

	"github.com/cozystack/image-overrides/internal/manifest/document"
	"github.com/cozystack/image-overrides/internal/node"
)

// TestActions: an action of a template is found where it stands, whether or not the text parses, and not where it is text. Its place is
// marked by @@, which is taken out; without one there is none.
func TestActions(t *testing.T) {
	const pod = "kind: Pod\nmetadata: {name: p}\nspec:\n  "
	for _, marked := range []string{
		// What parses.
		"a: @@{{ .x }}\n", "a: b\nc:\n- @@{{ .x }}\n", "[a, @@{{ .x }}]\n", "{a: @@{{ .x }}}\n", "? @@{{ .x }}\n: a\n", "@@{{ .x }}\n", "a: {b: @@{{ .x }}, c: {{ .y }}}\n", "a: b\n---\nc: @@{{ .x }}\n",
		"a: \"{{ .x }}\"\n", "a: '{{ .x }}'\n", "a: |\n  {{ .x }}\n", "a: b {{ .x }}\n", "# {{ .x }}\n", "a: {b: {c: d}}\n", "a: { {b: c}: d}\n", "a: {}\n", "",
		// In the name of an object, and in a container's image.
		"kind: A\nmetadata: {name: @@'{{ .x }}'}\n", "kind: A\nmetadata:\n  name: a\n  namespace: @@\"a-{{ x }}\"\n", "kind: A\nmetadata: {labels: {a: '{{ x }}'}}\n", "kind: A\nspec: {name: '{{ x }}'}\n",
		"kind: List\nitems:\n- kind: A\n  metadata: {name: @@'{{ .x }}'}\n- kind: A\n  metadata: {name: '{{ .x }}'}\n", "kind: HelmRelease\nmetadata: {name: @@'{{ .x }}'}\n",
		"kind: A\nmetadata: {name: @@'{{ .x }}'}\nspec: {containers: [{image: '{{ .Values.a }}'}]}\n", "kind: A\nspec: {containers: [{image: @@'{{ .Values.a }}'}]}\nmetadata: {name: '{{ .x }}'}\n",
		pod + "containers:\n  - image: @@'{{ .Values.a }}'\n", pod + "initContainers: [{name: a, image: @@\"a:{{ .Chart.AppVersion }}\"}]\n", pod + "template: {spec: {containers: [{image: a}, {image: @@'{{ include \"a\" . }}'}]}}\n",
		pod + "containers: [{image: @@'{{ $.Values.a }}'}]\n", pod + "containers: [{image: @@'{{- .Release.Name }}'}]\n", pod + "containers: [{image: @@'{{ tpl .a . }}'}]\n", pod + "containers: [{image: @@'{{ printf \"a\" (.Values.b) }}'}]\n",
		pod + "containers: [{image: '{{ .image }}'}]\n", pod + "containers: [{image: '{{ .ValuesOf }}'}]\n", pod + "containers: [{name: '{{ .Values.a }}'}]\n", pod + "containers: {image: '{{ .Values.a }}'}\n", pod + "volumes: [{image: '{{ .Values.a }}'}]\n",
		pod + "containers: [{a: {image: '{{ .Values.a }}'}}]\n", "kind: HelmRelease\nspec: {values: {containers: [{image: '{{ .Values.a }}'}]}}\n", "kind: Package\nspec: {containers: [{image: '{{ .Values.a }}'}]}\n",
		// What does not.
		"@@{{- if .x }}\na: b\n{{- end }}\n", "a: b\n  {{- if .x }}\n", "a:\n  @@{{- if .x }}\n  b: c\n", "a:\n  b: @@{{ .x }} c\n", "- - @@{{ .x }} c\n", "? @@{{ .x }} c\n", "\"a b\": @@{{ .x }} c\n", "'a b': @@{{ .x }} c\n", "{ a: @@{{ .x }} c\n", "a: [\n", "a: \"{{ .x }}\n", "a: b {{ .x }}\nc: [\n",
		"a: |\n  {{- if .x }}\nb: [\n", "a: |\n  {{- if .x }}\nb: @@{{ .x }} c\n", "- |-\n  {{ .x }} a\n- [\n", "- a: >2 # c\n    {{ .x }} a\n  b: @@{{ .x }} a\n", "- - |\n    {{ .x }} a\n  - @@{{ .x }} a\n", "a: !x &y |\r\n  {{ .x }} a\r\nb: @@{{ .x }} a\r\n", "a: |\n\n  {{ .x }} a\n\n  b\n\nb: @@{{ .x }} a\n",
		"a: | b\n  @@{{ .x }} a\n", "a: '|'\n@@{{ .x }} a\n", "# a: |\n  @@{{ .x }} a\n", "a: b # {{ .x }}\nc: [\n", "a b: @@{{ .x }} c\n", "a#b: {{ .x }} c\n",
	} {
		text := strings.Replace(marked, "@@", "", 1)
		want := strings.Index(marked, "@@")
		got := -1
		parsed, err := document.Parse([]byte(text))
		at, ok := 0, false
		if err != nil {
			at, ok = Unparsed([]byte(text))
		} else {
			at, ok = Template(parsed, new(node.Finder))
		}
		if ok {
			got = at
		}
		if got != want {
			t.Errorf("%q (%v): an action at %d, want %d", text, err, got, want)
		}
	}
}

// TestSignatures: what SOPS has signed is told where its key stands, of the document and of each item of a list on the way.
func TestSignatures(t *testing.T) {
	const signed = "{mac: 'ENC[a]', version: 3}"
	for _, test := range []struct {
		marked, path string // @@ is where the key stands
		root         int
	}{
		{"a: b\n@@sops: " + signed + "\n", "a", 0}, {"a: b\n@@sops: {mac: x, mac_only_encrypted: false}\n", "a", 0}, {"a: b\n@@sops: {mac: x, mac_only_encrypted: 'true'}\n", "a", 0},
		{"a: b\nsops: {mac: x, mac_only_encrypted: true}\n", "a", 0}, {"sops: {mac: ''}\n", "a", 0}, {"sops: {mac: null}\n", "a", 0}, {"sops: {}\n", "a", 0}, {"sops: x\n", "a", 0}, {"a: {sops: " + signed + "}\n", "a", 0}, {"- a\n", "a", 0},
		{"a: b\n---\n@@sops: " + signed + "\n", "a", 1}, {"a: b\n---\nsops: " + signed + "\n", "a", 0}, {"sops: " + signed + "\n", "a", 1}, {"sops: {}\n@@sops: " + signed + "\n", "a", 0},
		{"items:\n- a: b\n- @@sops: " + signed + "\n", "items[1].a", 0}, {"items:\n- a: b\n- sops: " + signed + "\n", "items[0].a", 0}, {"items:\n- a: b\n- sops: " + signed + "\n", "items[2].a", 0},
		{"items:\n- items: [{@@sops: " + signed + "}]\n", "items[0].items[0].a", 0}, {"items:\n- items: [{sops: " + signed + "}]\n", "items[0].a", 0}, {"items: {a: {sops: " + signed + "}}\n", "items[0].a", 0}, {"items:\n- a: b\n", "items[99999999999999999999].a", 0},
		{"x: &x {@@sops: " + signed + "}\nitems: [*x]\n", "items[0].a", 0}, {"items:\n- b: [{sops: " + signed + "}]\n", "items[0].b[0]", 0}, {"@@sops: " + signed + "\nitems: [{a: b}]\n", "items[0].a", 0},
	} {
		text := strings.Replace(test.marked, "@@", "", 1)
		parsed, err := document.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		s := Signatures{Text: parsed, Find: new(node.Finder)}
		for range 2 { // the second time it is known
			got := -1
			if at, ok := s.Over(test.root, test.path); ok {
				got = at
			}
			if want := strings.Index(test.marked, "@@"); got != want {
				t.Errorf("%q, %s in document %d: signed at %d, want %d", text, test.path, test.root, got, want)
			}
		}
	}
}
