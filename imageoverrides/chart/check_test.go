// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	plainChart = "apiVersion: v2\nname: platform\nversion: 0.1.0\n"
	withChart  = plainChart + "dependencies:\n- name: image-overrides\n  version: 0.1.0\n  repository: file://../image-overrides\n"
	called     = "  postRenderers:\n    {{- include \"image-overrides.postRenderers\" . | nindent 4 }}\n"
	release    = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: a\nspec:\n"
)

func TestCheck(t *testing.T) {
	const missed, uncarried = "call", "library"
	for _, test := range []struct {
		why   string
		chart string
		files map[string]string
		want  []string
	}{
		{"a release that calls it", withChart, map[string]string{"templates/a.yaml": release + called}, nil},
		{"a release that does not", withChart, map[string]string{"templates/a.yaml": "# c\n---\n" + release}, []string{"templates/a.yaml:4: " + missed}},
		{"two, of which the second does not", withChart, map[string]string{"templates/a.yaml": release + called + "---\n" + release}, []string{"templates/a.yaml:10: " + missed}},
		{"two, of which the first does not", withChart, map[string]string{"templates/a.yaml": release + "--- # c\n" + release + called}, []string{"templates/a.yaml:2: " + missed}},
		{"a call in a comment of templates", withChart, map[string]string{"templates/a.yaml": release + "{{- /*\n" + called + "*/ -}}\n"}, []string{"templates/a.yaml:2: " + missed}},
		{"a call that is commented out: it runs, but its first line is lost", withChart, map[string]string{"templates/a.yaml": release + "  # {{ include \"image-overrides.postRenderers\" . }}\n"}, []string{"templates/a.yaml:2: " + missed}},
		{"a call in a string", withChart, map[string]string{"templates/a.yaml": release + "  a: {{ `include \"image-overrides.postRenderers\"` }}\n"}, []string{"templates/a.yaml:2: " + missed}},
		{"a name in the other quotes", withChart, map[string]string{"templates/a.yaml": release + "  postRenderers: {{- include `image-overrides.postRenderers` . | nindent 2 }}\n"}, nil},
		{"a call inside of with, of parentheses and of an assignment", withChart, map[string]string{"templates/a.yaml": release + "  {{- with include \"image-overrides.postRenderers\" . }}\n  postRenderers: {{- . | nindent 4 }}\n  {{- end }}\n---\n" +
			release + "  {{- if (include \"image-overrides.postRenderers\" .) }}{{ end }}\n---\n" + release + "  {{- $x := include \"image-overrides.postRenderers\" (list . .own) }}\n"}, []string{"templates/a.yaml:11: unprinted", "templates/a.yaml:18: unprinted"}},
		{"a call in a template that nobody calls, in the same file", withChart, map[string]string{"templates/a.yaml": "{{- define \"x\" }}" + called + "{{ end }}\n" + release}, []string{"templates/a.yaml:5: " + missed}},
		{"a call behind a template that is called", withChart, map[string]string{"templates/a.yaml": "{{ define \"x\" }}{{ end }}\n" + called + "---\n" + release + "  {{ include \"x\" . }}\n"}, []string{"templates/a.yaml:6: " + missed}},
		{"two arms of an if, each with its release", withChart, map[string]string{"templates/a.yaml": "{{ if .a }}\n" + release + called + "{{ else }}\n" + release + "{{ end }}\n"}, []string{"templates/a.yaml:11: " + missed}},
		{"three arms", withChart, map[string]string{"templates/a.yaml": "{{ if .a }}\n" + release + "{{ else if .b }}\n" + release + called + "{{ else }}\n" + release + called + "{{ end }}\n"}, []string{"templates/a.yaml:3: " + missed}},
		{"two arms of an if for the version, one call for both", withChart, map[string]string{"templates/a.yaml": "{{ if .a }}\napiVersion: v2\nkind: HelmRelease\n{{ else }}\napiVersion: v2beta2\nkind: HelmRelease\n{{ end }}\nmetadata: {name: a}\nspec:\n" + called}, nil},
		{"a call under a condition of its own", withChart, map[string]string{"templates/a.yaml": release + "  {{ if .a }}\n" + called + "  {{ end }}\n"}, []string{"templates/a.yaml:2: condition"}},
		{"releases one after the other under conditions", withChart, map[string]string{"templates/a.yaml": "{{ if .a }}\n" + release + called + "{{ end }}\n{{ if not .a }}\n" + release + "{{ end }}\n"}, []string{"templates/a.yaml:12: " + missed}},
		{"a loop", withChart, map[string]string{"templates/a.yaml": "{{ range .a }}\n---\n" + release + strings.Replace(called, " . ", " $ ", 1) + "{{ end }}\n"}, nil},
		{"a separator that an action writes", withChart, map[string]string{"templates/a.yaml": release + called + "{{ \"---\" }}\n" + release + "{{ print \"---\\n\" }}\n" + release + called}, []string{"templates/a.yaml:10: " + missed}},
		{"a list of two, the first without", withChart, map[string]string{"templates/a.yaml": "kind: List\nitems:\n- metadata: {name: a}\n  kind: HelmRelease\n- kind: HelmRelease\n  metadata: {name: b}\n  spec:\n    postRenderers:\n    {{- include \"image-overrides.postRenderers\" . | nindent 4 }}\n"}, []string{"templates/a.yaml:4: " + missed}},
		{"a list of two, the second without", withChart, map[string]string{"templates/a.yaml": "kind: List\nitems:\n- kind: HelmRelease\n  metadata: {name: b}\n  spec:\n    postRenderers:\n    {{- include \"image-overrides.postRenderers\" . | nindent 4 }}\n- kind: HelmRelease\n  metadata: {name: a}\n"}, []string{"templates/a.yaml:8: " + missed}},
		{"a kind in an action", withChart, map[string]string{"templates/a.yaml": "apiVersion: v2\nkind: {{ \"HelmRelease\" | quote }}\nmetadata: {name: a}\n"}, []string{"templates/a.yaml:2: " + missed}},
		{"a kind under a condition", withChart, map[string]string{"templates/a.yaml": "kind: {{ if .a }}Kustomization{{ else }}HelmRelease{{ end }}\nmetadata: {name: a}\n"}, []string{"templates/a.yaml:1: " + missed}},
		{"a condition on the kind", withChart, map[string]string{"templates/a.yaml": "{{ if eq .kind \"HelmRelease\" }}\nkind: ConfigMap\n{{ end }}\nmetadata: {name: a}\n"}, nil},
		{"a dict", withChart, map[string]string{"templates/a.yaml": "{{ $x := dict \"a\" 1 \"kind\" \"HelmRelease\" }}\n{{ toYaml $x }}\n---\n{{ lookup \"v2\" \"HelmRelease\" \"a\" \"b\" }}\n"}, []string{"templates/a.yaml:1: " + missed}},
		{"metadata by an include", withChart, map[string]string{"templates/a.yaml": "apiVersion: v2\nkind: HelmRelease\n{{ include \"m\" . }}\n"}, []string{"templates/a.yaml:2: " + missed}},
		{"JSON", withChart, map[string]string{"templates/a.yaml": "{\n  \"kind\": \"HelmRelease\",\n  \"metadata\": {\"name\": \"a\"}\n}\n"}, []string{"templates/a.yaml:2: " + missed}},
		{"flow style over lines", withChart, map[string]string{"templates/a.yaml": "{apiVersion: v2,\n kind: HelmRelease, metadata:\n {name: a}}\n"}, []string{"templates/a.yaml:2: " + missed}},
		{"flow style in a list", withChart, map[string]string{"templates/a.yaml": "items:\n- {kind: HelmRelease, metadata: {name: a}, spec: {postRenderers: {{ include \"image-overrides.postRenderers\" . | fromYamlArray | toJson }} }}\n- {kind: HelmRelease, metadata: {name: a}}\n"}, []string{"templates/a.yaml:3: " + missed}},
		{"an anchor, a tag, CRLF", withChart, map[string]string{"templates/a.yaml": "kind: &k !!str HelmRelease\r\nmetadata:\r\n  name: a\r\n"}, []string{"templates/a.yaml:1: " + missed}},
		{"a # that is no comment", withChart, map[string]string{"templates/a.yaml": release + "  a: \"b # {{ include \"image-overrides.postRenderers\" . }}\"\n"}, []string{"templates/a.yaml:2: place"}},
		{"a manifest in a text", withChart, map[string]string{"templates/a.yaml": "kind: ConfigMap\nmetadata: {name: a}\ndata:\n  a.yaml: |\n    kind: HelmRelease\n    metadata:\n      name: a\n"}, nil},
		{"a template of a dependency that calls it", withChart, map[string]string{
			"templates/a.yaml": release + "  {{- include \"lib.spec\" . }}\n", "charts/lib/Chart.yaml": "name: lib\n", "charts/lib/templates/_s.tpl": "{{ define \"lib.spec\" }}" + called + "{{ end }}"}, nil},
		{"a template of a chart beside that calls it", "name: a\n", map[string]string{
			"a/Chart.yaml": withChart + "- name: lib\n  repository: file://../lib\n", "a/templates/a.yaml": release + "  {{- include \"lib.spec\" . }}\n",
			"b/Chart.yaml": withChart, "b/templates/a.yaml": release + "  {{- include \"lib.spec\" . }}\n",
			"lib/Chart.yaml": "name: lib\n", "lib/templates/_s.tpl": "{{ define \"lib.spec\" }}" + called + "{{ end }}"}, []string{"b/templates/a.yaml:2: " + missed}},
		{"a template of the chart above that calls it", withChart + "- name: sub\n", map[string]string{
			"templates/_s.tpl": "{{ define \"top.spec\" }}" + called + "{{ end }}", "charts/sub/Chart.yaml": withChart, "charts/sub/templates/a.yaml": release + "  {{- template \"top.spec\" . }}\n"}, []string{"charts/sub/templates/a.yaml:2: subchart"}},
		{"two templates of one name, of which one calls it", withChart, map[string]string{
			"templates/a.yaml": release + "  {{- include \"my.spec\" . }}\n", "templates/_a.tpl": "{{ define \"my.spec\" }}" + called + "{{ end }}", "templates/_b.tpl": "{{ define \"my.spec\" }}x{{ end }}"}, []string{"templates/a.yaml:2: condition"}},
		{"templates that call each other", withChart, map[string]string{
			"templates/a.yaml": release + "  {{- include \"my.a\" . }}\n", "templates/_a.tpl": "{{ define \"my.a\" }}{{ include \"my.b\" . }}{{ end }}{{ define \"my.b\" }}{{ include \"my.a\" . }}{{ end }}"}, []string{"templates/a.yaml:2: " + missed}},
		{"requirements.yaml", plainChart, map[string]string{"requirements.yaml": "dependencies: [{name: image-overrides}]\n", "templates/a.yaml": release + called}, nil},
		{"vendored under another name", plainChart, map[string]string{"templates/a.yaml": release + called, "charts/io/Chart.yaml": "name: image-overrides\n"}, nil},
		{"names that begin with a dot", plainChart, map[string]string{"templates/.a.yaml": release, ".git/Chart.yaml": "x: [", "templates/.b/c.yaml": release}, nil},
		{"a release in comments", withChart, map[string]string{"templates/a.yaml": "{{/*\n" + release + "*/}}\n# kind: HelmRelease\n# metadata:\na: b\n"}, nil},
		{"quotes, and a comment behind", withChart, map[string]string{"templates/a.yaml": strings.Replace(release, "kind: HelmRelease", `"kind" : 'HelmRelease'  # c`, 1)}, []string{"templates/a.yaml:2: " + missed}},
		{"metadata first", withChart, map[string]string{"templates/a.yaml": "metadata:\n  name: a\n{{ if .x }}\nkind: HelmRelease\n{{ end }}\nspec: {}\n"}, []string{"templates/a.yaml:4: " + missed}},
		{"in a list", withChart, map[string]string{"templates/a.yaml": "kind: List\nitems:\n- kind: HelmRelease\n  spec:\n    x:\n    - a\n  metadata: {name: a}\n"}, []string{"templates/a.yaml:3: " + missed}},
		{"in a list, not first", withChart, map[string]string{"templates/a.yaml": "items:\n  - metadata: {name: a}\n    kind: HelmRelease\n"}, []string{"templates/a.yaml:3: " + missed}},
		{"flow style", withChart, map[string]string{"templates/a.yaml": "{kind: HelmRelease, metadata: {name: a}}\n"}, []string{"templates/a.yaml:1: " + missed}},
		{"mentions of the kind", withChart, map[string]string{"templates/a.yaml": "kind: Kustomization\nmetadata: {name: k}\nspec:\n  healthChecks:\n  - apiVersion: v2\n    kind: HelmRelease\n    name: a\n  - kind: HelmRelease\n    name: b\n  ref: {kind: HelmRelease, name: c}\n  patch:\n    kind: HelmRelease\n"}, nil},
		{"another kind", withChart, map[string]string{"templates/a.yaml": strings.Replace(release, "HelmRelease", "HelmReleaseProxy", 1)}, nil},
		{"a template of its own that calls it", withChart, map[string]string{
			"templates/a.yaml": release + "  {{- template \"my.outer\" . }}\n", "templates/sub/_h.tpl": "{{ define \"my.inner\" }}" + called + "{{ end }}{{- define \"my.outer\" -}}{{ include \"my.inner\" . }}{{ end }}"}, nil},
		{"a template of its own that does not", withChart, map[string]string{
			"templates/a.yaml": release + "  {{- include \"my.outer\" . }}\n", "templates/_h.tpl": "{{ define \"my.outer\" }}x{{ end }}{{- define \"my.other\" -}}" + called + "{{ end }}"}, []string{"templates/a.yaml:2: " + missed}},
		{"a release in a helper", withChart, map[string]string{"templates/_h.tpl": "{{ define \"r\" }}\n" + release + "{{ end }}"}, []string{"templates/_h.tpl:3: " + missed}},
		{"no dependency", plainChart, map[string]string{"templates/a.yaml": release + called}, []string{"Chart.yaml:1: " + uncarried}},
		{"another dependency", plainChart + "dependencies:\n- name: other\n", map[string]string{"templates/a.yaml": release + called}, []string{"Chart.yaml:4: " + uncarried}},
		{"a vendored folder", plainChart, map[string]string{"templates/a.yaml": release + called, "charts/image-overrides/Chart.yaml": "name: image-overrides\n"}, nil},
		{"a vendored archive", plainChart, map[string]string{"templates/a.yaml": release + called, "charts/image-overrides-0.1.0.tgz": ""}, nil},
		{"another archive", plainChart, map[string]string{"templates/a.yaml": release + called, "charts/image-overridesx.tgz": ""}, []string{"Chart.yaml:1: " + uncarried}},
		{"no releases, no dependency", plainChart, map[string]string{"templates/a.yaml": "kind: Pod\n", "templates/NOTES.txt": release, "files/a.yaml": release}, nil},
		{"no templates", plainChart, nil, nil},
		{"a subchart", withChart, map[string]string{"templates/a.yaml": release + called, "charts/sub/Chart.yaml": plainChart, "charts/sub/templates/b.yaml": release}, []string{
			"charts/sub/templates/b.yaml:2: " + missed}},
	} {
		t.Run(test.why, func(t *testing.T) {
			fsys := fstest.MapFS{"Chart.yaml": {Data: []byte(test.chart)}}
			for name, text := range test.files {
				fsys[name] = &fstest.MapFile{Data: []byte(text)}
			}
			misses, err := Check(fsys)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range misses {
				got = append(got, fmt.Sprintf("%s:%d: %s", m.File, m.Line, m.Rule))
			}
			if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestCheckErrors(t *testing.T) {
	if _, err := Check(fstest.MapFS{"a": {}}); !errors.Is(err, fs.ErrNotExist) || err.Error() != "there is no Chart.yaml: file does not exist" {
		t.Errorf("no chart: %v", err)
	}
	fsys := fstest.MapFS{
		"a/Chart.yaml":       {Data: []byte("a: b: c\n")},
		"b/Chart.yaml":       {Data: []byte("name: b\ndependencies: 5\n")},
		"c/Chart.yaml":       {Data: []byte("5\n")},
		"d/Chart.yaml":       {Data: []byte("name: d\nx:\n  - [\n")},
		"e/Chart.yaml":       {Data: []byte(withChart)},
		"e/templates/a.yaml": {Data: []byte("a: 1\n{{ if }}\n")},
		"e/templates/b.yaml": {Data: []byte("{{ .a\n")},
		"e/templates/c.yaml": {Data: []byte(release)},
		"f/Chart.yaml/a":     {},
	}
	misses, err := Check(fsys)
	want := "a/Chart.yaml:1: mapping values are not allowed in this context\n" +
		"b/Chart.yaml:2: dependencies are no list of maps\n" +
		"c/Chart.yaml:1: is no map\n" +
		"d/Chart.yaml:3: did not find expected node content\n" +
		"e/templates/a.yaml:2: missing value for if\n" +
		"e/templates/b.yaml:2: unclosed action started at e/templates/b.yaml:1"
	if fmt.Sprint(err) != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	var e *Error
	if !errors.As(err, &e) || *e != (Error{"a/Chart.yaml", 1, "mapping values are not allowed in this context"}) {
		t.Errorf("the first error: %v", e)
	}
	if len(misses) != 1 || misses[0].File != "e/templates/c.yaml" {
		t.Errorf("beside the errors: %v", misses)
	}
	if misses, err := Check(os.DirFS("image-overrides")); err != nil || misses != nil {
		t.Errorf("the library chart itself: %v, %v", misses, err)
	}
}

// TestCheckLinks has templates and dependencies behind links, as monorepos do.
func TestCheckLinks(t *testing.T) {
	dir := t.TempDir()
	files := fstest.MapFS{
		"a/Chart.yaml":            {Data: []byte(plainChart)},
		"a/charts/x.txt":          {},
		"shared/a.yaml":           {Data: []byte(release)},
		"lib/Chart.yaml":          {Data: []byte("name: image-overrides\n")},
		"lib/templates/_spec.tpl": {Data: []byte("{{ define \"spec\" }}{{ end }}")},
	}
	if err := os.CopyFS(dir, files); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"a/templates": "../shared", "a/charts/lib": "../../lib", "lib/charts": "../a/charts", "shared/again": "../shared"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	misses, err := Check(os.DirFS(dir))
	if err != nil || len(misses) == 0 || misses[0].String() != "a/templates/a.yaml:2: this HelmRelease does not call image-overrides.postRenderers; its images are not overridden" {
		t.Errorf("%v, %v", misses, err)
	}
	for _, m := range misses {
		if path.Base(m.File) == "Chart.yaml" {
			t.Errorf("the link under charts is not seen: %v", m)
		}
	}
}

// TestFS copies the library chart as a platform does.
func TestFS(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "charts"), FS); err != nil {
		t.Fatal(err)
	}
	sub, err := fs.Sub(FS, Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := fstest.TestFS(sub, "Chart.yaml", "templates/_context.tpl", "templates/_hash.tpl", "templates/_postrenderers.tpl",
		"templates/_reference.tpl", "templates/_strict.tpl", "templates/_table.tpl", "templates/_values.tpl"); err != nil {
		t.Error(err)
	}
	if misses, err := Check(FS); err != nil || misses != nil {
		t.Errorf("%v, %v", misses, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "charts", Name, "templates", "_table.tpl")); err != nil {
		t.Error(err)
	}
}

func BenchmarkCheck(b *testing.B) {
	fsys := fstest.MapFS{"Chart.yaml": {Data: []byte(withChart)}, "templates/a.yaml": {Data: []byte(strings.Repeat("---\n"+release+called, 100))}}
	b.SetBytes(int64(len(fsys["templates/a.yaml"].Data)))
	b.ReportAllocs()
	for b.Loop() {
		if misses, err := Check(fsys); misses != nil || err != nil {
			b.Fatal(misses, err)
		}
	}
}
