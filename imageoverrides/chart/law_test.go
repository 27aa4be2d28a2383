// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestCheckLaw makes templates out of a model that knows which of their releases are served, and
// by which rule the others are told, each at the line of its kind.
func TestCheckLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := generator{T: t}
		text := g.file()
		got, err := Check(fstest.MapFS{
			"Chart.yaml":              {Data: []byte(withChart)},
			"templates/a.yaml":        {Data: []byte(text)},
			"templates/_helpers.tpl":  {Data: []byte(helpers)},
			"charts/lib/Chart.yaml":   {Data: []byte("name: lib\ntype: library\n")},
			"charts/lib/templates/_x": {Data: []byte(`{{ define "lib.call" }}{{ include "image-overrides.postRenderers" . }}{{ end }}`)},
		})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(g.want, rulesOf(got)); diff != "" {
			t.Fatalf("-want +got\n%s%s", diff, text)
		}
	})
}

// told is a miss without its text.
type told struct {
	File string
	Line int
	Rule Rule
}

func rulesOf(misses []Miss) (list []told) {
	for _, m := range misses {
		list = append(list, told{m.File, m.Line, m.Rule})
	}
	return list
}

const helpers = `
{{- define "my.renderers" }}
postRenderers:
  {{- include "lib.call" . | nindent 2 }}
{{- end }}
{{- define "my.call" }}{{ include "image-overrides.postRenderers" . }}{{ end }}
{{- define "my.silent" }}{{- $_ := include "image-overrides.postRenderers" . }}{{ end }}
`

// A generator makes a file of templates.
type generator struct {
	*rapid.T
	lines      []string
	rules      []Rule // of each release, by its number; "" is served
	want       []told
	root       string // how the root context is spelled where the generator is
	level      int
	conditions int
	item       bool // the object is one of a list's items
	sound      bool // all releases are served
}

func (g *generator) pick(list ...string) string { return rapid.SampledFrom(list).Draw(g.T, "pick") }
func (g *generator) one(n int) bool             { return rapid.IntRange(1, n).Draw(g.T, "one") == 1 }

func (g *generator) add(lines ...string) { g.lines = append(g.lines, lines...) }

// file is one to four documents.
func (g *generator) file() string {
	g.root = "."
	g.add(g.pick("{{- /* a comment */ -}}", "# kind: HelmRelease", "---", "{{- $top := . }}", ""))
	for range rapid.IntRange(1, 4).Draw(g.T, "documents") {
		g.document()
		g.add(g.pick("---", "--- # behind", "{{ \"---\" }}", "{{ print \"---\" }}", "---\n# c"))
	}
	return g.text()
}

// text is what was added, with the kinds in their places.
func (g *generator) text() string {
	lines := strings.Split(strings.Join(g.lines, "\n")+"\n", "\n")
	for i, line := range lines {
		for n, rule := range g.rules {
			if spelled := fmt.Sprintf("@%d@", n); strings.Contains(line, spelled) {
				line = strings.Replace(line, spelled, releaseKind, 1)
				if rule != "" {
					g.want = append(g.want, told{"templates/a.yaml", i + 1, rule})
				}
			}
		}
		lines[i] = line
	}
	if g.one(8) {
		return strings.Join(lines, "\r\n")
	}
	return strings.Join(lines, "\n")
}

// document is a document under conditions, or a few.
func (g *generator) document() {
	if g.level++; g.level > 3 {
		g.object()
		g.level--
		return
	}
	root := g.root
	switch rapid.IntRange(0, 9).Draw(g.T, "document") {
	case 0:
		g.add("{{- if "+g.condition()+" }}", "---")
		g.document()
		g.add("---", "{{- end }}")
	case 1:
		g.add("{{- if "+g.condition()+" }}", "---")
		g.document()
		g.add("---", "{{- else if "+g.condition()+" }}", "---")
		g.document()
		g.add("---", "{{- else }}", "---")
		g.document()
		g.add("---", "{{- end }}")
	case 2:
		g.add("{{- range $i, $x := "+g.condition()+" }}", "---")
		g.root = "$"
		g.document()
		g.add("---", "{{- else }}", "---")
		g.root = root
		g.document()
		g.add("---", "{{- end }}")
	case 3:
		g.add("{{- with "+g.condition()+" }}", "---")
		g.root = "$"
		g.document()
		g.add("---", "{{- end }}")
	case 4:
		g.add("kind: List", "items:")
		g.item = true
		for range 2 {
			g.indented("- ", "  ", g.object)
		}
		g.item = false
	default:
		g.object()
	}
	g.root = root
	g.level--
}

