// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/cozystack/image-overrides/imageoverrides/chart"
	"github.com/cozystack/image-overrides/postrender"
)

// TestCheck holds chart.Check against what Helm renders: a release of a random template is told
// just where there are values with which it is rendered without the table.
func TestCheck(t *testing.T) {
	// Each draw is rendered with sixteen values.
	before := flag.Lookup("rapid.checks").Value.String()
	must(0, flag.Set("rapid.checks", strconv.Itoa(max(checks()/20, 50))))
	defer func() { must(0, flag.Set("rapid.checks", before)) }()
	carried := filesOf(t, library, `include "image-overrides.postRenderers"`)
	delete(carried, "templates/trial.yaml")
	var missed, served, skipped int
	rapid.Check(t, func(t *rapid.T) {
		g := charts{T: t}
		text := g.template()
		files := map[string]string{
			"Chart.yaml":           "apiVersion: v2\nname: trial\nversion: 0.0.0\ndependencies: [{name: image-overrides, version: 0.1.0}]\n",
			"templates/trial.yaml": text,
		}
		for name, text := range g.more {
			files[name] = text
		}
		want, ok := g.truth(t, carried, files)
		if !ok {
			skipped++
			return
		}
		var got []string
		for _, m := range checkFiles(t, files) {
			got = append(got, g.at[fmt.Sprintf("%s:%d", m.File, m.Line)])
			if got[len(got)-1] == "" {
				t.Fatalf("%v is no place of a release\n%s", m, show(files))
			}
		}
		slices.Sort(got)
		got = slices.Compact(got)
		missed += len(want)
		served += len(g.at) - len(want)
		if !slices.Equal(got, want) {
			t.Fatalf("Check tells %q, and Helm renders %q without the table\n%v\n%s", got, want, checkFiles(t, files), show(files))
		}
	})
	t.Logf("%d releases missed, %d served; %d charts that render no YAML", missed, served, skipped)
	if missed == 0 || served == 0 {
		t.Error("the generator has lost a side")
	}
}

// TestCheckContext has contexts that a call may get, in a chart and in a subchart: Check tells just those
// with which Helm renders a release without the table, or refuses to.
func TestCheckContext(t *testing.T) {
	carried := filesOf(t, library, `include "image-overrides.postRenderers"`)
	delete(carried, "templates/trial.yaml")
	delete(carried, "Chart.yaml")
	served := 0
	for line := range strings.Lines(read(t, "contexts.txt")) {
		_, context, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		for _, dir := range []string{"", "charts/sub/"} {
			files := map[string]string{
				"Chart.yaml":                   "apiVersion: v2\nname: trial\nversion: 0.0.0\ndependencies: [{name: image-overrides, version: 0.1.0}, {name: sub, version: 0.0.0}]\n",
				"charts/sub/Chart.yaml":        "apiVersion: v2\nname: sub\nversion: 0.0.0\n",
				dir + "templates/release.yaml": "kind: HelmRelease\nmetadata:\n  name: r\nspec:\n  postRenderers: {{- include \"image-overrides.postRenderers\" " + context + " | nindent 4 }}\n",
			}
			told := len(checkFiles(t, files)) > 0
			for name, text := range carried {
				files[name] = text
			}
			for i, program := range load(t, files) {
				missed := false
				for _, a := range []bool{true, false} {
					cluster := map[string]any{"image-overrides": []any{map[string]any{"name": "a", "newTag": "1"}}}
					own := map[string]any{"map": map[string]any{"a": "b"}, "a": a}
					rendered, err := program(map[string]any{"_cluster": cluster, "global": map[string]any{"_cluster": cluster}, "map": own["map"], "a": a, "sub": own})
					lost := make(map[string]bool)
					for _, text := range rendered {
						var object any
						if err := yaml.Unmarshal([]byte(text), &object); err != nil {
							t.Fatal(err)
						}
						look(object, lost)
					}
					missed = missed || err != nil || len(lost) > 0
				}
				if missed != told {
					t.Errorf("%s: %q in %q: missed: %t, and Check tells it: %t", helms[i].name, context, dir, missed, told)
				} else if !missed {
					served++
				}
			}
		}
	}
	if served == 0 {
		t.Error("no context serves")
	}
}

func checkFiles(t interface{ Fatalf(string, ...any) }, files map[string]string) []chart.Miss {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	misses, err := chart.Check(fsys)
	if err != nil {
		t.Fatalf("Check: %v\n%s", err, show(files))
	}
	return misses
}

func show(files map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasPrefix(name, "charts/") {
			fmt.Fprintf(&b, "-- %s --\n%s", name, files[name])
		}
	}
	return b.String()
}

