// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	const missed = "this HelmRelease does not call image-overrides.postRenderers; its images are not overridden"
	const uncarried = "the chart has HelmReleases and does not depend on the library chart image-overrides"
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
		{"a call in a comment of YAML, which runs all the same", withChart, map[string]string{"templates/a.yaml": release + "  # {{ include \"image-overrides.postRenderers\" . }}\n"}, nil},
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
			"charts/sub/Chart.yaml:1: " + uncarried, "charts/sub/templates/b.yaml:2: " + missed}},
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
				got = append(got, m.String())
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
	for text, want := range map[string]string{
		"a: b: c\n":         "Chart.yaml: yaml: mapping values are not allowed in this context",
		"dependencies: 5\n": "Chart.yaml: dependencies: yaml: unmarshal errors:\n  line 1: cannot unmarshal !!int `5` into []struct { Name string }",
	} {
		_, err := Check(fstest.MapFS{"Chart.yaml": {Data: []byte(text)}, "templates/a.yaml": {Data: []byte(release)}})
		if fmt.Sprint(err) != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if misses, err := Check(os.DirFS("image-overrides")); err != nil || misses != nil {
		t.Errorf("the library chart itself: %v, %v", misses, err)
	}
}