// indented adds what f adds as the item of a list, or below a key.
func (g *generator) indented(first, rest string, f func()) {
	from := len(g.lines)
	f()
	begun := false
	for i := from; i < len(g.lines); i++ {
		parts := strings.Split(g.lines[i], "\n")
		for k, line := range parts {
			switch trimmed := strings.TrimLeft(line, " "); {
			case trimmed == "" || strings.HasPrefix(trimmed, "{{-") && !begun || line[0] == '{' && strings.HasPrefix(trimmed, "{{/*"):
			case !begun && !strings.HasPrefix(trimmed, "#") && (!strings.HasPrefix(trimmed, "{{") || strings.HasPrefix(trimmed, "{{ \"kind")):
				parts[k] = first + line
				begun = true
			default:
				parts[k] = rest + line
			}
		}
		g.lines[i] = shift(strings.Join(parts, "\n"), len(rest))
	}
}

// shift adds to the columns that nindent and indent have.
func shift(text string, by int) string {
	for _, f := range []string{"nindent ", " indent "} {
		parts := strings.Split(text, f)
		for i := 1; i < len(parts); i++ {
			var n int
			rest := strings.TrimLeft(parts[i], "0123456789")
			fmt.Sscan(parts[i][:len(parts[i])-len(rest)], &n)
			parts[i] = fmt.Sprint(n+by) + rest
		}
		text = strings.Join(parts, f)
	}
	return text
}

// condition is one of its own: nothing is known of two, but that they are two.
func (g *generator) condition() string {
	g.conditions++
	return fmt.Sprintf("$.Values.c%d", g.conditions)
}

// object is a HelmRelease, or something that is none.
func (g *generator) object() {
	switch rapid.IntRange(0, 7).Draw(g.T, "object") {
	case 0:
		g.add("apiVersion: v1", "kind: ConfigMap", "metadata: {name: c}", "data:", "  a: |", "    kind: HelmRelease", "    metadata: {name: a}", "  b: \"", "    kind: HelmRelease", "    \"")
	case 1:
		g.add("kind: Kustomization", "metadata:", "  name: HelmRelease", "spec:", "  healthChecks: [{kind: HelmRelease, name: a}]", "  x:", "    a:", "      metadata: b", "    ref:", "      kind: HelmRelease", "      name: c", "  targetRef: {name: d, kind: HelmRelease}")
	case 2:
		g.add("kind: {{ \"Pod\" }}", "metadata: # {kind: HelmRelease, metadata: {name: a}}", "  name: a\t# {kind: HelmRelease, spec: {}}")
	case 3:
		g.flow()
	default:
		g.block()
	}
}

// kind is the kind of a release that is told by a rule, or by none.
func (g *generator) kind(rule Rule) string {
	g.rules = append(g.rules, rule)
	return fmt.Sprintf("@%d@", len(g.rules)-1)
}

// A try is a way to call the helper, by what it is in a spec, at the root, and in metadata.
type try struct {
	rule           Rule
	spec           []string
	root, metadata []string
}

const doc = "{{- with include \"image-overrides.postRenderers\" ROOT }}"