// truth is the releases that are rendered without the table with some values. It is not ok where
// what is rendered is no YAML: that stops Helm, and nothing is lost in silence.
func (g *charts) truth(t *rapid.T, carried, files map[string]string) (missed []string, ok bool) {
	all := maps.Clone(files)
	maps.Copy(all, carried)
	h := helms[rapid.IntRange(0, len(helms)-1).Draw(t, "helm")]
	program, err := h.prepare(all)
	if err != nil {
		t.Fatalf("%s: %v\n%s", h.name, err, show(files))
	}
	lost := make(map[string]bool)
	for n := range 1 << 4 {
		values := map[string]any{
			"_cluster": map[string]any{"image-overrides": []any{map[string]any{"name": "a", "newTag": "1"}}},
			"items":    []any{"x"}, "none": []any{},
			"c0": n&1 != 0, "c1": n&2 != 0, "labels": map[string]any{"a": "b"},
		}
		if n&4 != 0 {
			values["own"] = []any{map[string]any{"kustomize": map[string]any{"images": []any{map[string]any{"name": "b", "newTag": "2"}}}}}
		}
		if n&8 != 0 {
			values["items"] = []any{}
		}
		rendered, err := program(values)
		if err != nil {
			return nil, false
		}
		for _, document := range strings.Split("\n"+rendered["trial/templates/trial.yaml"], "\n---") {
			var object any
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				return nil, false
			}
			look(object, lost)
		}
	}
	return slices.Sorted(maps.Keys(lost)), true
}

// look finds the releases that are objects and have no table.
func look(value any, lost map[string]bool) {
	switch v := value.(type) {
	case map[string]any:
		if v["kind"] == "HelmRelease" && (v["metadata"] != nil || v["spec"] != nil) {
			metadata, _ := v["metadata"].(map[string]any)
			name, _ := metadata["name"].(string)
			spec, _ := v["spec"].(map[string]any)
			list, _ := spec["postRenderers"].([]any)
			found := false
			for _, renderer := range list {
				r, _ := renderer.(map[string]any)
				k, _ := r["kustomize"].(map[string]any)
				images, _ := k["images"].([]any)
				if len(images) > 0 {
					image, _ := images[0].(map[string]any)
					found = found || image["name"] == postrender.Marker
				}
			}
			if !found {
				lost[name] = true
			}
		}
		for _, inner := range v {
			look(inner, lost)
		}
	case []any:
		for _, inner := range v {
			look(inner, lost)
		}
	}
}

// charts makes templates with HelmReleases.
type charts struct {
	*rapid.T
	n    int
	vars int
	more map[string]string // other files
	at   map[string]string // the release whose kind stands in a line, by file:line
}

func (g *charts) pick(what string, list ...string) string {
	return rapid.SampledFrom(list).Draw(g.T, what)
}

func (g *charts) chance(what string, n int) bool {
	return rapid.IntRange(1, n).Draw(g.T, what) == 1
}

// template is a file of one to three documents or so.
func (g *charts) template() string {
	g.at = make(map[string]string)
	g.more = make(map[string]string)
	var b strings.Builder
	b.WriteString(g.pick("head", "", "{{- /* SPDX */ -}}\n", "# a comment\n", "{{- $root := . -}}\n", "---\n", "{{- $unused := include \"image-overrides.postRenderers\" . }}\n"))
	for i := range rapid.IntRange(1, 3).Draw(g.T, "documents") {
		if i > 0 {
			b.WriteString(g.pick("separator", "---\n", "--- # next\n", "{{ \"---\" }}\n"))
		}
		b.WriteString(g.document())
	}
	text := b.String()
	if g.chance("crlf", 10) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	for name, file := range g.more {
		g.more[name] = g.place(name, file)
	}
	return g.place("templates/trial.yaml", text)
}