// tries are the ways in block style.
var tries = []try{
	{spec: []string{"  " + doc, "  postRenderers:", "    {{- . | nindent 4 }}", "  {{- end }}"}},
	{spec: []string{"  postRenderers: {{- include \"image-overrides.postRenderers\" ROOT | nindent 2 }}"}},
	{spec: []string{"  \"postRenderers\" :  # theirs", "    {{- include `image-overrides.postRenderers` (list ROOT .Values.own) | nindent 4 }}"}},
	{spec: []string{"  {{- $r := include \"image-overrides.postRenderers\" ROOT }}", "  {{- if $r }}", "  postRenderers:", "    {{- $r | nindent 4 }}", "  {{- end }}"}},
	{spec: []string{"  {{- include \"my.renderers\" ROOT | nindent 2 }}"}},
	{spec: []string{"  postRenderers:", "  {{- include \"my.call\" ROOT | nindent 2 }}", "  - kustomize: {}"}},
	{spec: []string{"  postRenderers:", "  - kustomize: {}", "  {{- include \"lib.call\" ROOT | nindent 2 }}"}},
	{spec: []string{"  {{- toYaml (dict \"postRenderers\" (include \"image-overrides.postRenderers\" ROOT | fromYamlArray)) | nindent 2 }}"}},
	{spec: []string{"  {{- if ONE }}", "  postRenderers: {{- include \"image-overrides.postRenderers\" ROOT | nindent 2 }}", "  {{- else }}", "  postRenderers: {{- include \"my.call\" ROOT | nindent 2 }}", "  {{- end }}"}},
	{spec: []string{"  {{- if ONE }}", "  postRenderers: {{- include \"image-overrides.postRenderers\" ROOT | nindent 2 }}", "  {{- else }}{{ fail \"no\" }}", "  {{- end }}"}},
	{spec: []string{"  postRenderers: &p", "  {{- include \"my.call\" ROOT | nindent 2 }}", "  other: *p"}},
	{spec: []string{"  postRenderers: {{ include \"my.call\" ROOT | fromYamlArray | toJson }}"}},
	{spec: []string{"  {{- $d := dict }}", "  {{- if .Values.own }}{{ $_ := set $d \"own\" 1 }}{{ end }}", "  {{- $_ := set $d \"postRenderers\" (concat (list) (fromYamlArray (include \"my.call\" ROOT))) }}", "  {{- range $k, $v := $d }}", "  {{ $k }}: {{- toYaml $v | nindent 4 }}", "  {{- end }}"}},

	{rule: RuleCall},
	{rule: RuleCall, spec: []string{"  # {{ include \"image-overrides.postRenderers\" ROOT }}"}},
	{rule: RuleCall, spec: []string{"  {{/*", "  postRenderers: {{- include \"image-overrides.postRenderers\" ROOT | nindent 2 }}", "  */}}"}},
	{rule: RuleCall, spec: []string{"  a: {{ `include \"image-overrides.postRenderers\" ROOT` }}"}},
	{rule: RuleCall, spec: []string{"  {{- include \"my.silent\" ROOT }}"}},
	{rule: RuleCall, spec: []string{"  postRenderers: {{ .Values.own | toJson }}"}},
	{rule: RulePlace, root: []string{doc, "postRenderers:", "  {{- . | nindent 2 }}", "{{- end }}"}},
	{rule: RulePlace, root: []string{"values:", "  spec:", "    postRenderers: {{- include \"my.call\" ROOT | nindent 4 }}"}},
	{rule: RulePlace, metadata: []string{"  " + doc, "  postRenderers:", "    {{- . | nindent 4 }}", "  {{- end }}"}},
	{rule: RulePlace, spec: []string{"  values:", "    " + doc, "    postRenderers:", "      {{- . | nindent 6 }}", "    {{- end }}"}},
	{rule: RulePlace, spec: []string{"  values: {{- include \"my.renderers\" ROOT | nindent 4 }}"}},
	{rule: RulePlace, spec: []string{"  install:", "    postRenderers: {{- include \"my.call\" ROOT | nindent 4 }}"}},
	{rule: RulePlace, spec: []string{"  postRenderers: |", "    {{- include \"my.call\" ROOT | nindent 4 }}"}},
	{rule: RulePlace, spec: []string{"  postRenderers: {{ include \"my.call\" ROOT | quote }}"}},
	{rule: RulePlace, spec: []string{"  postRenderers:", "  - kustomize:", "      images: {{- include \"my.call\" ROOT | nindent 6 }}"}},
	{rule: RulePlace, spec: []string{"  postRenderers:", "  - {{- include \"my.call\" ROOT | nindent 4 }}"}},
	{rule: RuleUnprinted, spec: []string{"  {{- $_ := include \"image-overrides.postRenderers\" ROOT }}"}},
	{rule: RuleUnprinted, spec: []string{"  {{- if false }}", "  postRenderers: {{- include \"image-overrides.postRenderers\" ROOT | nindent 2 }}", "  {{- end }}"}},
	{rule: RuleUnprinted, spec: []string{"  {{- if and .Values.a (eq 1 2) }}", "  postRenderers: {{- include \"image-overrides.postRenderers\" ROOT | nindent 2 }}", "  {{- end }}"}},
	{rule: RuleUnprinted, spec: []string{"  {{- range list }}", "  postRenderers: {{- include \"image-overrides.postRenderers\" $ | nindent 2 }}", "  {{- end }}"}},
	{rule: RuleUnprinted, spec: []string{"  {{- if not (include \"image-overrides.postRenderers\" ROOT) }}", "  postRenderers: []", "  {{- end }}"}},
	{rule: RuleUnprinted, spec: []string{"  postRenderers: {{ include \"image-overrides.postRenderers\" ROOT | len }}"}},
	{rule: RuleUnprinted, spec: []string{"  {{- $d := dict \"postRenderers\" (include \"image-overrides.postRenderers\" ROOT) }}"}},
	{rule: RuleCondition, spec: []string{"  {{- if ONE }}", "  postRenderers: {{- include \"image-overrides.postRenderers\" ROOT | nindent 2 }}", "  {{- end }}"}},
	{rule: RuleCondition, spec: []string{"  {{- if ONE }}", "  suspend: true", "  {{- else if TWO }}", "  postRenderers: {{- include \"image-overrides.postRenderers\" ROOT | nindent 2 }}", "  {{- else }}", "  postRenderers: {{- include \"my.call\" ROOT | nindent 2 }}", "  {{- end }}"}},
	{rule: RuleCondition, spec: []string{"  {{- range $x := ONE }}", "  postRenderers: {{- include \"image-overrides.postRenderers\" $ | nindent 2 }}", "  {{- end }}"}},
	{rule: RuleCondition, spec: []string{"  {{- $x := \"\" }}", "  {{- if ONE }}{{ $x = include \"image-overrides.postRenderers\" ROOT }}{{ end }}", "  postRenderers: {{- $x | nindent 2 }}"}},
	{rule: RuleCondition, spec: []string{"  postRenderers: {{ if ONE }}# {{ end }}{{ include \"my.call\" ROOT | fromYamlArray | toJson }}"}},
	{rule: RuleCondition, spec: []string{"  {{ if ONE }}#{{ else if TWO }}# {{ end }}postRenderers: {{ include \"my.call\" ROOT | fromYamlArray | toJson }}"}},
	{rule: RuleContext, spec: []string{"  postRenderers: {{- include \"image-overrides.postRenderers\" $.Values | nindent 2 }}"}},
	{rule: RuleContext, spec: []string{"  {{- range $.Values.xs }}{{ end }}", "  postRenderers: {{- include \"my.call\" (dict \"Values\" (dict \"a\" 1)) | nindent 2 }}"}},
	{rule: RuleContext, spec: []string{"  postRenderers: {{- include \"image-overrides.postRenderers\" (list $.Release $.Values.own) | nindent 2 }}"}},
}