// place notes the lines of the kinds, and writes them.
func (g *charts) place(file, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		for {
			_, rest, ok := strings.Cut(line, "@r")
			if !ok {
				break
			}
			number, _, _ := strings.Cut(rest, "@")
			g.at[fmt.Sprintf("%s:%d", file, i+1)] = "r" + number
			line = strings.Replace(line, "@r"+number+"@", "HelmRelease", 1)
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

func (g *charts) document() string {
	switch g.pick("document", "release", "release", "release", "release", "release", "if", "else", "range", "with", "named", "list", "other", "two arms", "text") {
	case "if":
		return "{{ if .Values.c0 }}\n" + g.release() + "{{ end }}\n"
	case "else":
		return "{{- if not .Values.c1 }}\n" + g.other() + "{{- else }}\n" + g.release() + "{{- end }}\n"
	case "range":
		return "{{- range $i := .Values.items }}\n---\n" + strings.NewReplacer(" .Values", " $.Values", "(list . ", "(list $ ", "renderers\" . ", "renderers\" $ ", "Renderers\" . ", "Renderers\" $ ", "Renderers\" .)", "Renderers\" $)", "r\" . ", "r\" $ ").Replace(g.release()) + "{{- end }}\n"
	case "with":
		return "{{- with $ }}\n" + g.release() + "{{- end }}\n"
	case "named":
		g.vars++
		name := fmt.Sprintf("my.release%d", g.vars)
		text := "{{ define \"" + name + "\" }}\n" + g.release() + "{{ end }}\n"
		call := g.pick("include", "{{ include %q . }}\n", "{{ template %q . }}\n", "{{- include %q . | trim | nindent 0 }}\n", "{{ include %q . | fromYaml | toYaml }}\n")
		if g.chance("file", 2) {
			g.more["templates/_"+name+".tpl"] = text
			return fmt.Sprintf(call, name)
		}
		return text + fmt.Sprintf(call, name)
	case "list":
		return "kind: List\nitems:\n" + item(g.release()) + item(g.release())
	case "other":
		return g.other()
	case "two arms":
		return "{{ if .Values.c0 }}\n" + g.release() + "{{ else }}\n" + g.release() + "{{ end }}\n"
	case "text":
		return "kind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a.yaml: |\n    kind: HelmRelease\n    metadata:\n      name: x\n    spec: {}\n"
	}
	return g.release()
}

// item is a block as the item of a list. Lines of nothing but actions may stand anywhere.
func item(text string) string {
	text = strings.ReplaceAll(text, "nindent ", "nindent @@")
	for n := 8; n >= 0; n-- {
		text = strings.ReplaceAll(text, fmt.Sprintf("nindent @@%d", n), fmt.Sprintf("nindent %d", n+2))
		text = strings.ReplaceAll(text, fmt.Sprintf("| indent %d", n), fmt.Sprintf("| indent @%d", n+2))
	}
	text = strings.ReplaceAll(text, "| indent @", "| indent ")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		if line != "" && !strings.HasPrefix(line, "{{ include") {
			lines[i] = "  " + line
		}
	}
	return "-\n" + strings.Join(lines, "\n") + "\n"
}

func (g *charts) other() string {
	return g.pick("other", "kind: Pod\nmetadata:\n  name: p\n", "kind: Kustomization\nmetadata: {name: k}\nspec:\n  healthChecks:\n  - kind: HelmRelease\n    name: x\n  ref: {kind: HelmRelease, name: y}\n", "# nothing\n")
}

// release is a HelmRelease in block style, whose kind is @r0@.
func (g *charts) release() string {
	name := fmt.Sprintf("r%d", g.n)
	g.n++
	kind := "@" + name + "@"
	parts := []string{
		g.pick("kind", "kind: "+kind+"\n", "kind: \""+kind+"\"\n", "kind: '"+kind+"' # a\n", "kind: {{ \""+kind+"\" }}\n", "kind: {{ \""+kind+"\" | quote }}\n", "kind: \"{{ \""+kind+"\" }}\"\n", "kind:\n  "+kind+"\n", "\"kind\": "+kind+"\n", "kind: !!str "+kind+"\n", "kind: {{ if true }}"+kind+"{{ else }}Pod{{ end }}\n", "kind: &k "+kind+"\n", "kind: {{ printf \"%s\" \""+kind+"\" }}\n"),
		g.pick("version", "apiVersion: helm.toolkit.fluxcd.io/v2\n", "apiVersion: {{ \"helm.toolkit.fluxcd.io/v2\" }}\n", ""),
		g.metadata(name),
		g.spec(),
	}
	if g.chance("call at the root", 12) {
		parts = append(parts, g.pick("root", "postRenderers:\n  {{- include \"image-overrides.postRenderers\" . | nindent 2 }}\n", "{{- with include \"image-overrides.postRenderers\" . }}\npostRenderers:\n  {{- . | nindent 2 }}\n{{- end }}\n"))
	}
	if g.chance("comment", 6) {
		parts = append(parts, g.pick("comment", "# spec:\n", "{{/* postRenderers: {{ include */}}\n", "# {{ include \"image-overrides.postRenderers\" . | len }}\n", "\n"))
	}
	return strings.Join(rapid.Permutation(parts).Draw(g.T, "order"), "")
}

func (g *charts) metadata(name string) string {
	switch g.pick("metadata", "block", "flow", "labels", "if", "call") {
	case "flow":
		return "metadata: {name: " + name + ", namespace: \"a#b\"}\n"
	case "labels":
		return "metadata:\n  labels:\n    {{- toYaml .Values.labels | nindent 4 }}\n  name: " + name + "\n"
	case "if":
		return "metadata:\n  name: " + name + "\n  {{- if .Values.c1 }}\n  labels: {a: b}\n  {{- end }}\n"
	case "call":
		if g.chance("really", 4) {
			return "metadata:\n  name: " + name + "\n  postRenderers:\n    {{- include \"image-overrides.postRenderers\" . | nindent 4 }}\n"
		}
	}
	return "metadata:\n  name: " + name + "\n"
}

func (g *charts) spec() string {
	var parts []string
	fillers := []string{
		"  interval: 5m\n", "  # a comment\n", "\n", "  chartRef:\n    kind: OCIRepository\n    name: x\n", "  chart: {spec: {chart: a, version: '>= 0.0.0-0'}}\n",
		"  values:\n    a: b\n    text: |\n      spec:\n        postRenderers: []\n", "  valuesFrom:\n  - kind: Secret\n    name: cozystack-values\n", "  {{- if .Values.c1 }}\n  suspend: true\n  {{- end }}\n",
		"  {{- with .Values.own }}\n  values:\n    own:\n      {{- toYaml . | nindent 6 }}\n  {{- end }}\n", "  dependsOn:\n  {{- range .Values.items }}\n  - name: {{ . }}\n  {{- end }}\n", "  note: \"it's # no comment\"\n",
	}
	for range rapid.IntRange(0, 3).Draw(g.T, "fillers") {
		f := rapid.SampledFrom(fillers).Draw(g.T, "filler")
		if !slices.Contains(parts, f) && !(strings.Contains(f, "  values:\n") && slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(p, "  values:\n") })) {
			parts = append(parts, f)
		}
	}
	call := g.call()
	if g.chance("nothing", 8) {
		call = ""
	}
	if call == "" || g.chance("front", 3) {
		parts = append([]string{call}, parts...)
	} else {
		parts = append(parts, call)
	}
	head := g.pick("spec", "spec:\n", "spec:\n", "spec: # the spec\n", "\"spec\":\n", "spec: &s\n")
	return head + "  timeout: 1m\n" + strings.Join(parts, "")
}