// try is one of the ways. In an item of a list nobody can tell which item a call
// belongs to that prints nothing.
func (g *generator) try() try {
	for {
		t := rapid.SampledFrom(tries).Draw(g.T, "try")
		if g.item && t.rule == RuleUnprinted || g.sound && t.rule != "" {
			continue
		}
		one, two := g.condition(), g.condition()
		put := func(list []string) []string {
			list = slices.Clone(list)
			for i := range list {
				list[i] = strings.NewReplacer("ONE", one, "TWO", two).Replace(list[i])
				list[i] = strings.ReplaceAll(list[i], "ROOT", g.root)
				if g.root == "$" {
					list[i] = strings.ReplaceAll(list[i], " .Values", " $.Values")
				}
			}
			return list
		}
		t.spec, t.root, t.metadata = put(t.spec), put(t.root), put(t.metadata)
		return t
	}
}

// block is a release in block style.
func (g *generator) block() {
	t := g.try()
	kind := g.kind(t.rule)
	parts := [][]string{
		strings.Split(g.pick("kind: "+kind, "kind:   \""+kind+"\"", "'kind': '"+kind+"' # c", "kind: {{ \""+kind+"\" }}", "kind: {{ `"+kind+"` | quote }}", "kind: \"{{ \""+kind+"\" }}\"", "kind:\n  "+kind, "kind: &k !!str "+kind, "kind: {{ if .Values.k }}"+kind+"{{ else }}Pod{{ end }}", "? kind\n: "+kind, "{{ \"kind\" }}: "+kind, "kind: {{ default \""+kind+"\" \"\" }}\t# c"), "\n"),
		append(strings.Split(g.pick("metadata:\n  name: a", "metadata: # c\n  # kind: Pod\n  name: a#b", "\"metadata\":\n  name: {{ .Release.Name }}-a\n  labels:\n    {{- include \"unknown\" . | nindent 4 }}", "metadata:\n  {{- with .Values.labels }}\n  labels: {{- toYaml . | nindent 4 }}\n  {{- end }}\n  name: a"), "\n"), t.metadata...),
		append(append([]string{g.pick("spec:", "spec:  # c", "'spec':", "spec: !!map")}, g.fill("  timeout: 1m", "  values:", "    kind: Pod", "    a: |", "      kind: HelmRelease", "      metadata: {}")...), append(t.spec, g.fill("  interval: 5m", "  # c", "", "  chartRef:", "    kind: HelmChart", "    name: \"it's # not\"")...)...),
	}
	if len(t.spec) > 0 && strings.Contains(t.spec[0], "values:") || strings.Contains(strings.Join(t.spec, ""), "other:") {
		parts[2] = append([]string{parts[2][0], "  timeout: 1m"}, t.spec...)
	}
	if len(t.root) > 0 {
		parts = append(parts, t.root)
	}
	if g.one(3) {
		parts = append(parts, []string{g.pick("apiVersion: helm.toolkit.fluxcd.io/v2", "apiVersion: {{ \"v2\" }}", "# metadata:", "{{- /* kind: HelmRelease */}}", "")})
	}
	for _, part := range rapid.Permutation(parts).Draw(g.T, "order") {
		g.add(part...)
	}
}

// fill is some lines, or none.
func (g *generator) fill(lines ...string) []string {
	if g.one(2) {
		return lines
	}
	return []string{"  " + g.pick("suspend", "force", "wait") + ": true"}
}

// flow is a release in flow style, in one line or as JSON.
func (g *generator) flow() {
	const call = "{{ include \"my.call\" ROOT | fromYamlArray | toJson }}"
	t := rapid.SampledFrom([]struct {
		rule                 Rule
		spec, root, metadata string
	}{
		{spec: `"postRenderers": ` + call},
		{spec: `"a": [{"b": "}"}], "postRenderers": ` + call},
		{spec: `"postRenderers": [{"kustomize": {}}, {{ range include "my.call" ROOT | fromYamlArray }}{{ toJson . }}, {{ end }}]`},
		{rule: RuleCall, spec: `"a": 1`},
		{rule: RulePlace, spec: `"values": {"postRenderers": ` + call + `}`},
		{rule: RulePlace, spec: `"postRenderers": "` + call + `"`},
		{rule: RulePlace, spec: `"a": 1`, root: `"postRenderers": ` + call},
		{rule: RulePlace, spec: `"a": 1`, metadata: `, "postRenderers": ` + call},
		{rule: RulePlace, spec: `"postRenderers": [` + call + `]`},
	}).Filter(func(t struct {
		rule                 Rule
		spec, root, metadata string
	}) bool {
		return !g.sound || t.rule == ""
	}).Draw(g.T, "flow")
	kind := g.kind(t.rule)
	parts := []string{
		g.pick(`"kind": "`+kind+`"`, "kind: "+kind, `'kind' : '`+kind+`'`, `"kind": {{ "`+kind+`" | quote }}`, `"kind":"{{ "`+kind+`" }}"`),
		`"metadata": {"name": "a#b"` + t.metadata + `}`,
		`"spec": {` + t.spec + `}`,
	}
	if t.root != "" {
		parts = append(parts, t.root)
	}
	if g.one(2) {
		parts = append(parts, g.pick(`"apiVersion": "v2"`, `"x": {"kind": "HelmRelease", "name": "n"}`, `"y": [a, {b: c}]`))
	}
	parts = rapid.Permutation(parts).Draw(g.T, "order")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "ROOT", g.root)
	}
	if g.one(2) {
		g.add("{" + strings.Join(parts, ", ") + "}")
		return
	}
	g.add("{")
	for i, part := range parts {
		if i < len(parts)-1 {
			part += ","
		}
		g.add("  " + part)
	}
	g.add("}")
}