// call is a call of the helper in a spec, in ways that do and do not work.
func (g *charts) call() string {
	const helper = `include "image-overrides.postRenderers"`
	context := g.pick("context", " .", " $", " (list . .Values.own)", " (list $ (list))", ` (dict "Values" .Values)`, ` (list (dict "Values" (dict "_cluster" .Values._cluster)) .Values.own)`)
	call := helper + context
	in := "(" + call + ")"
	sound := []string{
		"  {{- with " + call + " }}\n  postRenderers:\n    {{- . | nindent 4 }}\n  {{- end }}\n",
		"  postRenderers:\n    {{- " + call + " | nindent 4 }}\n",
		"  postRenderers: {{- " + call + " | nindent 4 }}\n",
		"  postRenderers:\n  {{- " + call + " | nindent 2 }}\n",
		"  postRenderers: # they\n{{ " + call + " | indent 4 }}\n",
		"  postRenderers: {{ " + call + " | fromYamlArray | toJson }}\n",
		"  \"postRenderers\":\n    {{- toYaml (fromYamlArray " + in + ") | nindent 4 }}\n",
		"  {{- $pr := " + call + " }}\n  {{- if $pr }}\n  postRenderers: {{ $pr | nindent 4 }}\n  {{- end }}\n",
		"  {{- $pr := " + call + " | fromYamlArray }}\n  {{- with $pr }}\n  postRenderers:\n    {{- toYaml . | nindent 4 }}\n  {{- end }}\n",
		"  {{- dict \"postRenderers\" (" + call + " | fromYamlArray) | toYaml | nindent 2 }}\n",
		"  {{- $d := dict \"suspend\" false }}\n  {{- $_ := set $d \"postRenderers\" (fromYamlArray " + in + ") }}\n  {{- toYaml $d | nindent 2 }}\n",
		"  {{- if .Values.own }}\n  postRenderers: {{- " + helper + " (list . .Values.own) | nindent 2 }}\n  {{- else }}\n  postRenderers: {{- " + helper + " . | nindent 2 }}\n  {{- end }}\n",
		"  postRenderers:\n  {{- if .Values.own }}\n  {{- toYaml .Values.own | nindent 2 }}\n  {{- end }}\n  {{- " + call + " | nindent 2 }}\n",
		"  postRenderers:\n    {{- tpl " + in + " . | nindent 4 }}\n",
		"  postRenderers:\n    {{- range fromYamlArray " + in + " }}\n    - {{- toYaml . | nindent 6 }}\n    {{- end }}\n",
		"  {{- if .Values._cluster }}\n  postRenderers: {{- " + call + " | nindent 4 }}\n  {{- end }}\n",
		"  {{- $x := \"\" }}\n  {{- if .Values.c0 }}{{ $x = " + call + " }}{{ else }}{{ $x = " + call + " }}{{ end }}\n  postRenderers: {{- $x | nindent 4 }}\n",
		"  postRenderers: {{- concat (.Values.own | default list) (" + call + " | fromYamlArray) | toYaml | nindent 4 }}\n",
		"  {{- include \"my.wrap\" . | nindent 2 }}\n",
		"  {{- template \"my.spec\" . }}\n",
		"  postRenderers:\n    {{- include \"my.only\" . | nindent 4 }}\n",
	}
	unsound := []string{
		"  {{- $_ := " + call + " }}\n",
		"  {{- if false }}\n  postRenderers: {{- " + call + " | nindent 4 }}\n  {{- end }}\n",
		"  {{- if and false .Values.c0 }}\n  postRenderers: {{- " + call + " | nindent 4 }}\n  {{- end }}\n",
		"  {{- if .Values.c0 }}\n  postRenderers: {{- " + call + " | nindent 4 }}\n  {{- end }}\n",
		"  {{- if .Values.c0 }}\n  suspend: false\n  {{- else }}\n  postRenderers: {{- " + call + " | nindent 4 }}\n  {{- end }}\n",
		"  {{- with .Values.own }}\n  postRenderers: {{- " + helper + " (list $ .) | nindent 4 }}\n  {{- end }}\n",
		"  {{- range .Values.none }}\n  postRenderers: {{- " + helper + " $ | nindent 4 }}\n  {{- end }}\n",
		"  # postRenderers: {{ " + call + " | len }}\n",
		"  # {{ " + call + " | quote }}\n",
		"  {{/*\n  postRenderers: {{- " + call + " | nindent 4 }}\n  */}}\n",
		"  values:\n    postRenderers:\n      {{- " + call + " | nindent 6 }}\n",
		"  values:\n    a:\n      spec:\n        postRenderers: {{- " + call + " | nindent 10 }}\n",
		"  count: {{ " + call + " | len }}\n",
		"  postRenderers: {{ " + call + " | quote }}\n",
		"  postRenderers: |\n    {{- " + call + " | nindent 4 }}\n",
		"  postRenderers:\n  - kustomize:\n      images:\n        {{- " + call + " | nindent 8 }}\n",
		"  {{- if " + in + " }}{{ end }}\n",
		"  install:\n    postRenderers:\n    {{- " + call + " | nindent 4 }}\n",
		"  postRenderers:\n  - {{- " + call + " | nindent 4 }}\n",
		"  {{- $d := dict \"postRenderers\" (" + call + " | fromYamlArray) }}\n",
		"  {{- if not .Values.c1 }}\n  {{- if eq .Values.c0 true }}\n  postRenderers: {{- " + call + " | nindent 4 }}\n  {{- end }}\n  {{- end }}\n",
		"  {{- include \"my.nothing\" . }}\n",
		"  postRenderers: {{ if .Values.c0 }}# {{ end }}{{ " + call + " | fromYamlArray | toJson }}\n",
		"  {{ if .Values.c1 }}#{{ end }}postRenderers: {{ " + call + " | fromYamlArray | toJson }}\n",
		"  postRenderers: {{ list (" + call + " | fromYamlArray | toJson) | toJson }}\n",
		"  {{- $x := " + call + " }}\n  {{- if .Values.c0 }}{{ $x = \"[]\" }}{{ end }}\n  postRenderers: {{- $x | nindent 4 }}\n",
	}
	g.more["templates/_helpers.tpl"] = `{{- define "my.wrap" }}postRenderers:{{ include "image-overrides.postRenderers" . | nindent 2 }}{{ end }}
{{- define "my.spec" }}
  postRenderers:
    {{- include "image-overrides.postRenderers" . | nindent 4 }}
{{- end }}
{{- define "my.only" }}{{ include "image-overrides.postRenderers" . }}{{ end }}
{{- define "my.nothing" }}{{ $_ := include "image-overrides.postRenderers" . }}{{ end }}
`
	if g.chance("unsound", 2) {
		return rapid.SampledFrom(unsound).Draw(g.T, "unsound call")
	}
	return rapid.SampledFrom(sound).Draw(g.T, "sound call")
}