// TestMutations takes sound templates, those of the example chart among them, and moves or
// breaks the call in each way of which a platform once had nothing told.
func TestMutations(t *testing.T) {
	for _, file := range []string{"ingress.yaml", "monitoring.yaml"} {
		text, err := os.ReadFile("../../examples/chart/templates/" + file)
		if err != nil {
			t.Fatal(err)
		}
		mutate(t, string(text))
	}
	rapid.Check(t, func(t *rapid.T) {
		g := generator{T: t, root: ".", sound: true}
		g.add(g.pick("---", "{{- if .Values.enabled }}\n---", "{{- range $x := .Values.list }}\n---", "# c", "{{- $x := 1 }}"))
		if strings.Contains(g.lines[0], "range") {
			g.root = "$"
		}
		kind := g.pick("kind: @0@", "kind: \"{{ \"@0@\" }}\"", "'kind': @0@")
		g.rules = []Rule{""}
		parts := [][]string{{kind}, {"metadata:", "  name: a"}, append(append([]string{"spec:", "  interval: 5m"}, g.fill("  install:", "    remediation: {retries: -1}")...), strings.Split(strings.ReplaceAll(call, "ROOT", g.root), "\n")...)}
		for _, part := range rapid.Permutation(parts).Draw(t, "order") {
			g.add(part...)
		}
		if strings.Contains(g.lines[0], "{{- if") || strings.Contains(g.lines[0], "range") {
			g.add("---", "{{- end }}")
		}
		mutate(t, strings.ReplaceAll(g.text(), "\r", ""))
	})
}

// call is the call as the documentation has it.
const call = `  {{- with include "image-overrides.postRenderers" ROOT }}
  postRenderers:
    {{- . | nindent 4 }}
  {{- end }}`

var (
	docCall = regexp.MustCompile(`(?m)^  (\{\{- with include "image-overrides\.postRenderers" (.*) \}\})\n  postRenderers:\n    \{\{- \. \| nindent 4 \}\}\n  \{\{- end \}\}\n`)
	heads   = map[string]*regexp.Regexp{"metadata": regexp.MustCompile(`(?m)^metadata:\n`)}
)

// mutate checks a sound template, and all that can be made of it.
func mutate(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) {
	t.Helper()
	m := docCall.FindStringSubmatchIndex(text)
	if m == nil {
		t.Fatalf("no call in\n%s", text)
	}
	with, context, block := text[m[2]:m[3]], text[m[4]:m[5]], text[m[0]:m[1]]
	include := `include "image-overrides.postRenderers" ` + context
	replaced := func(by string) string { return text[:m[0]] + by + text[m[1]:] }
	each := func(f func(string) string) string {
		lines := strings.SplitAfter(block, "\n")
		for i, line := range lines[:len(lines)-1] {
			lines[i] = f(line)
		}
		return strings.Join(lines, "")
	}
	atRoot := with + "\npostRenderers:\n  {{- . | nindent 2 }}\n{{- end }}\n"
	without := replaced("")
	head := regexp.MustCompile(`(?m)^(?:'?kind'?|metadata):`).FindStringIndex(without)
	mutants := map[string]string{
		"removed":                 without,
		"at the root, in front":   without[:head[0]] + atRoot + without[head[0]:],
		"under values":            replaced("  values:\n    " + with + "\n    postRenderers:\n      {{- . | nindent 6 }}\n    {{- end }}\n"),
		"under metadata":          heads["metadata"].ReplaceAllString(without, "metadata:\n"+strings.ReplaceAll(block, "$", "$$")),
		"a comment of YAML":       replaced("  # postRenderers: {{ " + include + " }}\n"),
		"each line a comment":     replaced(each(func(line string) string { return "  #" + strings.ReplaceAll(line, "{{- ", "{{ ") })),
		"a comment of templates":  replaced("  {{- /*\n" + block + "  */}}\n"),
		"never":                   replaced("  {{- if false }}\n" + block + "  {{- end }}\n"),
		"another arm":             replaced("  {{- if true }}\n  {{- else }}\n" + block + "  {{- end }}\n"),
		"under a condition":       replaced("  {{- if $.Values.other }}\n" + block + "  {{- end }}\n"),
		"in a range over nothing": replaced("  {{- range $none := list }}\n" + block + "  {{- end }}\n"),
		"assigned":                replaced("  {{- $renderers := " + include + " }}\n"),
		"asked for":               replaced("  {{- if " + include + " }}\n  # it is there\n  {{- end }}\n"),
		"counted":                 replaced("  postRenderers: {{ " + include + " | len }}\n"),
		"another key":             replaced(strings.Replace(block, "postRenderers:", "postRenderer:", 1)),
		"a text":                  replaced(strings.Replace(block, "postRenderers:", "postRenderers: |", 1)),
	}
	if got := check(t, text); got != nil {
		t.Fatalf("sound, and told: %v\n%s", got, text)
	}
	for why, mutant := range mutants {
		kind := regexp.MustCompile(`(?m)^'?kind'?: .*HelmRelease`).FindStringIndex(mutant)
		line := 1 + strings.Count(mutant[:kind[0]], "\n")
		got := check(t, mutant)
		if len(got) != 1 || got[0].File != "templates/a.yaml" || got[0].Line != line {
			t.Fatalf("%s: told %v, not line %d\n%s", why, got, line, mutant)
		}
	}
}

func check(t interface{ Fatalf(string, ...any) }, text string) []Miss {
	misses, err := Check(fstest.MapFS{"Chart.yaml": {Data: []byte(withChart)}, "templates/a.yaml": {Data: []byte(text)}})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return misses
}

// TestAnyCall: whatever a function is given, in number and in kind, Check says something of the template, and the same again.
func TestAnyCall(t *testing.T) {
	functions := strings.Fields("include fail tpl required not and or empty default coalesce ternary eq ne kindIs typeIs list tuple append push prepend concat first last rest initial " +
		"compact uniq dict set unset get index dig hasKey merge mergeOverwrite deepCopy omit pick toYaml toJson toPrettyJson toRawJson fromYaml fromJson fromYamlArray fromJsonArray " +
		"print println cat printf join trim toString quote squote indent nindent trimSuffix trimPrefix trimAll mustToYaml lookup unknown")
	rapid.Check(t, func(t *rapid.T) {
		one := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, "one") }
		var value func(level int) string
		value = func(level int) string {
			if level > 2 || rapid.Bool().Draw(t, "plain") {
				return one(`""`, `"k"`, `"my.call"`, `"%s %q %"`, "0", "2", "1.5", "-1", "true", "nil", ".", "$", ".Values", ".Values.a", "$x", "$x.k", "$d", "$d.k", "(list)", "(dict)", `(dict "k" $x)`, "(list $x 1)")
			}
			call := one(functions...)
			for range rapid.IntRange(0, 4).Draw(t, "arguments") {
				call += " " + value(level+1)
			}
			if rapid.Bool().Draw(t, "piped") {
				call += " | " + one(functions...)
			}
			return "(" + call + ")" + one("", "", ".k")
		}
		text := "{{ $x := include \"my.call\" . }}{{ $d := dict \"k\" $x \"kind\" \"HelmRelease\" \"spec\" (dict) }}\n"
		for range 3 {
			text += fmt.Sprintf("{{ if %s }}{{ $x = %s }}{{ end }}{{ range $d := %s }}\n{{ %s }}{{ end }}\n", value(0), value(0), value(0), value(0))
		}
		text += "{{ toYaml $d }}\n---\n{{ toJson $x }}\n"
		fsys := fstest.MapFS{"Chart.yaml": {Data: []byte(withChart)}, "templates/a.yaml": {Data: []byte(text)}, "templates/_helpers.tpl": {Data: []byte(helpers)}}
		first, err := Check(fsys)
		again, errAgain := Check(fsys)
		if diff := cmp.Diff(first, again); diff != "" || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatalf("another time: %s, %v, %v\n%s", diff, err, errAgain, text)
		}
	})
}
